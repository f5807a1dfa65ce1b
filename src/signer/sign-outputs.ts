/** Payouts of Bitcoin and Litecoin: waiting withdrawals together in one transaction, its bumps, its change to us. */
import { signOutputs } from '../chains/bitcoin/sign.ts'
import { ASSET_FACTS, type ChainName, nativeAsset, networkOfChain } from '../core/assets.ts'
import { crashPoint } from '../core/crash-point.ts'
import { divideDown, larger, smaller } from '../core/money.ts'
import { NO_OUTPUTS, withOutput } from '../core/vbytes.ts'
import { findFeeRates } from '../treasury/fee-rates.sql.ts'
import { boundedRate, QUOTED_VBYTES } from '../treasury/fees.ts'
import { feeMost } from '../treasury/payout-cost.ts'
import { feeAt, isFull } from '../treasury/select-utxos.ts'
import { nameOf, type SignedEntry } from '../treasury/signed-entry.ts'
import { INTERNAL_BRANCH } from '../wallets/derivation.ts'
import { markSigning } from '../withdrawals/withdrawals.sql.ts'
import { type Released, withReleases } from './approvals/release.ts'
import {
  isPaid,
  journalAndPlace,
  keepWaiting,
  mayBeJournaled,
  refuse,
  refuseIfTooLarge,
  type Signer,
  unmark,
  whileMarked,
} from './context.ts'
import { type Gathering, gatherFor, readGatherable } from './gather-utxos.ts'
import {
  type Judgement,
  judgeRequest,
  type Planned,
  type ReadRows,
  readFeeRoom,
  readHeldOnce,
  readLeftOnce,
} from './judge.ts'
import { logWaiting } from './log-waiting.ts'
import { type PayoutPlan, PayoutPlanner, type Unpayable } from './plan-payout.ts'
import { listRequested, nextChangePosition, type Requested } from './requests.sql.ts'
import { rememberScans, type Scan } from './scan.ts'
import { inputsOf, spendableNow } from './sign-inputs.ts'
import type { OwnedUtxo } from './spendable-utxos.sql.ts'
import type { ChainKeys } from './vault.ts'

const UTXOS_READ = 2_000
const REQUESTS_READ = 200

interface Payable extends Released {
  readonly script: Uint8Array
}

const beginScan = rememberScans<Requested>()

/**
 * Signs one transaction for the withdrawals that wait, the oldest first. Those that can not be paid now, for the policy,
 * a freeze or want of UTXOs, are passed over, however many they are: nobody waits behind them.
 *
 * @returns Whether there may be more to sign at once.
 */
export async function signPayouts(signer: Signer, keys: ChainKeys): Promise<boolean> {
  const scan = beginScan(signer, keys)
  let { after } = scan
  for (;;) {
    const gathered: Gathered = await gatherPayables(signer, keys, scan, after)
    const { payables, last } = gathered
    const signed = payables.length > 0 && (await signBatch(signer, keys, gathered))
    if (signed === 'stop') {
      scan.end(null)
      return false
    }
    if (signed) {
      scan.end(scan.after !== null || scan.isOver() ? last : null)
      return last !== null || scan.after !== null || signed.paid.length < payables.length
    }
    if (last === null || scan.isOver()) {
      scan.end(last)
      return false
    }
    after = last
  }
}

interface Gathered {
  readonly payables: readonly Payable[]
  /** The network's rate, atoms per 1,000 virtual bytes; null when it is not known. */
  readonly market: bigint | null
  /** The last request that was looked at; null when none is behind it. */
  readonly last: Requested | null
}

/** As many as fit into one transaction, and as the scan has time for, behind a request. */
async function gatherPayables(
  signer: Signer,
  keys: ChainKeys,
  scan: Scan<Requested>,
  after: Requested | null,
): Promise<Gathered> {
  const rates = await findFeeRates(signer.db, keys.chain)
  const market = rates && boundedRate(networkOfChain(keys.chain), rates.rate)
  const payables: Payable[] = []
  const planned = { atoms: 0n, freely: signer.approvals.planFreely() }
  const known = new Set<string>()
  let outputs = NO_OUTPUTS
  let last = after
  for (;;) {
    const requests = await listRequested(signer.db, keys.chain, last, REQUESTS_READ)
    const rows = { left: readLeftOnce(signer.db), held: readHeldOnce(signer.db, requests) }
    for (const request of requests) {
      const payable = (await isPaid(signer, request, known))
        ? null
        : await judgeWaiting(signer, keys, request, planned, rows)
      // What waits for lower fees uses up none of the limits for those behind it.
      if (payable && (market === null || (await isInProportion(signer, request, market)))) {
        const more = withOutput(outputs, payable.script.length)
        // The next transaction looks at it again.
        if (isFull(more)) return { payables, market, last }
        outputs = more
        payables.push(payable)
        planned.atoms += request.netAtoms
        if (payable.release === 'freely') planned.freely.add(request, Date.now())
      }
      last = request
      if (scan.isOver()) return { payables, market, last }
    }
    if (requests.length < REQUESTS_READ) return { payables, market, last: null }
  }
}

/** Null for what is refused, or waits. */
async function judgeWaiting(
  signer: Signer,
  keys: ChainKeys,
  request: Requested,
  planned: Planned,
  rows: ReadRows,
): Promise<Payable | null> {
  const judgement: Judgement = await judgeRequest(signer, request, keys.mode, planned, rows)
  if (judgement.kind === 'allow')
    return { request, script: judgement.destination.lookup, release: judgement.release }
  if (judgement.kind === 'refuse') await refuse(signer, request, judgement.reason)
  else await keepWaiting(signer, request, judgement.for, judgement.reason)
  return null
}

type Plan = PayoutPlan<Payable, OwnedUtxo>

/** What was placed; `null` when none of them can be paid now, `stop` when nothing can. */
type Outcome = Plan | null | 'stop'

async function signBatch(signer: Signer, keys: ChainKeys, { payables, market }: Gathered): Promise<Outcome> {
  const { chain } = keys
  const position = await nextChangePosition(signer.db, chain, keys.series)
  if (market === null || position === null) {
    logWaiting(
      signer,
      chain,
      'payouts',
      market === null ? 'no fee rate is known' : 'no change address is derived yet',
    )
    return 'stop'
  }
  const utxos = await spendableNow(signer, keys, UTXOS_READ)
  const rate = payoutRate(chain, market, payables)
  const room = await readFeeRoom(signer, chain)
  const planner = new PayoutPlanner({
    utxos,
    rateAtomsPerKvb: rate,
    dustAtoms: ASSET_FACTS[nativeAsset(chain)].dustAtoms,
    allowsFee: (feeAtoms, netAtoms) => room(feeAtoms, netAtoms).kind === 'allow',
  })
  const wanted = planner.plan(payables)
  const outcome =
    wanted && (await signWanted(signer, planner, wanted, (plan) => signPayout(keys, plan, rate, position)))
  if (outcome) return outcome
  return (await gatherForOne(signer, keys, payables, planner, rate, position)) ? 'stop' : null
}

/** Gathers for the oldest that needs it and can have it, and notes why the others wait. @returns Whether something was signed. */
async function gatherForOne(
  signer: Signer,
  keys: ChainKeys,
  payables: readonly Payable[],
  planner: PayoutPlanner<OwnedUtxo>,
  rate: bigint,
  position: bigint,
): Promise<boolean> {
  const reasons = payables.map((payable) => ({ payable, why: planner.whyNot(payable) }))
  const gatherable = reasons.some(({ why }) => why === 'coins')
    ? await readGatherable(signer, keys, rate, position)
    : null
  let last: Gathering = 'needless'
  for (const { payable, why } of reasons) {
    const isOver = last === 'signed' || last === 'blocked'
    if (why === 'coins' && gatherable && !isOver) last = await gatherFor(signer, gatherable, payable)
    if (why !== null)
      await noteUnpayable(signer, payable, why === 'coins' && last === 'dear' ? 'proportion' : why)
  }
  return last === 'signed'
}

/** Marks what is to be paid, signs for what could be marked, and places it. Where nothing came into the journal, no mark stays. */
async function signWanted(
  signer: Signer,
  planner: PayoutPlanner<OwnedUtxo>,
  wanted: Plan,
  sign: (plan: Plan) => SignedEntry,
): Promise<Outcome> {
  const plan = await whileMarked(signer, requestsOf(wanted), () => markPlan(signer, planner, wanted))
  if (!plan) return null
  const entry = await whileMarked(signer, requestsOf(plan), async () => {
    crashPoint('signer:planned')
    const signed = await withReleases(signer, sign(plan), plan.paid)
    return (await mayBeJournaled(signer, signed)) ? signed : null
  })
  // What it needs was taken meanwhile: the next turn looks again, after a rest.
  return entry && (await journalAndPlace(signer, entry)) === 'placed' ? plan : 'stop'
}

const requestsOf = ({ paid }: Plan): Requested[] => paid.map(({ request }) => request)

/**
 * Marks what is paid: from then on none of it can be cancelled, so that one who cancels while hundreds of others are signed for
 * holds up none of them. Plans again without those that cannot be marked.
 */
async function markPlan(
  signer: Signer,
  planner: PayoutPlanner<OwnedUtxo>,
  wanted: Plan,
): Promise<Plan | null> {
  const marked = await signer.db.transaction((tx) => markSigning(tx, requestsOf(wanted)))
  if (marked.length === wanted.paid.length) return wanted
  const names = new Set(marked.map(nameOf))
  const stillWanted = wanted.paid.filter(({ request }) => names.has(nameOf(request)))
  const plan = planner.plan(stillWanted)
  const paid = new Set(plan?.paid)
  await unmark(
    signer,
    stillWanted.filter((payable) => !paid.has(payable)).map(({ request }) => request),
  )
  return plan
}

/** Says why it waits, or refuses what would wait for ever. */
async function noteUnpayable(signer: Signer, { request }: Payable, why: Unpayable): Promise<void> {
  if (why === 'coins')
    return keepWaiting(signer, request, 'confirmations', 'the confirmed coins do not suffice')
  if (why === 'proportion')
    return keepWaiting(
      signer,
      request,
      'network_fee',
      'the UTXOs that could pay it are too small for the fees now',
    )
  if (!(await refuseIfTooLarge(signer, request, why.limitedFeeAtoms)))
    await keepWaiting(signer, request, 'limit', 'the limits leave no room for it with its network fee')
}

const sumNet = (payables: readonly Payable[]): bigint =>
  payables.reduce((sum, { request }) => sum + request.netAtoms, 0n)

/** Whether its part of a transaction, at the network's rate now, is in proportion to what was charged for it or is paid. */
async function isInProportion(signer: Signer, request: Requested, rate: bigint): Promise<boolean> {
  if (feeAt(rate, QUOTED_VBYTES) <= feeMost(request.networkFeeAtoms, request.netAtoms)) return true
  await keepWaiting(signer, request, 'network_fee', 'the network asks for far more than was charged for it')
  return false
}

/** However the rate moved since a withdrawal was priced, its transaction offers no more than this many times it at first. */
const RATE_OVER_QUOTE_MAX = 5n

/** The network's rate now, within sight of what was quoted: rows of the database say the one, a MAC guards the other. */
function payoutRate(chain: ChainName, market: bigint, payables: readonly Payable[]): bigint {
  const quoted = payables.reduce(
    (most, { request }) => larger(most, divideDown(request.networkFeeAtoms * 1_000n, QUOTED_VBYTES)),
    0n,
  )
  const most = boundedRate(networkOfChain(chain), quoted * RATE_OVER_QUOTE_MAX)
  return smaller(market, most)
}

function signPayout(keys: ChainKeys, { paid, selection }: Plan, rate: bigint, position: bigint): SignedEntry {
  const { chain } = keys
  const outputs = paid.map(({ request, script }) => ({ script, atoms: request.netAtoms }))
  const change =
    selection.changeAtoms > 0n
      ? { position: String(position), index: outputs.length, atoms: String(selection.changeAtoms) }
      : null
  const signed = signOutputs(inputsOf(keys, selection.utxos), [
    ...outputs,
    ...(change
      ? [{ script: keys.address(INTERNAL_BRANCH, position).lookup, atoms: selection.changeAtoms }]
      : []),
  ])
  const asset = nativeAsset(chain)
  const value = sumNet(paid)
  return {
    chain,
    txid: signed.txid,
    replacementSet: signed.txid,
    kind: 'payout',
    purpose: 'outputs',
    raw: signed.raw,
    asset,
    valueAtoms: String(value),
    feeAtoms: String(selection.feeAtoms),
    feeRate: String(rate),
    withdrawals: paid.map(({ request }) => nameOf(request)),
    spends: selection.utxos.map(({ txid, index }) => ({ txid, index })),
    change,
    leaves: [{ asset, atoms: String(value + selection.feeAtoms) }],
  }
}
