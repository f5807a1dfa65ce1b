/** What the port shows of transactions: outputs that can be spent and hold something, under their own numbers. */
import type { Asset } from '../../core/assets.ts'
import {
  type ChainTransaction,
  NUMBERS_PER_PIECE,
  type Outpoint,
  type Output,
  type TransactionPieces,
} from '../chain.ts'
import type { ParsedBlock } from './block.ts'
import { copyDisplayed, HASH_BYTES, NUMBERS_PER_OUTPUT, type ParsedTransaction } from './transaction.ts'

const OP_RETURN = 0x6a
const HASH_DIGITS = 2 * HASH_BYTES
/** A millisecond of work, or less. */
const PART_TRANSACTIONS = 500

export class ShownTransaction implements ChainTransaction {
  readonly #parsed: ParsedTransaction
  readonly #asset: Asset
  #outputs: readonly Output[] | undefined

  constructor(parsed: ParsedTransaction, asset: Asset) {
    this.#parsed = parsed
    this.#asset = asset
  }

  get key(): string {
    return this.#parsed.txid
  }

  get hash(): string {
    return this.#parsed.txid
  }

  get outputs(): readonly Output[] {
    const asset = this.#asset
    this.#outputs ??= this.#parsed.outputs.flatMap(({ script, atoms }, index) =>
      atoms > 0n && script[0] !== OP_RETURN ? [{ lookup: script, index, asset, atoms }] : [],
    )
    return this.#outputs
  }

  get inputs(): readonly Outpoint[] {
    return this.#parsed.inputs
  }
}

/**
 * What the transactions of a block are looked up by, out of the bytes they were read from: no object is made of any. Yields where
 * whoever asks may rest.
 */
export function* piecesOf({ transactions, places }: ParsedBlock): Generator<void, TransactionPieces> {
  const { bytes, outputs, outpoints } = places
  const lookups: number[] = []
  const hashes = Buffer.allocUnsafe(outpoints.length * HASH_BYTES)
  const spent = new Uint32Array(outpoints.length * NUMBERS_PER_PIECE)
  for (const [index, { outputRange, outpointRange }] of transactions.entries()) {
    const [output, outputsTo] = outputRange
    for (let at = output; at < outputsTo; at += NUMBERS_PER_OUTPUT) {
      const [from = 0, to = 0] = [outputs[at + 1], outputs[at + 2]]
      if (from < to && bytes[from] !== OP_RETURN) lookups.push(from, to, index)
    }
    const [outpoint, outpointsTo] = outpointRange
    for (let n = outpoint; n < outpointsTo; n++) {
      copyDisplayed(bytes, outpoints[n] ?? 0, hashes, n * HASH_BYTES)
      spent[n * NUMBERS_PER_PIECE] = n * HASH_DIGITS
      spent[n * NUMBERS_PER_PIECE + 1] = (n + 1) * HASH_DIGITS
      spent[n * NUMBERS_PER_PIECE + 2] = index
    }
    if ((index + 1) % PART_TRANSACTIONS === 0) yield
  }
  const txids = Buffer.from(hashes.toString('hex'), 'latin1')
  return { lookups: { bytes, ranges: lookups }, spent: { bytes: txids, ranges: spent } }
}
