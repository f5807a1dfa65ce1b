/** What many transactions are looked up by, and how it travels to PostgreSQL: thousands of pieces of bytes at a time. */
import { type ChainTransaction, NUMBERS_PER_PIECE, type Pieces } from '../../chains/chain.ts'

/** Of transactions whose adapter gives none. */
export const lookupsOf = (transactions: readonly ChainTransaction[]): Pieces =>
  joined(transactions, ({ outputs }) => outputs.map(({ lookup }) => lookup))

export const spentBy = (transactions: readonly ChainTransaction[]): Pieces =>
  joined(transactions, ({ inputs }) => inputs.map(({ txid }) => Buffer.from(txid, 'latin1')))

function joined(
  transactions: readonly ChainTransaction[],
  piecesOf: (transaction: ChainTransaction) => readonly Uint8Array[],
): Pieces {
  const pieces: Uint8Array[] = []
  const ranges: number[] = []
  let at = 0
  for (const [index, transaction] of transactions.entries())
    for (const piece of piecesOf(transaction)) {
      pieces.push(piece)
      ranges.push(at, at + piece.length, index)
      at += piece.length
    }
  return { bytes: Buffer.concat(pieces), ranges }
}

export const countPieces = ({ ranges }: Pieces): number => ranges.length / NUMBERS_PER_PIECE

/** Those of the transactions with a piece whose {@link keyOf} is wanted. */
export function transactionsWith(
  transactions: readonly ChainTransaction[],
  { bytes, ranges }: Pieces,
  wanted: ReadonlyMap<string, unknown> | ReadonlySet<string>,
): ChainTransaction[] {
  // Of thousands of pieces hardly one is wanted, or ends like one that is: of the others nothing is made.
  const endings = new Set(
    [...wanted.keys()].map((key) => endingOf(Buffer.from(key, 'latin1'), 0, key.length)),
  )
  const found = new Set<ChainTransaction>()
  for (let i = 0; i < ranges.length; i += NUMBERS_PER_PIECE) {
    const [from = 0, to = 0, index = 0] = [ranges[i], ranges[i + 1], ranges[i + 2]]
    if (!endings.has(endingOf(bytes, from, to)) || !wanted.has(keyOf(bytes.subarray(from, to)))) continue
    const transaction = transactions[index]
    if (transaction) found.add(transaction)
  }
  return [...found]
}

/** The last four bytes of a piece as a number, or as many as it has. */
function endingOf(bytes: Uint8Array, from: number, to: number): number {
  let ending = 0
  for (let at = Math.max(from, to - 4); at < to; at++) ending = (ending << 8) | (bytes[at] ?? 0)
  return ending
}

/** Bytes as a key of a map: each a letter, so that what is text stays what it is. */
export const keyOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')

const OIDS = { bytea: 17, bigint: 20, text: 25 } as const
const HEADER_BYTES = 20
const HEAD_BYTES = 8
const DIGIT_0 = 0x30
const LETTER_A = 0x61

/**
 * An array in PostgreSQL's binary format, which nothing is quoted in and nothing parsed of: written out, thousands of values take
 * longer to read than to be searched for. The statement it goes to is to be one that is planned anew each time: PostgreSQL takes
 * an array that it does not see for one of ten values, and walks through a table of some hundred rows with each of thousands.
 *
 * @param first - The pieces from this one on, up to the one at `end`.
 */
export function arrayOf(
  type: 'bytea' | 'text',
  { bytes, ranges }: Pieces,
  first = 0,
  end = Number.POSITIVE_INFINITY,
): Buffer {
  const last = Math.min(end, ranges.length / NUMBERS_PER_PIECE)
  let length = HEADER_BYTES
  for (let i = first; i < last; i++) length += 4 + lengthAt(ranges, i)
  const packed = Buffer.allocUnsafe(length)
  let at = writeHeader(packed, type, last - first)
  for (let i = first; i < last; i++) {
    const from = ranges[i * NUMBERS_PER_PIECE] ?? 0
    at = packed.writeInt32BE(lengthAt(ranges, i), at)
    packed.set(bytes.subarray(from, from + lengthAt(ranges, i)), at)
    at += lengthAt(ranges, i)
  }
  return packed
}

/** The first 16 digits of pieces that are hexadecimal, each as a `bigint` of PostgreSQL: what has the same head may be one of them. */
export function headsOf({ bytes, ranges }: Pieces, first = 0, end = Number.POSITIVE_INFINITY): Buffer {
  const last = Math.min(end, ranges.length / NUMBERS_PER_PIECE)
  const packed = Buffer.alloc(HEADER_BYTES + (last - first) * (4 + HEAD_BYTES))
  let at = writeHeader(packed, 'bigint', last - first)
  for (let i = first; i < last; i++) {
    const from = ranges[i * NUMBERS_PER_PIECE] ?? 0
    at = packed.writeInt32BE(HEAD_BYTES, at)
    for (let n = 0; n < HEAD_BYTES; n++)
      packed[at++] = (digitAt(bytes, from + 2 * n) << 4) | digitAt(bytes, from + 2 * n + 1)
  }
  return packed
}

/** Of what is no digit, some number. */
function digitAt(bytes: Uint8Array, at: number): number {
  const letter = bytes[at] ?? 0
  return letter < LETTER_A ? letter - DIGIT_0 : letter - LETTER_A + 10
}

/** One dimension, no null, of this type, so many, counted from 1. */
function writeHeader(packed: Buffer, type: keyof typeof OIDS, count: number): number {
  let at = 0
  for (const word of [1, 0, OIDS[type], count, 1]) at = packed.writeInt32BE(word, at)
  return at
}

const lengthAt = (ranges: ArrayLike<number>, i: number): number =>
  (ranges[i * NUMBERS_PER_PIECE + 1] ?? 0) - (ranges[i * NUMBERS_PER_PIECE] ?? 0)
