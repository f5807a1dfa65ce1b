/** Which UTXOs pay: one that suffices, the smallest such; else the largest until they do, as far as one transaction is relayed. Pure. */
import { ASSET_FACTS, type Asset, type ChainName, nativeAsset, networkOfChain } from '../core/assets.ts'
import { divideUp, larger } from '../core/money.ts'
import { type OutputSizes, STANDARD_VBYTES_MAX, sizesOf, vbytesWith, withOutput } from '../core/vbytes.ts'

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

/**
 * What a payout has at first, in virtual bytes: the rest up to what nodes relay is for its bumps. 70 inputs that replacements add;
 * and on Litecoin the children that pay for it, for a mempool takes 101,000 of a transaction with all that descends from it
 * (`DEFAULT_DESCENDANT_SIZE_LIMIT_KVB`).
 */
export const PAYOUT_VBYTES_MAX = STANDARD_VBYTES_MAX - 5_000
/** What spends more is dear to bump; UTXOs are gathered first (docs/decisions/0037). */
export const INPUTS_MAX = 400
/** Script of P2WPKH, which change goes to. */
export const CHANGE_SCRIPT_LENGTH = 22
/** Virtual bytes of a P2WPKH input. */
const INPUT_VBYTES = 68n

/** Virtual bytes of a child that pays for a payout: P2WPKH to P2WPKH. */
export const CHILD_VBYTES = BigInt(vbytesWith(1, sizesOf([CHANGE_SCRIPT_LENGTH])))

/**
 * Change that a payout is bumped from to twice its rate: on Litecoin by a child, which can spend nothing else; on Bitcoin by a
 * replacement, which then needs no UTXO more.
 */
export const bumpReserve = (feeAtoms: bigint, rateAtomsPerKvb: bigint, dustAtoms: bigint): bigint =>
  feeAtoms + feeAt(rateAtomsPerKvb, 2n * CHILD_VBYTES) + dustAtoms

/** What an input costs, rounded up. */
export const inputFee = (rateAtomsPerKvb: bigint): bigint => feeAt(rateAtomsPerKvb, INPUT_VBYTES)

/** A UTXO of less pays for itself poorly: more than half of it would be the fee of spending it. */
export const worthSpending = (rateAtomsPerKvb: bigint): bigint => 2n * inputFee(rateAtomsPerKvb)

/**
 * Selects for outputs that come to so many atoms, and are so large.
 *
 * @param changeMin - Change there has to be; 0, or left out, where there may be none.
 * @returns Null when the UTXOs do not suffice, or do not fit into one transaction with the outputs.
 */
export type Selector<U extends Utxo> = (
  outputAtoms: bigint,
  outputs: OutputSizes,
  changeMin?: bigint,
) => Selection<U> | null

/**
 * UTXOs, ordered and added up once: whoever plans for many outputs selects again and again. What suffices is found by halving,
 * for each of them brings more than its input costs.
 */
export function selectorOf<U extends Utxo>(
  utxos: readonly U[],
  { rateAtomsPerKvb, dustAtoms }: Pick<Spending, 'rateAtomsPerKvb' | 'dustAtoms'>,
): Selector<U> {
  const least = worthSpending(rateAtomsPerKvb)
  const worthy = utxos.filter((utxo) => utxo.atoms >= least).toSorted(largestFirst)
  const sums = [0n]
  for (const { atoms } of worthy.slice(0, INPUTS_MAX)) sums.push((sums.at(-1) ?? 0n) + atoms)
  return (outputAtoms, outputs, changeMin = 0n) => {
    const given = { outputAtoms, outputs, rateAtomsPerKvb, dustAtoms, changeMin }
    const inputsMax = inputsBeside(outputs)
    if (inputsMax === 0) return null
    const pays = (inputs: number, atoms: bigint) => split(inputs, atoms, given) !== null
    const take = (some: readonly U[], atoms: bigint): Selection<U> | null => {
      const amounts = split(some.length, atoms, given)
      return amounts && { utxos: some, ...amounts }
    }
    // The largest come first: those that suffice alone, and the smallest of them is the last.
    const alone = worthy[firstWhere(worthy.length, (at) => !pays(1, worthy[at]?.atoms ?? 0n)) - 1]
    if (alone) return take([alone], alone.atoms)
    const most = Math.min(sums.length - 1, inputsMax)
    const count = firstWhere(most + 1, (inputs) => inputs > 0 && pays(inputs, sums[inputs] ?? 0n))
    return count > most ? null : take(worthy.slice(0, count), sums[count] ?? 0n)
  }
}

/** How many inputs fit into a payout beside outputs and its change. */
function inputsBeside(outputs: OutputSizes): number {
  const all = withOutput(outputs, CHANGE_SCRIPT_LENGTH)
  return firstWhere(INPUTS_MAX, (count) => vbytesWith(count + 1, all) > PAYOUT_VBYTES_MAX)
}

/** Whether outputs leave a payout no room for a single input. */
export const isFull = (outputs: OutputSizes): boolean => inputsBeside(outputs) === 0

/** The first of so many numbers, from 0 on, from which on something is so; their count when it is of none. */
function firstWhere(count: number, isSo: (number: number) => boolean): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isSo(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** UTXOs that hold the same follow their outpoints, so that the same UTXOs give the same selection in whatever order they come. */
function largestFirst(a: Utxo, b: Utxo): number {
  if (a.atoms !== b.atoms) return a.atoms < b.atoms ? 1 : -1
  if (a.txid !== b.txid) return a.txid < b.txid ? -1 : 1
  return a.index - b.index
}

/** Splits what UTXOs hold into outputs, fee and change; null when they do not suffice. */
export function balance<U extends Utxo>(utxos: readonly U[], spending: Spending): Selection<U> | null {
  const atoms = utxos.reduce((sum, utxo) => sum + utxo.atoms, 0n)
  const amounts = split(utxos.length, atoms, {
    ...spending,
    outputs: sizesOf(spending.scriptLengths),
    changeMin: 0n,
  })
  return amounts && { utxos, ...amounts }
}

function split(
  inputs: number,
  atoms: bigint,
  {
    outputAtoms,
    outputs,
    rateAtomsPerKvb,
    dustAtoms,
    changeMin,
  }: Omit<Spending, 'scriptLengths'> & { readonly outputs: OutputSizes; readonly changeMin: bigint },
): Pick<Selection<Utxo>, 'feeAtoms' | 'changeAtoms'> | null {
  const rest = atoms - outputAtoms
  const feeFor = (sizes: OutputSizes) => feeAt(rateAtomsPerKvb, BigInt(vbytesWith(inputs, sizes)))
  const feeWithChange = feeFor(withOutput(outputs, CHANGE_SCRIPT_LENGTH))
  const worthKeeping = dustAtoms + inputFee(rateAtomsPerKvb)
  if (rest - feeWithChange >= larger(changeMin, worthKeeping))
    return { feeAtoms: feeWithChange, changeAtoms: rest - feeWithChange }
  return changeMin === 0n && rest >= feeFor(outputs) ? { feeAtoms: rest, changeAtoms: 0n } : null
}

/** What virtual bytes cost at a rate, rounded up. */
export const feeAt = (rateAtomsPerKvb: bigint, vbytes: bigint): bigint =>
  divideUp(vbytes * rateAtomsPerKvb, 1_000n)
