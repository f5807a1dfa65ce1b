/**
 * Where in the journal is what: a sorted table beside it, so that opening the journal reads its last rows alone and
 * nothing of the past is kept in memory. It says nothing that the journal does not say: a table that is missing or
 * damaged is made again.
 *
 * The file: records of 28 bytes, sorted (16 bytes of a key's SHA-256, where its row starts, how long it is), then the
 * foot as JSON, 32 bytes of SHA-256 over all before, and the length of the foot.
 */
import { createHash, type Hash, hash } from 'node:crypto'
import { type FileHandle, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ifThere, syncPath } from '../core/files.ts'

/** Where a row is in the journal. */
export interface ByteRange {
  readonly start: number
  readonly length: number
}

/** What is known of the journal up to where the table ends. */
export interface IndexFoot {
  /** Bytes of the journal that are in the table, the last row's check digits, and how many rows they are. */
  readonly end: number
  readonly check: string
  readonly rows: number
  /** How long each sequence of keys is; see {@link sequenceKey}. */
  readonly sequences: Readonly<Record<string, number>>
  /** Atoms that left within the last day before. */
  readonly left: readonly (readonly [side: string, minute: number, at: number, atoms: string])[]
}

export interface JournalIndex {
  readonly foot: IndexFoot
  /** The ranges under a key, in the order of the journal. */
  find(key: string): Promise<ByteRange[]>
  close(): Promise<void>
}

const RECORD = 28
const KEY = 16
const BLOCK_RECORDS = 1_024
const BLOCK = RECORD * BLOCK_RECORDS
const DIGEST = 32
/** Digest and the length of the foot. */
const TAIL = DIGEST + 4

/** The key of the n-th row of a kind, counted from 0. */
export const sequenceKey = (sequence: string, number: number): string => `${sequence} ${number}`

/** @returns Null when there is none, or none that is whole. */
export async function openIndex(path: string): Promise<JournalIndex | null> {
  const file = await ifThere(open(path, 'r'))
  if (!file) return null
  const table = await readTable(file)
  if (table) return table
  await file.close()
  return null
}

async function readTable(file: FileHandle): Promise<JournalIndex | null> {
  const { size } = await file.stat()
  if (size < TAIL) return null
  const tail = await readAt(file, size - TAIL, TAIL)
  const footLength = tail.readUInt32BE(DIGEST)
  const recordsEnd = size - TAIL - footLength
  if (recordsEnd < 0 || recordsEnd % RECORD !== 0) return null
  // The first bytes of each block's first key: a look-up then reads one block.
  const firsts = new BigUint64Array(Math.ceil(recordsEnd / BLOCK))
  const digest = createHash('sha256')
  for (let at = 0; at < recordsEnd; at += BLOCK) {
    const block = await readAt(file, at, Math.min(BLOCK, recordsEnd - at))
    firsts[at / BLOCK] = block.readBigUInt64BE(0)
    digest.update(block)
  }
  const foot = await readAt(file, recordsEnd, footLength)
  if (!digest.update(foot).digest().equals(tail.subarray(0, DIGEST))) return null
  return {
    foot: JSON.parse(foot.toString('utf8')),
    find: (key) => findIn(file, firsts, recordsEnd, hashOf(key)),
    close: () => file.close(),
  }
}

async function findIn(
  file: FileHandle,
  firsts: BigUint64Array,
  recordsEnd: number,
  key: Buffer,
): Promise<ByteRange[]> {
  const first = key.readBigUInt64BE(0)
  // The last block that begins below the key may hold the first of its records.
  let [low, high] = [0, firsts.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((firsts[middle] ?? 0n) < first) low = middle + 1
    else high = middle
  }
  const ranges: ByteRange[] = []
  for (let number = Math.max(0, low - 1); number < firsts.length; number++) {
    if ((firsts[number] ?? 0n) > first) break
    const block = await readAt(file, number * BLOCK, Math.min(BLOCK, recordsEnd - number * BLOCK))
    for (let at = lowerBound(block, key); at < block.length; at += RECORD) {
      if (key.compare(block, at, at + KEY) !== 0) break
      ranges.push({
        start: Number(block.readBigUInt64BE(at + KEY)),
        length: block.readUInt32BE(at + KEY + 8),
      })
    }
  }
  return ranges
}

/** Where in sorted records the first one that is not below some bytes is. */
function lowerBound(records: Buffer, bytes: Buffer, from = 0): number {
  let [low, high] = [from / RECORD, records.length / RECORD]
  while (low < high) {
    const middle = (low + high) >>> 1
    const at = middle * RECORD
    if (bytes.compare(records, at, at + bytes.length) > 0) low = middle + 1
    else high = middle
  }
  return low * RECORD
}

/**
 * Replaces the table at a path by one that knows more; whole and on the disk when it resolves, or the one before.
 *
 * @param added - What the table before does not know.
 */
export async function writeIndex(
  path: string,
  before: JournalIndex | null,
  added: ReadonlyMap<string, readonly ByteRange[]>,
  foot: IndexFoot,
): Promise<JournalIndex> {
  const records = recordsOf(added)
  const file = await open(`${path}.new`, 'w', 0o600)
  const digest = createHash('sha256')
  try {
    await merge(before ? await open(path, 'r') : null, records, (bytes) => append(file, digest, bytes))
    const footBytes = Buffer.from(JSON.stringify(foot))
    await append(file, digest, footBytes)
    const tail = Buffer.alloc(TAIL)
    digest.digest().copy(tail)
    tail.writeUInt32BE(footBytes.length, DIGEST)
    await file.appendFile(tail)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
  await syncPath(dirname(path))
  await before?.close()
  const written = await openIndex(path)
  if (!written)
    throw new Error(`${path} was written and cannot be read: the disk, or another process, changed it`)
  return written
}

async function append(file: FileHandle, digest: Hash, bytes: Buffer): Promise<void> {
  digest.update(bytes)
  await file.appendFile(bytes)
}

/** Writes both in order, block by block of what was there. */
async function merge(
  old: FileHandle | null,
  added: readonly Buffer[],
  write: (bytes: Buffer) => Promise<void>,
): Promise<void> {
  let next = 0
  if (old)
    try {
      const { size } = await old.stat()
      const tail = await readAt(old, size - TAIL, TAIL)
      const recordsEnd = size - TAIL - tail.readUInt32BE(DIGEST)
      for (let start = 0; start < recordsEnd; start += BLOCK) {
        const block = await readAt(old, start, Math.min(BLOCK, recordsEnd - start))
        const pieces: Buffer[] = []
        let at = 0
        for (let record = added[next]; record; record = added[next]) {
          const to = lowerBound(block, record, at)
          if (to === block.length) break
          pieces.push(block.subarray(at, to), record)
          at = to
          next += 1
        }
        await write(Buffer.concat([...pieces, block.subarray(at)]))
      }
    } finally {
      await old.close()
    }
  for (let start = next; start < added.length; start += BLOCK_RECORDS)
    await write(Buffer.concat(added.slice(start, start + BLOCK_RECORDS)))
}

function recordsOf(added: ReadonlyMap<string, readonly ByteRange[]>): Buffer[] {
  const records: Buffer[] = []
  for (const [key, ranges] of added) {
    const bytes = hashOf(key)
    for (const { start, length } of ranges) {
      const record = Buffer.alloc(RECORD)
      bytes.copy(record)
      record.writeBigUInt64BE(BigInt(start), KEY)
      record.writeUInt32BE(length, KEY + 8)
      records.push(record)
    }
  }
  return records.sort(Buffer.compare)
}

const hashOf = (key: string): Buffer => hash('sha256', key, 'buffer').subarray(0, KEY)

async function readAt(file: FileHandle, start: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  const { bytesRead } = await file.read(bytes, 0, length, start)
  return bytes.subarray(0, bytesRead)
}
