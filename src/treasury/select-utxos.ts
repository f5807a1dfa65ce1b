/** Which UTXOs pay: one that suffices, the smallest such; else the largest until they do. Pure. */
import { ASSET_FACTS, type Asset, type ChainName, nativeAsset, networkOfChain } from '../core/assets.ts'
import { vbytesOf } from '../core/vbytes.ts'

export interface Utxo {
  readonly txid: string
  readonly index: number
  readonly atoms: bigint
}

export interface Selection<U extends Utxo> {
  readonly utxos: readonly U[]
  readonly feeAtoms: bigint
  /** 0 when there is no change output: what would be too little to keep goes to the fee. */
  readonly changeAtoms: bigint
}

export interface Spending {
  readonly outputAtoms: bigint
  /** Length of each output's script. */
  readonly scriptLengths: readonly number[]
  readonly rateAtomsPerKvb: bigint
  /** The least change worth an output. */
  readonly dustAtoms: bigint
}

/** Blocks that outputs out of the MWEB are kept for: none of Litecoin's is spent before (LIP-0003). */
const MWEB_DEPTH = 6

/** How many blocks what others sent waits for before it is spent: as many as the operator wants for a deposit. */
export function depositDepth(
  config: { readonly confirmations: Partial<Record<Asset, number>> },
  chain: ChainName,
): number {
  const asset = nativeAsset(chain)
  const depth = config.confirmations[asset] ?? ASSET_FACTS[asset].confirmations
  return networkOfChain(chain) === 'litecoin' ? Math.max(depth, MWEB_DEPTH) : depth
}

/** Keeps a transaction well below the 100,000 virtual bytes that nodes relay. */
export const INPUTS_MAX = 400
/** Script of P2WPKH, which change goes to. */
export const CHANGE_SCRIPT_LENGTH = 22
/** Virtual bytes of a P2WPKH input. */
const INPUT_VBYTES = 68n

/** What an input costs, rounded up. */
export const inputFee = (rateAtomsPerKvb: bigint): bigint => divideUpKvb(INPUT_VBYTES * rateAtomsPerKvb)

/** A UTXO of less pays for itself poorly: more than half of it would be the fee of spending it. */
export const worthSpending = (rateAtomsPerKvb: bigint): bigint => 2n * inputFee(rateAtomsPerKvb)

/** @returns Null when the UTXOs do not suffice. */
export function selectUtxos<U extends Utxo>(utxos: readonly U[], spending: Spending): Selection<U> | null {
  const least = worthSpending(spending.rateAtomsPerKvb)
  const worthy = utxos.filter((utxo) => utxo.atoms >= least).toSorted(largestFirst)
  for (const utxo of worthy.toReversed()) {
    const alone = balance([utxo], spending)
    if (alone) return alone
  }
  let chosen: U[] = []
  for (const utxo of worthy.slice(0, INPUTS_MAX)) {
    chosen = [...chosen, utxo]
    const together = balance(chosen, spending)
    if (together) return together
  }
  return null
}

/** UTXOs that hold the same follow their outpoints, so that the same UTXOs give the same selection in whatever order they come. */
function largestFirst(a: Utxo, b: Utxo): number {
  if (a.atoms !== b.atoms) return a.atoms < b.atoms ? 1 : -1
  if (a.txid !== b.txid) return a.txid < b.txid ? -1 : 1
  return a.index - b.index
}

/** Splits what UTXOs hold into outputs, fee and change; null when they do not suffice. */
export function balance<U extends Utxo>(utxos: readonly U[], spending: Spending): Selection<U> | null {
  const given = utxos.reduce((sum, utxo) => sum + utxo.atoms, 0n)
  const rest = given - spending.outputAtoms
  const feeFor = (scriptLengths: readonly number[]) =>
    divideUpKvb(BigInt(vbytesOf(utxos.length, scriptLengths)) * spending.rateAtomsPerKvb)
  const feeWithChange = feeFor([...spending.scriptLengths, CHANGE_SCRIPT_LENGTH])
  const worthKeeping = spending.dustAtoms + inputFee(spending.rateAtomsPerKvb)
  if (rest - feeWithChange >= worthKeeping)
    return { utxos, feeAtoms: feeWithChange, changeAtoms: rest - feeWithChange }
  return rest >= feeFor(spending.scriptLengths) ? { utxos, feeAtoms: rest, changeAtoms: 0n } : null
}

export const divideUpKvb = (atoms: bigint): bigint => (atoms + 999n) / 1_000n
