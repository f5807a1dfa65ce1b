/** Payouts of Bitcoin and Litecoin: waiting withdrawals together in one transaction, its bumps, its change to us. */
import { signOutputs } from '../chains/bitcoin/sign.ts'
import { ASSET_FACTS, type Asset, type ChainName, nativeAsset, networkOfChain } from '../core/assets.ts'
import { crashPoint } from '../core/crash-point.ts'
import { boundedRate, QUOTED_VBYTES } from '../treasury/fees.ts'
import { feeAt, feeMost } from '../treasury/payout-cost.ts'
import { depositDepth, type Selection, selectUtxos } from '../treasury/select-utxos.ts'
import type { SignedEntry } from '../treasury/signed-entry.ts'
import { INTERNAL_BRANCH } from '../wallets/derivation.ts'
import { commitPayout, type Released } from './approvals/release.ts'
import { keepWaiting, nameOf, refuse, refuseIfTooLarge, restorePaid, type Signer } from './context.ts'
import { gatherFor } from './gather-utxos.ts'
import {
  allowsFee,
  type Judgement,
  judgeRequest,
  type LeftRows,
  type Planned,
  readLeftOnce,
} from './judge.ts'
import { logWaiting } from './log-waiting.ts'
import { listRequested, nextChangePosition, type Requested, readRates } from './requests.sql.ts'
import { rememberScans, type Scan } from './scan.ts'
import { inputsOf } from './sign-inputs.ts'
import { listSpendable, type OwnedUtxo } from './spendable-utxos.sql.ts'
import type { ChainKeys } from './vault.ts'

const BATCH_MAX = 50
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
    const { payables, last }: Gathered = await gatherPayables(signer, keys, scan, after)
    const signed = payables.length > 0 && (await signBatch(signer, keys, payables))
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
  const payables: Payable[] = []
  let last = after
  for (;;) {
    const requests = await listRequested(signer.db, keys.chain, last, REQUESTS_READ)
    const left = readLeftOnce(signer.db)
    for (const request of requests) {
      last = request
      const freely = payables.filter(({ release }) => release === 'freely').map((each) => each.request)
      const planned = { atoms: sumNet(payables), freely }
      const payable = await judgeWaiting(signer, keys, request, planned, left)
      if (payable) payables.push(payable)
      if (payables.length === BATCH_MAX || scan.isOver()) return { payables, last }
    }
    if (requests.length < REQUESTS_READ) return { payables, last: null }
  }
}

/** Null for what is refused, placed again from the journal, or waits. */
async function judgeWaiting(
  signer: Signer,
  keys: ChainKeys,
  request: Requested,
  planned: Planned,
  left: LeftRows,
): Promise<Payable | null> {
  const before = await signer.journal.payingFor(nameOf(request))
  if (before.length > 0) {
    await restorePaid(signer, request, before)
    return null
  }
  const judgement: Judgement = await judgeRequest(signer, request, keys.mode, planned, left)
  if (judgement.kind === 'allow')
    return { request, script: judgement.destination.lookup, release: judgement.release }
  if (judgement.kind === 'refuse') await refuse(signer, request, judgement.reason)
  else await keepWaiting(signer, request, judgement.for, judgement.reason)
  return null
}

/** @returns What was placed; `null` when none of them can be paid now, `stop` when nothing can. */
async function signBatch(
  signer: Signer,
  keys: ChainKeys,
  payables: readonly Payable[],
): Promise<PayoutPlan | null | 'stop'> {
  const { chain } = keys
  const asset = nativeAsset(chain)
  const rates = await readRates(signer.db, chain)
  const position = await nextChangePosition(signer.db, chain, keys.series)
  if (!rates || position === null) {
    logWaiting(signer, chain, 'payouts', rates ? 'no change address is derived yet' : 'no fee rate is known')
    return 'stop'
  }
  const utxos = await listSpendable(signer.db, {
    chain,
    series: keys.series,
    depositDepth: depositDepth(signer.config, chain),
    limit: UTXOS_READ,
  })
  const market = boundedRate(networkOfChain(chain), rates.rate)
  const affordable: Payable[] = []
  for (const payable of payables)
    if (await isInProportion(signer, payable.request, market)) affordable.push(payable)
  const rate = payoutRate(chain, market, affordable)
  const plan = await planWithin(signer, chain, affordable, (some) => planPayout(some, utxos, rate, asset))
  const [first] = affordable
  if (!plan) return first && (await gatherFor(signer, keys, first, rate, position)) ? 'stop' : null
  crashPoint('signer:planned')
  const placing = await commitPayout(signer, signPayout(keys, plan, rate, position), plan.paid)
  // What it needs was taken meanwhile: the next turn looks again, after a rest.
  return placing === 'placed' ? plan : 'stop'
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
  const quoted = payables.reduce((most, { request }) => {
    const quoted = (request.networkFeeAtoms * 1_000n) / QUOTED_VBYTES
    return quoted > most ? quoted : most
  }, 0n)
  const most = boundedRate(networkOfChain(chain), quoted * RATE_OVER_QUOTE_MAX)
  return market < most ? market : most
}

const TOO_SMALL = 'the UTXOs that could pay it are too small for the fees now'

/** The most that a transaction may cost which pays these. */
const mostFor = (paid: readonly Payable[]): bigint =>
  paid.reduce((sum, { request }) => sum + feeMost(request.networkFeeAtoms, request.netAtoms), 0n)

interface PayoutPlan {
  readonly paid: readonly Payable[]
  readonly selection: Selection<OwnedUtxo>
}

/** The oldest first; one that the UTXOs cannot pay is passed over, so that it does not hold up smaller ones. */
function planPayout(
  payables: readonly Payable[],
  utxos: readonly OwnedUtxo[],
  rateAtomsPerKvb: bigint,
  asset: Asset,
): PayoutPlan | null {
  const select = (paid: readonly Payable[]) =>
    selectUtxos(utxos, {
      outputAtoms: sumNet(paid),
      scriptLengths: paid.map(({ script }) => script.length),
      rateAtomsPerKvb,
      dustAtoms: ASSET_FACTS[asset].dustAtoms,
    })
  const all = select(payables)
  if (all) return { paid: payables, selection: all }
  let plan: PayoutPlan | null = null
  for (const payable of payables) {
    const paid: readonly Payable[] = [...(plan?.paid ?? []), payable]
    const selection = select(paid)
    if (selection) plan = { paid, selection }
  }
  return plan
}

/**
 * The fee counts against the limits as well, and is in proportion to what is paid: the newest withdrawals wait until it fits.
 * One that does not fit alone holds up none of the others.
 */
async function planWithin(
  signer: Signer,
  chain: ChainName,
  payables: readonly Payable[],
  planFor: (some: readonly Payable[]) => PayoutPlan | null,
): Promise<PayoutPlan | null> {
  const all = planFor(payables)
  if (!all) {
    for (const { request } of payables)
      await keepWaiting(signer, request, 'confirmations', 'the confirmed coins do not suffice')
    return null
  }
  let plan: PayoutPlan = all
  for (;;) {
    const { paid, selection }: PayoutPlan = plan
    const isInBounds = selection.feeAtoms <= mostFor(paid)
    if (isInBounds && (await allowsFee(signer, chain, selection.feeAtoms, sumNet(paid)))) return plan
    const fewer: PayoutPlan | null = paid.length > 1 ? planFor(paid.slice(0, -1)) : null
    if (!fewer) {
      const [alone] = paid
      if (!alone) return null
      if (!isInBounds) await keepWaiting(signer, alone.request, 'network_fee', TOO_SMALL)
      else await refuseIfTooLarge(signer, alone.request, selection.feeAtoms)
      const others = payables.filter((payable) => payable !== alone)
      return isInBounds || others.length === 0 ? null : planWithin(signer, chain, others, planFor)
    }
    plan = fewer
  }
}

function signPayout(
  keys: ChainKeys,
  { paid, selection }: PayoutPlan,
  rate: bigint,
  position: bigint,
): SignedEntry {
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
