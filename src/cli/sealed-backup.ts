/** A backup in one file, or on standard output, encrypted to whom it is for: nothing of it is on a disk in the clear. */
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { conflict, OutsideFailure } from '../core/errors.ts'
import { ifThere, syncPath } from '../core/files.ts'
import type { Database } from '../db/database.ts'
import { readBackupStream, writeBackupStream } from './backup-stream.ts'
import { endInput, isEncrypted, openDecryption, openEncryption } from './encryption.ts'
import { withScratch } from './scratch.ts'

/** What stands for standard input or output. */
export const STANDARD = '-'

/**
 * The file is there when all of it is, synced to the disk; before that it is called `.part`.
 *
 * @param target - A new file, or {@link STANDARD}.
 * @param recipients - In the clear when there are none: for a command behind that encrypts.
 * @returns The signer's files that were there.
 * @throws {Refusal} `file_exists`. {OutsideFailure} when the encryption failed; nothing is kept.
 */
export async function writeSealedBackup(
  db: Database,
  dataDir: string,
  target: string,
  recipients: readonly string[],
): Promise<string[]> {
  if (target === STANDARD) return seal(db, dataDir, process.stdout, recipients, false)
  const path = resolve(target)
  if ((await ifThere(stat(path))) !== null)
    throw conflict('file_exists', `${path} is there already; name one that is not there`)
  await mkdir(dirname(path), { recursive: true })
  const draft = `${path}.part`
  const file = createWriteStream(draft, { mode: 0o600 })
  try {
    const saved = await seal(db, dataDir, file, recipients, true)
    await finished(file)
    await syncPath(draft)
    await rename(draft, path)
    await syncPath(dirname(path))
    return saved
  } catch (error) {
    file.destroy()
    // A file that is still being opened would be there again afterwards.
    await finished(file).catch(() => {})
    await rm(draft, { force: true })
    throw error
  }
}

async function seal(
  db: Database,
  dataDir: string,
  out: Writable,
  recipients: readonly string[],
  end: boolean,
): Promise<string[]> {
  if (recipients.length === 0) {
    const saved = await writeBackupStream(db, dataDir, out)
    if (end) out.end()
    return saved
  }
  const cipher = openEncryption(recipients)
  const flowing = pipeline(cipher.output, out, { end })
  flowing.catch(() => cipher.abort())
  try {
    const saved = await Promise.race([
      writeBackupStream(db, dataDir, cipher.input),
      // Its end before its input's is a failure.
      cipher.done.then(() => new Promise<never>(() => {})),
    ])
    await endInput(cipher.input)
    await Promise.all([cipher.done, flowing])
    return saved
  } catch (error) {
    // One that closed its input says itself why.
    if (!cipher.input.destroyed) cipher.abort()
    await flowing.catch(() => {})
    await cipher.done
    throw out.errored && isOfTheDisk(out.errored) ? whyNotKept(out.errored) : error
  }
}

/**
 * Opens a backup, whatever form it has, for as long as somebody reads its folder.
 *
 * @param source - A folder of `beck backup`, a file, or {@link STANDARD}.
 * @param identity - The file of age's key that opens it.
 */
export async function withBackupFolder<Result>(
  source: string,
  identity: string | undefined,
  read: (folder: string) => Promise<Result>,
): Promise<Result> {
  if (source !== STANDARD && (await ifThere(stat(source)))?.isFile() !== true) return read(source)
  return withScratch('beck-backup-', async (scratch) => {
    const folder = join(scratch, 'backup')
    await unseal(source === STANDARD ? process.stdin : createReadStream(source), identity, folder)
    return read(folder)
  })
}

async function unseal(stream: Readable, identity: string | undefined, folder: string): Promise<void> {
  const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const first = await pieces.next()
  const start: Buffer = first.done ? Buffer.alloc(0) : first.value
  const whole = (async function* () {
    yield start
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value
  })()
  // What is neither is told by whoever reads it.
  if (!isEncrypted(start)) return readBackupStream(whole, folder)
  const cipher = openDecryption(identity)
  const feeding = pipeline(whole, cipher.input)
  feeding.catch(() => {})
  try {
    await readBackupStream(cipher.output, folder)
  } catch (error) {
    // Where it ended before we did, what the program says, as of a wrong key, is the better word.
    if (!cipher.output.readableEnded) {
      cipher.abort()
      cipher.output.destroy()
    }
    await cipher.done
    throw error
  }
  await cipher.done
}

/** What a disk says, in a sentence; any other error is itself. */
export const whyNotKept = (error: unknown): unknown =>
  isOfTheDisk(error)
    ? new OutsideFailure(`the backup could not be written (${error.message}); nothing of it was kept`, {
        cause: error,
        retryable: true,
      })
    : error

const isOfTheDisk = (error: unknown): error is Error =>
  error instanceof Error && 'syscall' in error && 'code' in error && 'errno' in error
