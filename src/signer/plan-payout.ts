/**
 * Which of the withdrawals that may leave one transaction pays now, and with which UTXOs: the oldest first, as many as nodes
 * relay in one. One that does not fit is passed over and holds up none of the others. Pure; see docs/decisions/0079.
 */
import { NO_OUTPUTS, type OutputSizes, withOutput } from '../core/vbytes.ts'
import { feeMost } from '../treasury/payout-cost.ts'
import {
  bumpReserve,
  type Selection,
  type Selector,
  selectorOf,
  type Utxo,
} from '../treasury/select-utxos.ts'

/** What a planner knows of a withdrawal. */
export interface PayoutOutput {
  readonly request: { readonly netAtoms: bigint; readonly networkFeeAtoms: bigint }
  readonly script: Uint8Array
}

export interface PayoutPlan<Each extends PayoutOutput, U extends Utxo> {
  /** In the order in which they were given. */
  readonly paid: readonly Each[]
  readonly selection: Selection<U>
}

/** What a plan has to keep to. */
export interface Bounds<U extends Utxo> {
  readonly utxos: readonly U[]
  readonly rateAtomsPerKvb: bigint
  readonly dustAtoms: bigint
  /** Whether a fee may leave beside so many net atoms. */
  readonly allowsFee: (feeAtoms: bigint, netAtoms: bigint) => boolean
}

/**
 * Why not: no UTXOs that suffice fit into a transaction with it; the fee would be out of proportion; or the fee and what it pays
 * exceed a limit.
 */
export type Unpayable = 'coins' | 'proportion' | { readonly limitedFeeAtoms: bigint }

/** What a transaction pays, added up. */
interface Load {
  readonly outputs: OutputSizes
  readonly netAtoms: bigint
  readonly feeMost: bigint
}

const NOTHING: Load = { outputs: NO_OUTPUTS, netAtoms: 0n, feeMost: 0n }

const withOne = (load: Load, { request, script }: PayoutOutput): Load => ({
  outputs: withOutput(load.outputs, script.length),
  netAtoms: load.netAtoms + request.netAtoms,
  feeMost: load.feeMost + feeMost(request.networkFeeAtoms, request.netAtoms),
})

/** A load that can be paid, or is empty. */
interface Filled<Each extends PayoutOutput, U extends Utxo> {
  readonly paid: ReadonlySet<Each>
  readonly load: Load
  readonly selection: Selection<U> | null
}

interface Judged<U extends Utxo> {
  readonly selection: Selection<U>
  readonly isInProportion: boolean
  readonly isAllowed: boolean
}

export class PayoutPlanner<U extends Utxo> {
  readonly #select: Selector<U>
  readonly #bounds: Bounds<U>

  constructor(bounds: Bounds<U>) {
    this.#select = selectorOf(bounds.utxos, bounds)
    this.#bounds = bounds
  }

  /** @returns Null when none of them can be paid. */
  plan<Each extends PayoutOutput>(payables: readonly Each[]): PayoutPlan<Each, U> | null {
    if (payables.length === 0) return null
    const whole = payables.reduce(withOne, NOTHING)
    const all = this.#judge(whole)
    if (fits(all)) return { paid: payables, selection: this.#withReserve(whole, all.selection) }
    const oldestFirst = this.#fill(payables, payables)
    const { paid, load, selection } = oldestFirst.selection
      ? oldestFirst
      : this.#fill(this.#cheapestFirst(payables), payables)
    return (
      selection && {
        paid: payables.filter((payable) => paid.has(payable)),
        selection: this.#withReserve(load, selection),
      }
    )
  }

  /** Why one cannot be paid alone; null when it can. */
  whyNot(payable: PayoutOutput): Unpayable | null {
    const judged = this.#judge(withOne(NOTHING, payable))
    if (!judged) return 'coins'
    if (!judged.isInProportion) return 'proportion'
    return judged.isAllowed ? null : { limitedFeeAtoms: judged.selection.feeAtoms }
  }

  /**
   * As many as can be paid. A fee that is out of proportion to some may be in proportion to them with others, so it is asked for at
   * the end only: what is newer than the last of them at whom it was in proportion is left out, and tried again one by one.
   *
   * @param order - In which they are taken at first.
   */
  #fill<Each extends PayoutOutput>(order: readonly Each[], payables: readonly Each[]): Filled<Each, U> {
    const taken: Each[] = []
    let load = NOTHING
    let filled: Filled<Each, U> = { paid: new Set(), load, selection: null }
    let count = 0
    for (const payable of order) {
      const heavier = withOne(load, payable)
      const judged = this.#judge(heavier)
      if (!judged?.isAllowed) continue
      load = heavier
      taken.push(payable)
      if (!judged.isInProportion) continue
      count = taken.length
      filled = { ...filled, load, selection: judged.selection }
    }
    return this.#fillUp({ ...filled, paid: new Set(taken.slice(0, count)) }, payables)
  }

  /** Adds each that can be paid beside the others, the oldest first; twice, for the first turn may have brought what another needs. */
  #fillUp<Each extends PayoutOutput>(filled: Filled<Each, U>, payables: readonly Each[]): Filled<Each, U> {
    const paid = new Set(filled.paid)
    let { load, selection } = filled
    for (let turn = 0; turn < 2; turn++) {
      const before = paid.size
      for (const payable of payables) {
        if (paid.has(payable)) continue
        const heavier = withOne(load, payable)
        const judged = this.#judge(heavier)
        if (!fits(judged)) continue
        paid.add(payable)
        load = heavier
        selection = judged.selection
      }
      if (paid.size === before) break
    }
    return { paid, load, selection }
  }

  /** First those whose fee alone exceeds least what it may be; without those for whom alone there are no coins. */
  #cheapestFirst<Each extends PayoutOutput>(payables: readonly Each[]): Each[] {
    const excess = new Map<Each, bigint>()
    for (const payable of payables) {
      const load = withOne(NOTHING, payable)
      const judged = this.#judge(load)
      if (judged) excess.set(payable, judged.selection.feeAtoms - load.feeMost)
    }
    return [...excess].toSorted(([, a], [, b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([payable]) => payable)
  }

  /** With change that a bump can be paid from, where there are UTXOs for it. */
  #withReserve(load: Load, selection: Selection<U>): Selection<U> {
    const { rateAtomsPerKvb, dustAtoms } = this.#bounds
    const reserve = bumpReserve(selection.feeAtoms, rateAtomsPerKvb, dustAtoms)
    const judged = this.#judge(load, reserve)
    return fits(judged) ? judged.selection : selection
  }

  #judge({ outputs, netAtoms, feeMost }: Load, changeMin = 0n): Judged<U> | null {
    const selection = this.#select(netAtoms, outputs, changeMin)
    if (!selection) return null
    const { feeAtoms } = selection
    return {
      selection,
      isInProportion: feeAtoms <= feeMost,
      isAllowed: this.#bounds.allowsFee(feeAtoms, netAtoms),
    }
  }
}

const fits = <U extends Utxo>(judged: Judged<U> | null): judged is Judged<U> =>
  judged?.isInProportion === true && judged.isAllowed
