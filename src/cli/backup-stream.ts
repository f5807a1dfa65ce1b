/**
 * A backup as one stream, and back: each file in pieces, behind a line that says whose and how long, and a last line that
 * says that it is whole. So nothing needs to be known before it is written, and what was cut off is known as such.
 */
import { once } from 'node:events'
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { createGzip, type Gzip } from 'node:zlib'
import { OutsideFailure } from '../core/errors.ts'
import { ifThere } from '../core/files.ts'
import type { Database } from '../db/database.ts'
import { dumpDatabase, notABackup } from '../db/dump.ts'
import { SIGNER_FILES, signerFile } from './signer-files.ts'

export const DATABASE_FILE = 'database.jsonl.gz'
const HEAD = 'beck-backup-1\n'
const END = 'end\n'
const LINE_BYTES_MAX = 100
const FILES: readonly string[] = [DATABASE_FILE, ...SIGNER_FILES]

/**
 * The database at one instant, and the signer's files as they are right after.
 *
 * @returns The signer's files that were there.
 */
export async function writeBackupStream(db: Database, dataDir: string, out: Writable): Promise<string[]> {
  await write(out, HEAD)
  const gzip = createGzip()
  const framed = writeFrames(gzip, DATABASE_FILE, out)
  framed.catch(() => gzip.destroy())
  await dumpInto(db, gzip, framed)
  const saved: string[] = []
  for (const file of SIGNER_FILES) {
    const frames = writeFrames(createReadStream(signerFile(dataDir, file)), file, out)
    if ((await ifThere(frames.then(() => true))) === true) saved.push(file)
  }
  await write(out, END)
  return saved
}

/**
 * The database, packed, for whoever takes it from there.
 *
 * @param taken - Ends when all that the packer gives has been taken.
 */
export async function dumpInto(db: Database, gzip: Gzip, taken: Promise<void>): Promise<void> {
  // Its failure shows at the next line, or at the end.
  taken.catch(() => {})
  try {
    await dumpDatabase(db, async (line) => {
      if (!gzip.write(`${line}\n`)) await Promise.race([once(gzip, 'drain'), taken])
    })
  } catch (error) {
    gzip.destroy()
    // What broke the file, not what followed from it.
    await taken.catch((cause) => {
      throw cause.code === 'ERR_STREAM_PREMATURE_CLOSE' ? error : cause
    })
    throw error
  }
  gzip.end()
  await taken
}

async function writeFrames(from: Readable, name: string, out: Writable): Promise<void> {
  for await (const piece of from as AsyncIterable<Buffer>) {
    await write(out, `${name} ${piece.length}\n`)
    await write(out, piece)
  }
}

async function write(out: Writable, piece: string | Buffer): Promise<void> {
  // One that closed already never says so again.
  if (!out.destroyed && !out.write(piece))
    await Promise.race([once(out, 'drain'), once(out, 'close')]).catch(() => {})
  if (!out.destroyed) return
  const cause = out.errored
  throw new OutsideFailure(
    cause ? `the backup cannot be written: ${cause.message}` : 'the backup is read no further',
    { retryable: true, ...(cause ? { cause } : {}) },
  )
}

/**
 * Puts the files of a stream into a new folder.
 *
 * @throws {Refusal} `not_a_backup` when it is none, or was cut off.
 */
export async function readBackupStream(stream: AsyncIterable<Buffer>, folder: string): Promise<void> {
  const reader = openReader(stream)
  if ((await reader.line()) !== HEAD) throw notABackup('it does not begin as one')
  await mkdir(folder, { mode: 0o700 })
  const files = new Map<string, { readonly stream: WriteStream; readonly ended: Promise<void> }>()
  try {
    for (;;) {
      const line = await reader.line()
      if (line === END) break
      const [, name = '', length = ''] = /^(\S+) (\d{1,9})\n$/.exec(line) ?? []
      if (!FILES.includes(name)) throw notABackup('it was cut off, or is damaged')
      const file = files.get(name) ?? openFile(join(folder, name))
      files.set(name, file)
      await reader.bytes(Number(length), (piece) => write(file.stream, piece))
    }
    for (const { stream, ended } of files.values()) {
      stream.end()
      await ended
    }
  } finally {
    for (const { stream } of files.values()) stream.destroy()
    await Promise.allSettled(Array.from(files.values(), ({ ended }) => ended))
  }
}

/** How it ended is known from the beginning on: a full disk closes it before anybody waits for that. */
function openFile(path: string): { readonly stream: WriteStream; readonly ended: Promise<void> } {
  const stream = createWriteStream(path, { mode: 0o600, flags: 'wx' })
  const ended = finished(stream)
  ended.catch(() => {})
  return { stream, ended }
}

/** What comes as it comes, cut where the frames are. */
function openReader(stream: AsyncIterable<Buffer>) {
  const pieces = stream[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  const more = async (): Promise<void> => {
    const next = await pieces.next()
    if (next.done) throw notABackup('it was cut off')
    rest = rest.length === 0 ? next.value : Buffer.concat([rest, next.value])
  }
  return {
    async line(): Promise<string> {
      let end = rest.indexOf(0x0a)
      while (end < 0) {
        if (rest.length > LINE_BYTES_MAX) throw notABackup('it is damaged')
        await more()
        end = rest.indexOf(0x0a)
      }
      const line = rest.subarray(0, end + 1).toString('latin1')
      rest = rest.subarray(end + 1)
      return line
    },
    async bytes(count: number, take: (piece: Buffer) => Promise<void>): Promise<void> {
      for (let missing = count; missing > 0; ) {
        if (rest.length === 0) await more()
        const piece = rest.subarray(0, missing)
        rest = rest.subarray(piece.length)
        missing -= piece.length
        await take(piece)
      }
    },
  }
}
