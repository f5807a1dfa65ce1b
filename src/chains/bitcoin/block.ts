/** Reads raw blocks of Bitcoin and Litecoin (getblock with verbosity 0), Litecoin's extension block included. */
import type { BitcoinLike } from './networks.ts'
import {
  Cursor,
  displayedHash,
  doubleSha256Hex,
  MalformedBytes,
  type ParsedTransaction,
  Places,
  readTransaction,
} from './transaction.ts'

export interface ParsedBlock {
  /** Double SHA-256 of the header, on Litecoin too (its proof of work uses another hash). */
  readonly hash: string
  readonly parentHash: string
  readonly timeMs: number
  readonly transactions: readonly ParsedTransaction[]
  /** Of what the transactions hold. */
  readonly places: Places
}

const HEADER_BYTES = 80
/** A millisecond of work, or less. */
const PART_BYTES = 250_000

/**
 * Reads a whole block, and yields where whoever reads it may rest.
 *
 * A Litecoin block whose last transaction is a HogEx is followed by its MWEB part (LIP-0002), which is left unread:
 * what it pays to the outside, the HogEx pays.
 *
 * @throws {MalformedBytes} unless the bytes are exactly one block.
 */
export function* parseBlock(bytes: Buffer, chain: BitcoinLike): Generator<void, ParsedBlock> {
  const cursor = new Cursor(bytes)
  cursor.skip(HEADER_BYTES)
  const count = cursor.size()
  if (count === 0) throw new MalformedBytes('a block without transactions', HEADER_BYTES)
  const transactions: ParsedTransaction[] = []
  const places = new Places(bytes)
  let partEnds = PART_BYTES
  for (let i = 0; i < count; i++) {
    transactions.push(readTransaction(cursor, places, chain, false))
    if (cursor.at < partEnds) continue
    partEnds = cursor.at + PART_BYTES
    yield
  }
  const mwebMayFollow = transactions.at(-1)?.isHogEx === true
  if (cursor.left > 0 && !mwebMayFollow)
    throw new MalformedBytes(`${cursor.left} bytes after the last transaction`, cursor.at)
  return {
    hash: doubleSha256Hex(bytes.subarray(0, HEADER_BYTES)),
    parentHash: displayedHash(bytes, 4),
    timeMs: bytes.readUInt32LE(68) * 1_000,
    transactions,
    places,
  }
}
