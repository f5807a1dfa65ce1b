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

export interface ParsedTransaction {
  /**
   * Double SHA-256 without witnesses, in the byte order that nodes and explorers show; no name of a transaction that is
   * {@link isMwebOnly}.
   *
   * Hashed when it is first asked for: of a block's thousands of transactions hardly one is. The bytes that were read have
   * to stay as they are until then.
   */
  readonly txid: string
  /** What it spends; empty for a coinbase. */
  readonly inputs: readonly Outpoint[]
  readonly outputs: readonly ParsedOutput[]
  /** Litecoin's last transaction of a block, which carries coins into and out of the MWEB. */
  readonly isHogEx: boolean
  /** A Litecoin transaction inside the MWEB: named by its kernel; pays and spends nothing outside. */
  readonly isMwebOnly: boolean
}

/** Bytes from a node that are no block or transaction. Asking again may bring better ones. */
export class MalformedBytes extends OutsideFailure {
  override readonly name = 'MalformedBytes'
  constructor(problem: string, at: number) {
    super(`the node sent malformed chain data: ${problem} at byte ${at}`, { retryable: true })
  }
}

const FLAG_WITNESS = 0x01
const FLAG_MWEB = 0x08
/** Both chains' supply in atoms is below 2^53; so a sum of atoms read here is exact as a number, too. */
const ATOMS_HIGH_WORD_MAX = 0x1f_ffff
const WORD = 0x1_0000_0000

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

  atoms(): bigint {
    const from = this.at
    const low = this.uint32()
    const high = this.uint32()
    if (high > ATOMS_HIGH_WORD_MAX) throw new MalformedBytes('an amount beyond the supply', from)
    return BigInt(high * WORD + low)
  }
}

/** Reads one transaction that stands alone, as getrawtransaction shows it. */
export function parseTransaction(bytes: Buffer, chain: BitcoinLike): ParsedTransaction {
  const cursor = new Cursor(bytes)
  const transaction = readTransaction(cursor, chain, true)
  if (cursor.left > 0) throw new MalformedBytes(`${cursor.left} bytes after the transaction`, cursor.at)
  return transaction
}

/**
 * Reads the transaction at the cursor and leaves the cursor behind it.
 *
 * @param alone - The bytes hold this transaction and nothing else. Only then may a Litecoin transaction carry an MWEB
 *   part of its own, which ends four bytes before the end; in a block these parts are gathered after the last
 *   transaction.
 */
export function readTransaction(cursor: Cursor, chain: BitcoinLike, alone: boolean): ParsedTransaction {
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
  const inputCount = cursor.size()
  const inputs: Outpoint[] = []
  for (let i = 0; i < inputCount; i++) {
    const input = readInput(cursor)
    if (input) inputs.push(input)
  }
  const outputCount = cursor.size()
  const outputs: ParsedOutput[] = []
  for (let i = 0; i < outputCount; i++) {
    const atoms = cursor.atoms()
    const length = cursor.size()
    const at = cursor.skip(length)
    outputs.push({ script: bytes.subarray(at, at + length), atoms })
  }
  const bodyTo = cursor.at

  if (flags & FLAG_WITNESS) {
    for (let i = 0; i < inputCount; i++) {
      const items = cursor.size()
      for (let item = 0; item < items; item++) cursor.skip(cursor.size())
    }
  }
  const ownMwebPart = flags & FLAG_MWEB ? skipMwebPart(cursor, alone) : false
  const isHogEx = (flags & FLAG_MWEB) !== 0 && !ownMwebPart
  const isMwebOnly = ownMwebPart && inputCount === 0 && outputCount === 0
  if ((inputCount === 0 || outputCount === 0) && !ownMwebPart)
    throw new MalformedBytes('a transaction without inputs or outputs', bodyFrom)

  const lockTimeAt = cursor.skip(4)
  const parts = { bytes, from, bodyFrom, bodyTo, lockTimeAt }
  let txid: string | undefined
  return {
    get txid() {
      txid ??= txidOf(parts)
      return txid
    },
    inputs,
    outputs,
    isHogEx,
    isMwebOnly,
  }
}

/** The spent output; null for a coinbase, which spends none. */
function readInput(cursor: Cursor): Outpoint | null {
  const at = cursor.skip(36)
  cursor.skip(cursor.size())
  cursor.skip(4)
  const index = cursor.bytes.readUInt32LE(at + 32)
  if (index === 0xffff_ffff) return null
  return { txid: displayedHash(cursor.bytes, at), index }
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

/** Where the parts of a transaction are that its txid covers. */
interface Parts {
  readonly bytes: Buffer
  readonly from: number
  readonly bodyFrom: number
  readonly bodyTo: number
  readonly lockTimeAt: number
}

/** The txid covers version, inputs, outputs and lock time, without marker, flags and what they announce (BIP-141). */
function txidOf({ bytes, from, bodyFrom, bodyTo, lockTimeAt }: Parts): string {
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

const turned = Buffer.alloc(32)

/** The 32 bytes at `at`, in the byte order that nodes show. */
export function displayedHash(bytes: Buffer, at: number): string {
  bytes.copy(turned, 0, at, at + 32)
  return turned.reverse().toString('hex')
}
