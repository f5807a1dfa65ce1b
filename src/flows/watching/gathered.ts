/** What many transactions are looked up by, and how it travels to PostgreSQL: thousands of pieces of bytes at a time. */
import { type ChainTransaction, type Gathered, NUMBERS_PER_PIECE, type Pieces } from '../../chains/chain.ts'

/** Gathers it from the transactions, where their adapter did not. */
export const gather = (transactions: readonly ChainTransaction[]): Gathered => ({
  lookups: joined(transactions, ({ outputs }) => outputs.map(({ lookup }) => lookup)),
  spent: joined(transactions, ({ inputs }) => inputs.map(({ txid }) => Buffer.from(txid, 'latin1'))),
})

function joined(
  transactions: readonly ChainTransaction[],
  piecesOf: (transaction: ChainTransaction) => readonly Uint8Array[],
): Pieces {
  const pieces: Uint8Array[] = []
  const places: number[] = []
  let at = 0
  for (const [place, transaction] of transactions.entries())
    for (const piece of piecesOf(transaction)) {
      pieces.push(piece)
      places.push(at, at + piece.length, place)
      at += piece.length
    }
  return { bytes: Buffer.concat(pieces), places }
}

export const countPieces = ({ places }: Pieces): number => places.length / NUMBERS_PER_PIECE

/** Those of the transactions with a piece whose {@link keyOf} is wanted. */
export function transactionsWith(
  transactions: readonly ChainTransaction[],
  { bytes, places }: Pieces,
  wanted: ReadonlyMap<string, unknown> | ReadonlySet<string>,
): ChainTransaction[] {
  // Of thousands of pieces hardly one is wanted, or ends like one that is: of the others nothing is made.
  const endings = new Set([...wanted.keys()].map((key) => endingOf(Buffer.from(key, 'latin1'))))
  const found = new Set<ChainTransaction>()
  for (let i = 0; i < places.length; i += NUMBERS_PER_PIECE) {
    const [from = 0, to = 0, place = 0] = [places[i], places[i + 1], places[i + 2]]
    if (!endings.has(endingOf(bytes, to)) || !wanted.has(keyOf(bytes.subarray(from, to)))) continue
    const transaction = transactions[place]
    if (transaction) found.add(transaction)
  }
  return [...found]
}

/** The four bytes before `end` as a number. */
function endingOf(bytes: Uint8Array, end = bytes.length): number {
  return (
    ((bytes[end - 1] ?? 0) << 24) |
    ((bytes[end - 2] ?? 0) << 16) |
    ((bytes[end - 3] ?? 0) << 8) |
    (bytes[end - 4] ?? 0)
  )
}

/** Bytes as a key of a map: each a letter, so that what is text stays what it is. */
export const keyOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')

const OIDS = { bytea: 17, text: 25 } as const
const HEADER_BYTES = 20

/**
 * An array in PostgreSQL's binary format, which nothing is quoted in and nothing parsed of: written out, thousands of values take
 * longer to read than to be searched for. The statement it goes to is to be one that is planned anew each time: PostgreSQL takes
 * an array that it does not see for one of ten values, and walks through a table of some hundred rows with each of thousands.
 *
 * @param first - The pieces from this one on, up to the one at `end`.
 */
export function arrayOf(
  type: keyof typeof OIDS,
  { bytes, places }: Pieces,
  first = 0,
  end = Number.POSITIVE_INFINITY,
): Buffer {
  const last = Math.min(end, places.length / NUMBERS_PER_PIECE)
  let length = HEADER_BYTES
  for (let i = first; i < last; i++) length += 4 + lengthAt(places, i)
  const packed = Buffer.allocUnsafe(length)
  // One dimension, no null, of this type, so many, counted from 1.
  let at = 0
  for (const word of [1, 0, OIDS[type], last - first, 1]) at = packed.writeInt32BE(word, at)
  for (let i = first; i < last; i++) {
    const from = places[i * NUMBERS_PER_PIECE] ?? 0
    at = packed.writeInt32BE(lengthAt(places, i), at)
    packed.set(bytes.subarray(from, from + lengthAt(places, i)), at)
    at += lengthAt(places, i)
  }
  return packed
}

const lengthAt = (places: ArrayLike<number>, i: number): number =>
  (places[i * NUMBERS_PER_PIECE + 1] ?? 0) - (places[i * NUMBERS_PER_PIECE] ?? 0)
