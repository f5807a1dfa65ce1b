/**
 * Gathering UTXOs of ours into one: for a withdrawal that needs more of them than one transaction spends, and when fees are
 * low, so that later payouts need fewer. It pays nobody; see docs/decisions/0037.
 */
import { signOutputs } from '../chains/bitcoin/sign.ts'
import { ASSET_FACTS, type ChainName, nativeAsset, networkOfChain } from '../core/assets.ts'
import { MINUTE_MS } from '../core/time.ts'
import { findFeeRates } from '../treasury/fee-rates.sql.ts'
import { boundedRate } from '../treasury/fees.ts'
import {
  feeMost,
  payoutVbytes,
  sumsOf,
  UTXOS_PER_WITHDRAWAL_MAX,
  utxosToPay,
  worthOf,
} from '../treasury/payout-cost.ts'
import { balance, feeAt, INPUTS_MAX, type Selection, worthSpending } from '../treasury/select-utxos.ts'
import { INTERNAL_BRANCH } from '../wallets/derivation.ts'
import { markSigning } from '../withdrawals/withdrawals.sql.ts'
import { commit, journalAndPlace, mayBeJournaled, type Signer, unmark, whileMarked } from './context.ts'
import type { SignedEntry } from './journal.ts'
import { allowsFee } from './judge.ts'
import { isIdle, nextChangePosition, type Requested } from './requests.sql.ts'
import { inputsOf, spendableNow } from './sign-inputs.ts'
import { type OwnedUtxo, sumExpectedChange } from './spendable-utxos.sql.ts'
import type { ChainKeys } from './vault.ts'

/** Fees are low at or below this: atoms per 1,000 virtual bytes. Bitcoin Core spends more UTXOs than it has to below 10,000. */
const LOW_RATE: Readonly<Record<'bitcoin' | 'litecoin', bigint>> = { bitcoin: 5_000n, litecoin: 20_000n }
/** As many as these are left alone. */
const UTXOS_ENOUGH = 200
/** The largest of them stay, so that payouts meanwhile wait for nothing. */
const LEFT_FOR_PAYOUTS = 50
const CONSOLIDATION_PAUSE_MS = MINUTE_MS

/** What may be gathered now, whichever withdrawal it is for. */
export interface Gatherable {
  readonly keys: ChainKeys
  readonly rate: bigint
  /** Of the change. */
  readonly position: bigint
  /** Worth spending, the largest first, and added up. */
  readonly utxos: readonly OwnedUtxo[]
  readonly sums: readonly bigint[]
  /** Change that no block shows yet. */
  readonly comingAtoms: bigint
}

export async function readGatherable(
  signer: Signer,
  keys: ChainKeys,
  rate: bigint,
  position: bigint,
): Promise<Gatherable> {
  const utxos = await spendable(signer, keys, UTXOS_PER_WITHDRAWAL_MAX, rate)
  const comingAtoms = await sumExpectedChange(signer.db, keys.chain, keys.series)
  return { keys, rate, position, utxos, sums: sumsOf(utxos.map(({ atoms }) => atoms)), comingAtoms }
}

/**
 * `signed`; `needless`, since what is there or comes suffices, or all of it does not, or nobody waits for it any more; `dear`, out of
 * proportion to the withdrawal;
 * `blocked`, by a limit or by somebody who took what it needs: so it would be for any other withdrawal.
 */
export type Gathering = 'signed' | 'needless' | 'dear' | 'blocked'

/**
 * Gathers the largest UTXOs for a withdrawal that no single transaction can pay. What was gathered is there once a block holds
 * it; until then more is gathered only if that will not suffice. It was charged for this: the mark that keeps it from being cancelled
 * stays until that block is deep ({@link clearMarks}).
 */
export async function gatherFor(
  signer: Signer,
  gatherable: Gatherable,
  { request, script }: { readonly request: Requested; readonly script: Uint8Array },
): Promise<Gathering> {
  const { keys, rate, position, utxos, sums, comingAtoms } = gatherable
  const need = request.netAtoms + feeAt(rate, payoutVbytes(INPUTS_MAX, script.length))
  const [atOnce, all] = [worthOf(sums.slice(0, INPUTS_MAX), rate), worthOf(sums, rate)]
  if (atOnce + comingAtoms >= need || all + comingAtoms < need) return 'needless'
  const fees = feeAt(rate, payoutVbytes(utxosToPay(sums, need) ?? sums.length, script.length))
  if (fees > feeMost(request.networkFeeAtoms, request.netAtoms)) return 'dear'
  const planned = await planConsolidation(signer, keys, utxos.slice(0, INPUTS_MAX), rate, position)
  if (!planned) return 'blocked'
  const [marked] = await signer.db.transaction((tx) => markSigning(tx, [request]))
  // It was cancelled, or frozen, meanwhile.
  if (!marked) return 'needless'
  const entry = await whileMarked(signer, [request], async () =>
    (await mayBeJournaled(signer, planned)) ? planned : null,
  )
  if (!entry) return 'blocked'
  if ((await journalAndPlace(signer, entry)) === 'placed') return 'signed'
  await unmark(signer, [request])
  return 'blocked'
}

const triedAtMs = new WeakMap<ChainKeys, number>()

/** Whether it is time to see if a chain with outputs has much to gather; once a minute. */
export const isConsolidationDue = (keys: ChainKeys): boolean =>
  performance.now() - (triedAtMs.get(keys) ?? Number.NEGATIVE_INFINITY) >= CONSOLIDATION_PAUSE_MS

/** Gathers the smallest UTXOs while fees are low, there are many, and nobody waits to be paid. */
export async function consolidateIfCheap(signer: Signer, keys: ChainKeys): Promise<void> {
  if (!isConsolidationDue(keys)) return
  triedAtMs.set(keys, performance.now())
  const { chain } = keys
  const network = networkOfChain(chain)
  if (network === 'ethereum' || !(await isIdle(signer.db, chain))) return
  const rates = await findFeeRates(signer.db, chain)
  const rate = rates && boundedRate(network, rates.rate)
  if (rate === null || rate > LOW_RATE[network]) return
  const utxos = await spendable(signer, keys, UTXOS_ENOUGH + INPUTS_MAX, rate)
  if (utxos.length <= UTXOS_ENOUGH) return
  const position = await nextChangePosition(signer.db, chain, keys.series)
  if (position === null) return
  const smallest = utxos.slice(LEFT_FOR_PAYOUTS).slice(-INPUTS_MAX)
  const entry = await planConsolidation(signer, keys, smallest, rate, position)
  if (entry) await commit(signer, entry)
}

/** The largest first; none that is not worth spending. */
async function spendable(signer: Signer, keys: ChainKeys, limit: number, rate: bigint): Promise<OwnedUtxo[]> {
  const utxos = await spendableNow(signer, keys, limit)
  return utxos.filter(({ atoms }) => atoms >= worthSpending(rate))
}

async function planConsolidation(
  signer: Signer,
  keys: ChainKeys,
  utxos: readonly OwnedUtxo[],
  rate: bigint,
  position: bigint,
): Promise<SignedEntry | null> {
  const { chain } = keys
  const dustAtoms = ASSET_FACTS[nativeAsset(chain)].dustAtoms
  const selection = balance(utxos, { outputAtoms: 0n, scriptLengths: [], rateAtomsPerKvb: rate, dustAtoms })
  if (!selection || selection.changeAtoms === 0n) return null
  if (!(await allowsFee(signer, chain, selection.feeAtoms, 0n))) return null
  return signConsolidation(keys, chain, selection, rate, position)
}

function signConsolidation(
  keys: ChainKeys,
  chain: ChainName,
  { utxos, feeAtoms, changeAtoms }: Selection<OwnedUtxo>,
  rate: bigint,
  position: bigint,
): SignedEntry {
  const script = keys.address(INTERNAL_BRANCH, position).lookup
  const { txid, raw } = signOutputs(inputsOf(keys, utxos), [{ script, atoms: changeAtoms }])
  const asset = nativeAsset(chain)
  return {
    chain,
    txid,
    replacementSet: txid,
    kind: 'consolidation',
    purpose: 'outputs',
    raw,
    asset,
    valueAtoms: '0',
    feeAtoms: String(feeAtoms),
    feeRate: String(rate),
    withdrawals: [],
    spends: utxos.map(({ txid: spent, index }) => ({ txid: spent, index })),
    change: { position: String(position), index: 0, atoms: String(changeAtoms) },
    leaves: [{ asset, atoms: String(feeAtoms) }],
  }
}
