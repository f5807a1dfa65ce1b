/** What the simulated nodes take into their mempool, in the words that real ones refuse with. */
import { keccak256 } from 'ox/Hash'
import { ASSET_FACTS } from '../../core/assets.ts'
import { divideUp } from '../../core/money.ts'
import { STANDARD_VBYTES_MAX } from '../../core/vbytes.ts'
import type { BroadcastOutcome, Output } from '../chain.ts'
import {
  type ChainReads,
  type ChainStore,
  holdingKey,
  type Placed,
  type SimulatedTransaction,
} from './chain-store.ts'
import { withDescendants } from './ledger.ts'
import { SIMULATED_FEE_RATES } from './network.ts'
import { readSigned, type SignedOutputs, type SignedTransfer } from './signed.ts'

/** Takes signed bytes into the mempool, knows them already, or refuses them. */
export async function accept(store: ChainStore, raw: string): Promise<BroadcastOutcome> {
  if (await isKnown(store, raw)) return { kind: 'already_known' }
  const signed = readSigned(store.chain, raw)
  if (signed.kind === 'unreadable') return refused(signed.reason)
  const { txid, claims } = signed.transaction
  if ((await store.transactions([txid])).size > 0) return { kind: 'already_known' }

  const rivals = [...(await store.claimants(claims)).values()]
  if (rivals.some((rival) => rival.block)) {
    return refused(signed.kind === 'transfer' ? 'nonce too low' : 'bad-txns-inputs-missingorspent')
  }
  const verdict =
    signed.kind === 'outputs'
      ? await judgeOutputs(store, signed, rivals)
      : await judgeTransfer(store, signed, rivals)
  if (typeof verdict === 'string') return refused(verdict)

  await store.removeFromMempool(verdict.evicted)
  await store.addToMempool(verdict.transaction)
  return { kind: 'accepted' }
}

/** Told by the hash of the bytes, before anything is read from them: who signed is dear to find out. */
const isKnown = async (store: ChainReads, raw: string): Promise<boolean> =>
  store.chain === 'sim-ethereum' &&
  /^(0x)?([0-9a-f]{2})+$/.test(raw) &&
  (await store.transactions([keccak256(`0x${raw.replace(/^0x/, '')}`)])).size > 0

const refused = (reason: string): BroadcastOutcome => ({ kind: 'refused', reason })

interface Welcome {
  readonly transaction: SimulatedTransaction
  readonly evicted: readonly string[]
}

async function judgeOutputs(
  store: ChainReads,
  { transaction, vbytes, isSignedBy }: SignedOutputs,
  rivals: readonly Placed[],
): Promise<Welcome | string> {
  const { claims, outputs } = transaction
  if (vbytes > BigInt(STANDARD_VBYTES_MAX)) return 'tx-size'
  const parents = await store.transactions(claims.map((claim) => claim.txid))
  const spent: Output[] = []
  for (const claim of claims) {
    const output = parents.get(claim.txid)?.transaction.outputs.find(({ index }) => index === claim.index)
    if (!output) return 'bad-txns-inputs-missingorspent'
    spent.push(output)
  }
  let fee = spent.reduce((sum, { atoms }) => sum + atoms, 0n)
  if (outputs.some((output) => output.atoms < ASSET_FACTS[output.asset].dustAtoms)) return 'dust'
  for (const output of outputs) fee -= output.atoms
  if (fee < 0n) return 'bad-txns-in-belowout'
  const { floorAtomsPerKvb } =
    SIMULATED_FEE_RATES[store.chain === 'sim-litecoin' ? 'sim-litecoin' : 'sim-bitcoin']
  const feeMin = divideUp(vbytes * floorAtomsPerKvb, 1_000n)
  if (fee < feeMin) return `min relay fee not met, ${fee} < ${feeMin}`

  // Litecoin Core replaces nothing by default; Bitcoin Core whatever pays for itself and all it evicts (BIP-125).
  if (rivals.length > 0 && store.chain === 'sim-litecoin') return 'txn-mempool-conflict'
  const evicted = await withDescendants(
    store,
    rivals.map((rival) => rival.transaction),
  )
  if (claims.some((claim) => evicted.includes(claim.txid))) return 'bad-txns-spends-conflicting-tx'
  const replaced = await store.transactions(evicted)
  let feeToBeat = 0n
  for (const { transaction: victim } of replaced.values()) feeToBeat += victim.bid
  if (rivals.length > 0 && fee < feeToBeat + feeMin) {
    return `insufficient fee, rejecting replacement; ${fee} < ${feeToBeat + feeMin}`
  }
  // Last, as in Bitcoin Core: what is refused anyhow costs no arithmetic on the curve.
  if (!spent.every((output, input) => isSignedBy(input, output))) return 'mandatory-script-verify-flag-failed'
  return { transaction: { ...transaction, bid: fee }, evicted }
}

async function judgeTransfer(
  store: ChainReads,
  { transaction, nonce, reserve }: SignedTransfer,
  rivals: readonly Placed[],
): Promise<Welcome | string> {
  const before = { txid: nonce.txid, index: nonce.index - 1 }
  if (nonce.index > 0 && (await store.claimants([before])).size === 0) return 'nonce too high'
  // Geth replaces a nonce for a tenth more.
  const rival = rivals[0]?.transaction
  if (rival && transaction.bid * 10n < rival.bid * 11n) return 'replacement transaction underpriced'

  const balances = await store.balances([reserve.lookup])
  for (const waiting of await store.mempool()) {
    if (waiting.txid === rival?.txid) continue
    for (const debit of waiting.debits) {
      const balance = balances.get(holdingKey(debit))
      if (balance !== undefined) balances.set(holdingKey(debit), balance - debit.atoms)
    }
  }
  for (const need of [reserve, ...transaction.debits.filter((debit) => debit.asset !== reserve.asset)]) {
    const has = balances.get(holdingKey(need)) ?? 0n
    if (has < need.atoms)
      return `insufficient funds for transfer: have ${has}, want ${need.atoms} ${need.asset}`
  }
  return { transaction, evicted: rival ? [rival.txid] : [] }
}
