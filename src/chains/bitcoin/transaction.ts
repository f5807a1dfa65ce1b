/**
 * Reads transactions as Bitcoin and Litecoin Core serialise them: the original format, BIP-144 with witnesses, and
 * Litecoin's MWEB marks (LIP-0003; Litecoin Core src/primitives/transaction.h). Every read is bounded; bytes that do
 * not follow the format to the letter are refused, never guessed at.
 */
import { hash } from 'node:crypto'
import { OutsideFailure } from '../../core/errors.ts'
import type { Outpoint } from '../chain.ts'
import type { BitcoinLike } from './networks.ts'

export interface ParsedOutput {
  /** The scriptPubKey: a view into the bytes that were read, not a copy. */
  readonly script: Buffer
  readonly atoms: bigint
}

/** Bytes that transactions were read from, and where their outputs and outpoints are, one transaction's behind another's. */
export class Places {
  readonly bytes: Buffer
  /** Of each output: where its amount begins, where its script begins, where that ends. */
  readonly outputs: number[] = []
  /** Where each outpoint that is spent begins. */
  readonly outpoints: number[] = []

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}

export const NUMBERS_PER_OUTPUT = 3

/** Where the parts of one transaction are: in bytes, and the first and last plus one of its own in {@link Places}. */
interface Span {
  readonly from: number
  readonly bodyFrom: number
  readonly bodyTo: number
  readonly lockTimeAt: number
  readonly outputsFrom: number
  readonly outputsTo: number
  readonly outpointsFrom: number
  readonly outpointsTo: number
  readonly isHogEx: boolean
  readonly isMwebOnly: boolean
}

/**
 * A transaction whose bytes were read and found good. What it holds is made when it is asked for, which of a block's thousands
 * of transactions hardly one is: the bytes have to stay as they are until then.
 */
export class ParsedTransaction {
  readonly #places: Places
  readonly #span: Span
  #txid: string | undefined

  constructor(places: Places, span: Span) {
    this.#places = places
    this.#span = span
  }

  /**
   * Double SHA-256 without witnesses, in the byte order that nodes and explorers show; no name of a transaction that is
   * {@link isMwebOnly}.
   */
  get txid(): string {
    this.#txid ??= txidOf(this.#places.bytes, this.#span)
    return this.#txid
  }

  /** What it spends, made anew whenever it is asked for; empty for a coinbase. */
  get inputs(): Outpoint[] {
    const { bytes, outpoints } = this.#places
    const { outpointsFrom, outpointsTo } = this.#span
    return outpoints
      .slice(outpointsFrom, outpointsTo)
      .map((at) => ({ txid: displayedHash(bytes, at), index: bytes.readUInt32LE(at + HASH_BYTES) }))
  }

  /** Made anew whenever it is asked for. */
  get outputs(): ParsedOutput[] {
    const { bytes, outputs } = this.#places
    const { outputsFrom, outputsTo } = this.#span
    const made: ParsedOutput[] = []
    for (let i = outputsFrom; i < outputsTo; i += NUMBERS_PER_OUTPUT)
      made.push({
        script: bytes.subarray(outputs[i + 1], outputs[i + 2]),
        atoms: bytes.readBigUInt64LE(outputs[i]),
      })
    return made
  }

  /** Where its outputs are in {@link Places}: of the first, and behind the last. */
  get outputRange(): readonly [from: number, to: number] {
    return [this.#span.outputsFrom, this.#span.outputsTo]
  }

  /** Where its outpoints are in {@link Places}: of the first, and behind the last. */
  get outpointRange(): readonly [from: number, to: number] {
    return [this.#span.outpointsFrom, this.#span.outpointsTo]
  }

  /** Litecoin's last transaction of a block, which carries coins into and out of the MWEB. */
  get isHogEx(): boolean {
    return this.#span.isHogEx
  }

  /** A Litecoin transaction inside the MWEB: named by its kernel; pays and spends nothing outside. */
  get isMwebOnly(): boolean {
    return this.#span.isMwebOnly
  }
}

/** Bytes from a node that are no block or transaction. Asking again may bring better ones. */
export class MalformedBytes extends OutsideFailure {
  override readonly name = 'MalformedBytes'
  constructor(problem: string, at: number) {
    super(`the node sent malformed chain data: ${problem} at byte ${at}`, { retryable: true })
  }
}

export const HASH_BYTES = 32
const COINBASE_INDEX = 0xffff_ffff
const FLAG_WITNESS = 0x01
const FLAG_MWEB = 0x08
/** Both chains' supply in atoms is below 2^53; so a sum of atoms read here is exact as a number, too. */
const ATOMS_HIGH_WORD_MAX = 0x1f_ffff

/** A position in bytes that only moves forward, and throws rather than pass the end. */
export class Cursor {
  readonly bytes: Buffer
  at: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  get left(): number {
    return this.bytes.length - this.at
  }

  /** Moves over `count` bytes and returns where they began. */
  skip(count: number): number {
    const from = this.at
    if (count > this.bytes.length - from)
      throw new MalformedBytes(`${count} bytes wanted, ${this.left} left`, from)
    this.at = from + count
    return from
  }

  byte(): number {
    return this.bytes[this.skip(1)] ?? 0
  }

  uint32(): number {
    return this.bytes.readUInt32LE(this.skip(4))
  }

  /** Bitcoin's CompactSize. Core refuses a number written longer than needed, and so do we. */
  size(): number {
    const from = this.at
    const first = this.byte()
    if (first < 0xfd) return first
    if (first === 0xfd) return this.#longerThan(0xfc, this.bytes.readUInt16LE(this.skip(2)), from)
    if (first === 0xfe) return this.#longerThan(0xffff, this.uint32(), from)
    throw new MalformedBytes('a size beyond 32 bits', from)
  }

  #longerThan(limit: number, value: number, from: number): number {
    if (value <= limit) throw new MalformedBytes(`size ${value} not written in its shortest form`, from)
    return value
  }

  /** Moves over an amount and returns where it began. */
  skipAtoms(): number {
    const from = this.skip(8)
    if (this.bytes.readUInt32LE(from + 4) > ATOMS_HIGH_WORD_MAX)
      throw new MalformedBytes('an amount beyond the supply', from)
    return from
  }
}

/** Reads one transaction that stands alone, as getrawtransaction shows it. */
export function parseTransaction(bytes: Buffer, chain: BitcoinLike): ParsedTransaction {
  const cursor = new Cursor(bytes)
  const transaction = readTransaction(cursor, new Places(bytes), chain, true)
  if (cursor.left > 0) throw new MalformedBytes(`${cursor.left} bytes after the transaction`, cursor.at)
  return transaction
}

/**
 * Reads the transaction at the cursor and leaves the cursor behind it.
 *
 * @param places - Of the same bytes; what is found is added.
 * @param alone - The bytes hold this transaction and nothing else. Only then may a Litecoin transaction carry an MWEB
 *   part of its own, which ends four bytes before the end; in a block these parts are gathered after the last
 *   transaction.
 */
export function readTransaction(
  cursor: Cursor,
  places: Places,
  chain: BitcoinLike,
  alone: boolean,
): ParsedTransaction {
  const { bytes } = cursor
  const from = cursor.skip(4)
  let flags = 0
  if (bytes[cursor.at] === 0) {
    cursor.skip(1)
    flags = cursor.byte()
    const known = chain === 'litecoin' ? FLAG_WITNESS | FLAG_MWEB : FLAG_WITNESS
    if (flags === 0 || (flags & ~known) !== 0)
      throw new MalformedBytes(`unknown flags ${flags}`, cursor.at - 1)
  }
  const bodyFrom = cursor.at
  const outpointsFrom = places.outpoints.length
  const inputCount = cursor.size()
  for (let i = 0; i < inputCount; i++) readInput(cursor, places)
  const outputsFrom = places.outputs.length
  const outputCount = cursor.size()
  for (let i = 0; i < outputCount; i++) readOutput(cursor, places)
  const bodyTo = cursor.at

  if (flags & FLAG_WITNESS) {
    for (let i = 0; i < inputCount; i++) {
      const items = cursor.size()
      for (let item = 0; item < items; item++) cursor.skip(cursor.size())
    }
  }
  const ownMwebPart = flags & FLAG_MWEB ? skipMwebPart(cursor, alone) : false
  if ((inputCount === 0 || outputCount === 0) && !ownMwebPart)
    throw new MalformedBytes('a transaction without inputs or outputs', bodyFrom)
  return new ParsedTransaction(places, {
    from,
    bodyFrom,
    bodyTo,
    lockTimeAt: cursor.skip(4),
    outputsFrom,
    outputsTo: places.outputs.length,
    outpointsFrom,
    outpointsTo: places.outpoints.length,
    isHogEx: (flags & FLAG_MWEB) !== 0 && !ownMwebPart,
    isMwebOnly: ownMwebPart && inputCount === 0 && outputCount === 0,
  })
}

/** A coinbase spends no output: its outpoint is none. */
function readInput(cursor: Cursor, places: Places): void {
  const at = cursor.skip(HASH_BYTES + 4)
  cursor.skip(cursor.size())
  cursor.skip(4)
  if (cursor.bytes.readUInt32LE(at + HASH_BYTES) !== COINBASE_INDEX) places.outpoints.push(at)
}

function readOutput(cursor: Cursor, places: Places): void {
  const amountAt = cursor.skipAtoms()
  const length = cursor.size()
  const scriptAt = cursor.skip(length)
  places.outputs.push(amountAt, scriptAt, scriptAt + length)
}

/** @returns Whether the transaction carries an MWEB part of its own; without one it is a HogEx. */
function skipMwebPart(cursor: Cursor, alone: boolean): boolean {
  const present = cursor.byte()
  if (present === 0) return false
  if (present !== 1 || !alone) throw new MalformedBytes('an MWEB part where none may be', cursor.at - 1)
  // The part is never empty; what it holds concerns nobody outside the MWEB.
  cursor.skip(Math.max(1, cursor.left - 4))
  return true
}

/** The txid covers version, inputs, outputs and lock time, without marker, flags and what they announce (BIP-141). */
function txidOf(bytes: Buffer, { from, bodyFrom, bodyTo, lockTimeAt }: Span): string {
  const parts = [
    bytes.subarray(from, from + 4),
    bytes.subarray(bodyFrom, bodyTo),
    bytes.subarray(lockTimeAt, lockTimeAt + 4),
  ]
  return doubleSha256Hex(Buffer.concat(parts))
}

/** A hash as nodes show it: its bytes in reverse. */
export function doubleSha256Hex(bytes: Buffer): string {
  return hash('sha256', hash('sha256', bytes, 'buffer'), 'buffer')
    .reverse()
    .toString('hex')
}

const turned = Buffer.alloc(HASH_BYTES)

/** The hash at `at`, as nodes show it. */
export function displayedHash(bytes: Uint8Array, at: number): string {
  copyDisplayed(bytes, at, turned, 0)
  return turned.toString('hex')
}

/** Copies the hash at `at` in the byte order that nodes show: the reverse. */
export function copyDisplayed(bytes: Uint8Array, at: number, to: Uint8Array, toAt: number): void {
  for (let i = 0; i < HASH_BYTES; i++) to[toAt + i] = bytes[at + HASH_BYTES - 1 - i] ?? 0
}
