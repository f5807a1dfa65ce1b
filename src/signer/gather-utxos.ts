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
  feeAt,
  feeMost,
  payoutVbytes,
  UTXOS_PER_WITHDRAWAL_MAX,
  utxosToPay,
  worthOf,
} from '../treasury/payout-cost.ts'
import { balance, INPUTS_MAX, type Selection, worthSpending } from '../treasury/select-utxos.ts'
import { INTERNAL_BRANCH } from '../wallets/derivation.ts'
import { commit, keepWaiting, type Signer } from './context.ts'
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

/**
 * Gathers the largest UTXOs for a withdrawal that no single transaction can pay. What was gathered is there once a block holds
 * it; until then more is gathered only if that will not suffice.
 *
 * @returns Whether something was signed.
 */
export async function gatherFor(
  signer: Signer,
  keys: ChainKeys,
  { request, script }: { readonly request: Requested; readonly script: Uint8Array },
  rate: bigint,
  position: bigint,
): Promise<boolean> {
  const { chain } = keys
  const utxos = await spendable(signer, keys, UTXOS_PER_WITHDRAWAL_MAX, rate)
  const coming = await sumExpectedChange(signer.db, chain, keys.series)
  const need = request.netAtoms + feeAt(rate, payoutVbytes(INPUTS_MAX, script.length))
  const atoms = utxos.map((utxo) => utxo.atoms)
  const atOnce = utxos.slice(0, INPUTS_MAX)
  if (worthOf(atoms.slice(0, INPUTS_MAX), rate) + coming >= need || worthOf(atoms, rate) + coming < need)
    return false
  const fees = feeAt(rate, payoutVbytes(utxosToPay(atoms, need) ?? atoms.length, script.length))
  if (fees > feeMost(request.networkFeeAtoms, request.netAtoms)) {
    await keepWaiting(
      signer,
      request,
      'network_fee',
      'the UTXOs that could pay it are too small for the fees now',
    )
    return false
  }
  return consolidate(signer, keys, atOnce, rate, position)
}

const triedAtMs = new WeakMap<ChainKeys, number>()

/** Whether it is time to see if a chain with outputs has much to gather; once a minute. */
export const isConsolidationDue = (keys: ChainKeys): boolean =>
  Date.now() - (triedAtMs.get(keys) ?? 0) >= CONSOLIDATION_PAUSE_MS

/** Gathers the smallest UTXOs while fees are low, there are many, and nobody waits to be paid. */
export async function consolidateIfCheap(signer: Signer, keys: ChainKeys): Promise<void> {
  if (!isConsolidationDue(keys)) return
  triedAtMs.set(keys, Date.now())
  const { chain } = keys
  const network = networkOfChain(chain)
  if (network === 'ethereum' || !(await isIdle(signer.db, chain))) return
  const rates = await findFeeRates(signer.db, chain)
  const rate = rates && boundedRate(network, rates.rate)
  if (rate === null || rate > LOW_RATE[network]) return
  const utxos = await spendable(signer, keys, UTXOS_ENOUGH + INPUTS_MAX, rate)
  if (utxos.length <= UTXOS_ENOUGH) return
  const position = await nextChangePosition(signer.db, chain, keys.series)
  if (position !== null)
    await consolidate(signer, keys, utxos.slice(LEFT_FOR_PAYOUTS).slice(-INPUTS_MAX), rate, position)
}

/** The largest first; none that is not worth spending. */
async function spendable(signer: Signer, keys: ChainKeys, limit: number, rate: bigint): Promise<OwnedUtxo[]> {
  const utxos = await spendableNow(signer, keys, limit)
  return utxos.filter(({ atoms }) => atoms >= worthSpending(rate))
}

async function consolidate(
  signer: Signer,
  keys: ChainKeys,
  utxos: readonly OwnedUtxo[],
  rate: bigint,
  position: bigint,
): Promise<boolean> {
  const { chain } = keys
  const dustAtoms = ASSET_FACTS[nativeAsset(chain)].dustAtoms
  const selection = balance(utxos, { outputAtoms: 0n, scriptLengths: [], rateAtomsPerKvb: rate, dustAtoms })
  if (!selection || selection.changeAtoms === 0n) return false
  if (!(await allowsFee(signer, chain, selection.feeAtoms, 0n))) return false
  return (await commit(signer, signConsolidation(keys, chain, selection, rate, position))) === 'placed'
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
