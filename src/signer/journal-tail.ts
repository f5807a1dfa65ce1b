/** What the rows of the journal say together that are not in its table yet; of the past only a day's amounts are kept. */
import { type Asset, type ChainName, isSimulated } from '../core/assets.ts'
import { DAY_MS, MINUTE_MS } from '../core/time.ts'
import { paidBy, type SignedEntry } from '../treasury/signed-entry.ts'
import { type ByteRange, type IndexFoot, sequenceKey } from './journal-index.ts'

/** A row of the file. */
export type JournalRow =
  | { readonly fact: 'signed'; readonly at: number; readonly entry: SignedEntry }
  /** Its rows are committed, and only after this fact is it ready to be sent. */
  | { readonly fact: 'placed'; readonly chain: ChainName; readonly txid: string }
  /** Its rows can never be committed, and it was never ready to be sent. */
  | { readonly fact: 'void'; readonly chain: ChainName; readonly txid: string }

/** The keys under which rows are found: by transaction and its replacement set, by withdrawal, by sender and nonce. */
export const keyOf = {
  transaction: (chain: ChainName, txid: string): string => `t ${chain} ${txid}`,
  withdrawal: (name: string): string => `p ${name}`,
  nonce: (chain: ChainName, sender: string, nonce: string): string => `n ${chain} ${sender} ${nonce}`,
} as const

/** Rows in the order they were placed: first transactions with a nonce, and bumps. */
export const SEQUENCES = { sets: (chain: ChainName): string => `o ${chain}`, bumps: 'b' } as const

interface Pending {
  readonly entry: SignedEntry
  readonly range: ByteRange
}

export class JournalTail {
  /** Signed, and neither placed nor void. */
  readonly pending = new Map<string, Pending>()
  readonly #ranges = new Map<string, ByteRange[]>()
  readonly #sequences: Map<string, number>
  /** By side (asset, live or not) and minute: the latest instant in it, and what left. */
  readonly #left = new Map<string, Map<number, { at: number; atoms: bigint }>>()
  #rows = 0

  /** @param foot - Of the table that the rows follow. */
  constructor(foot: IndexFoot | null) {
    this.#sequences = new Map(Object.entries(foot?.sequences ?? {}))
    for (const [side, minute, at, atoms] of foot?.left ?? []) this.#leave(side, minute, at, BigInt(atoms))
  }

  /** How many rows it knows. */
  get rows(): number {
    return this.#rows
  }

  /** Under how many keys they are found: a payout of a thousand withdrawals is one row, and found by each of them. */
  get keys(): number {
    return this.#ranges.size
  }

  apply(row: JournalRow, range: ByteRange): void {
    this.#rows += 1
    if (row.fact === 'signed') {
      this.#sign(row.entry, row.at, range)
      return
    }
    const key = keyOf.transaction(row.chain, row.txid)
    const signed = this.pending.get(key)
    this.pending.delete(key)
    if (!signed) return
    if (row.fact === 'placed') this.#range(signed)
    else for (const each of keysOf(signed.entry)) this.#forget(each, signed.range)
  }

  find(key: string): readonly ByteRange[] {
    return this.#ranges.get(key) ?? []
  }

  lengthOf(sequence: string): number {
    return this.#sequences.get(sequence) ?? 0
  }

  leftSince(asset: Asset, live: boolean, sinceMs: number): bigint {
    const minutes = this.#left.get(sideOf(asset, live))?.values() ?? []
    return [...minutes].reduce((sum, { at, atoms }) => (at >= sinceMs ? sum + atoms : sum), 0n)
  }

  /** What goes into the table; only while nothing is pending. */
  added(): ReadonlyMap<string, readonly ByteRange[]> {
    return this.#ranges
  }

  summary(): Pick<IndexFoot, 'sequences' | 'left'> {
    return {
      sequences: Object.fromEntries(this.#sequences),
      left: [...this.#left].flatMap(([side, minutes]) =>
        [...minutes].map(([minute, { at, atoms }]) => [side, minute, at, String(atoms)] as const),
      ),
    }
  }

  #sign(entry: SignedEntry, at: number, range: ByteRange): void {
    this.pending.set(keyOf.transaction(entry.chain, entry.txid), { entry, range })
    for (const key of keysOf(entry)) this.#remember(key, range)
    const live = !isSimulated(entry.chain)
    for (const { asset, atoms } of entry.leaves)
      this.#leave(sideOf(asset, live), Math.floor(at / MINUTE_MS), at, BigInt(atoms))
  }

  #range({ entry, range }: Pending): void {
    if (entry.replacementSet !== entry.txid) this.#next(SEQUENCES.bumps, range)
    else if (entry.purpose !== 'outputs') this.#next(SEQUENCES.sets(entry.chain), range)
  }

  #next(sequence: string, range: ByteRange): void {
    const number = this.lengthOf(sequence)
    this.#remember(sequenceKey(sequence, number), range)
    this.#sequences.set(sequence, number + 1)
  }

  #remember(key: string, range: ByteRange): void {
    const ranges = this.#ranges.get(key)
    if (ranges) ranges.push(range)
    else this.#ranges.set(key, [range])
  }

  #forget(key: string, range: ByteRange): void {
    const ranges = this.#ranges.get(key)?.filter(({ start }) => start !== range.start) ?? []
    if (ranges.length > 0) this.#ranges.set(key, ranges)
    else this.#ranges.delete(key)
  }

  /** Counted by minutes, each as if all of it left at its last instant: never too little, and never more than a day of them. */
  #leave(side: string, minute: number, at: number, atoms: bigint): void {
    const minutes = this.#left.get(side) ?? new Map<number, { at: number; atoms: bigint }>()
    this.#left.set(side, minutes)
    const before = minutes.get(minute)
    minutes.set(minute, { at: Math.max(at, before?.at ?? at), atoms: (before?.atoms ?? 0n) + atoms })
    if (before) return
    for (const [old, left] of minutes) if (left.at <= at - DAY_MS) minutes.delete(old)
  }
}

/** A set's transactions stand under its first one; what it pays and its nonce are the first one's. */
function keysOf(entry: SignedEntry): string[] {
  const { chain, txid, replacementSet } = entry
  const opening = keyOf.transaction(chain, replacementSet)
  if (txid !== replacementSet) return [opening, keyOf.transaction(chain, txid)]
  const nonce = entry.purpose === 'outputs' ? [] : [keyOf.nonce(chain, entry.sender, entry.nonce)]
  return [opening, ...paidBy(entry).map(keyOf.withdrawal), ...nonce]
}

const sideOf = (asset: Asset, live: boolean): string => `${asset} ${live ? 'live' : 'simulated'}`
