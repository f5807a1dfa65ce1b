/**
 * `beck backup`: the database at one instant, and the signer's journal as it was right after, so that the journal knows
 * all that the database does. Keys are not in it: the 24 words and BECK_SECRET_KEY are kept elsewhere.
 */
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { conflict } from '../core/errors.ts'
import { ifThere, syncPath } from '../core/files.ts'
import type { Database } from '../db/database.ts'
import { DATABASE_FILE, dumpInto } from './backup-stream.ts'
import { recordCommand } from './record-command.ts'
import { STANDARD, whyNotKept, writeSealedBackup } from './sealed-backup.ts'
import { saveSignerFiles } from './signer-files.ts'
import type { Terminal } from './terminal.ts'
import { withStore } from './tool.ts'

/**
 * Works beside a running server.
 *
 * @param target - A new folder; with recipients a new file, or `-` for standard output.
 */
export async function backUp(
  terminal: Terminal,
  target: string,
  given: { recipient?: readonly string[] } = {},
): Promise<void> {
  const recipients = given.recipient ?? []
  const isStream = target === STANDARD
  const copied = await withStore(async ({ db }, config) => {
    const files = await (isStream || recipients.length > 0
      ? writeSealedBackup(db, config.dataDir, target, recipients)
      : writeBackup(db, config.dataDir, target))
    // When it is whole: by this monitoring knows how old the newest one is.
    const subject = isStream ? 'a stream' : resolve(target)
    await db.transaction((tx) => recordCommand(tx, { action: 'backup.make', subject }))
    return files
  })
  // Standard output is the backup itself.
  if (isStream) return
  const hasJournal = copied.includes('journal')
  terminal.answer({ folder: target, files: [DATABASE_FILE, ...copied] }, [
    `The database${hasJournal ? " and the signer's journal are" : ' is'} in ${target}.`,
    ...(hasJournal
      ? []
      : ["There is no signer's journal in this data directory: back it up where the signer runs."]),
    'Not in it, and to be kept apart: the 24 words, and BECK_SECRET_KEY or secret.key of the data directory.',
  ])
}

/**
 * The folder is there when all of it is, synced to the disk; before that it is called `.part`.
 *
 * @returns The signer's files that were there.
 * @throws {Refusal} `folder_exists`; `backup_under_way`.
 */
export async function writeBackup(db: Database, dataDir: string, given: string): Promise<string[]> {
  const folder = resolve(given)
  await requireNew(folder)
  const draft = `${folder}.part`
  await makeDraft(draft)
  try {
    await writeDatabase(db, join(draft, DATABASE_FILE))
    const copied = await saveSignerFiles(dataDir, draft)
    for (const file of [DATABASE_FILE, ...copied]) await syncPath(join(draft, file))
    await syncPath(draft)
    await rename(draft, folder)
    await syncPath(dirname(folder))
    return copied
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw whyNotKept(error)
  }
}

async function requireNew(folder: string): Promise<void> {
  const isNew = await ifThere(readdir(folder)).then(
    (names) => names === null || names.length === 0,
    () => false,
  )
  if (!isNew)
    throw conflict(
      'folder_exists',
      `${folder} is there already; a backup gets a folder of its own: name one that is not there`,
    )
}

/** Two backups at once never write into one draft. */
async function makeDraft(draft: string): Promise<void> {
  await mkdir(dirname(draft), { recursive: true })
  await mkdir(draft, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
    throw conflict(
      'backup_under_way',
      `${draft} is there: another backup to this folder is being made, or one was cut off; then remove it and try again`,
    )
  })
}

function writeDatabase(db: Database, path: string): Promise<void> {
  const gzip = createGzip()
  return dumpInto(db, gzip, pipeline(gzip, createWriteStream(path, { mode: 0o600 })))
}
