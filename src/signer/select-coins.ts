/** Which coins pay: one that suffices, the smallest such; else the largest until they do. Pure. */
import { vbytesOf } from '../chains/bitcoin/sign.ts'

export interface Coin {
  readonly txid: string
  readonly index: number
  readonly atoms: bigint
}

export interface Selection<C extends Coin> {
  readonly coins: readonly C[]
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

/** Keeps a transaction well below the 100,000 virtual bytes that nodes relay. */
const INPUTS_MAX = 400
/** Script of P2WPKH, which change goes to. */
const CHANGE_SCRIPT_LENGTH = 22
/** Virtual bytes of a P2WPKH input. */
const INPUT_VBYTES = 68n

/** @returns Null when the coins do not suffice. */
export function selectCoins<C extends Coin>(coins: readonly C[], spending: Spending): Selection<C> | null {
  const inputFee = divideUpKvb(INPUT_VBYTES * spending.rateAtomsPerKvb)
  const worthy = coins.filter((coin) => coin.atoms > inputFee).toSorted(largestFirst)
  for (const coin of worthy.toReversed()) {
    const alone = balance([coin], spending)
    if (alone) return alone
  }
  let chosen: C[] = []
  for (const coin of worthy.slice(0, INPUTS_MAX)) {
    chosen = [...chosen, coin]
    const together = balance(chosen, spending)
    if (together) return together
  }
  return null
}

/** Coins that hold the same follow their places, so that the same coins give the same selection in whatever order they come. */
function largestFirst(a: Coin, b: Coin): number {
  if (a.atoms !== b.atoms) return a.atoms < b.atoms ? 1 : -1
  if (a.txid !== b.txid) return a.txid < b.txid ? -1 : 1
  return a.index - b.index
}

/** Splits what coins hold into outputs, fee and change; null when they do not suffice. */
export function balance<C extends Coin>(coins: readonly C[], spending: Spending): Selection<C> | null {
  const given = coins.reduce((sum, coin) => sum + coin.atoms, 0n)
  const rest = given - spending.outputAtoms
  const feeFor = (scriptLengths: readonly number[]) =>
    divideUpKvb(BigInt(vbytesOf(coins.length, scriptLengths)) * spending.rateAtomsPerKvb)
  const feeWithChange = feeFor([...spending.scriptLengths, CHANGE_SCRIPT_LENGTH])
  const worthKeeping = spending.dustAtoms + divideUpKvb(INPUT_VBYTES * spending.rateAtomsPerKvb)
  if (rest - feeWithChange >= worthKeeping)
    return { coins, feeAtoms: feeWithChange, changeAtoms: rest - feeWithChange }
  return rest >= feeFor(spending.scriptLengths) ? { coins, feeAtoms: rest, changeAtoms: 0n } : null
}

const divideUpKvb = (atoms: bigint): bigint => (atoms + 999n) / 1_000n
