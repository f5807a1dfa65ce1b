/**
 * `beck backup` and `beck restore`: the database at one instant, and the signer's journal as it was right after, so that
 * the journal knows all that the database does. Keys are not in it: the 24 words and BECK_SECRET_KEY are kept elsewhere.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { copyFile, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { Config } from '../config.ts'
import { Refusal } from '../core/errors.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Database, Tx } from '../db/database.ts'
import { dumpDatabase, loadDatabase } from '../db/dump.ts'
import { afterRestore } from '../flows/after-restore.ts'
import type { Store } from '../store.ts'
import { currentWallets } from '../wallets/wallets.sql.ts'
import type { Terminal } from './terminal.ts'
import { withStore } from './tool.ts'

const DATABASE_FILE = 'database.jsonl.gz'
/** The signer's own, in its directory and in the backup alike. */
const SIGNER_FILES = ['journal', 'allowlist.json'] as const

/** Works beside a running server. */
export async function backUp(terminal: Terminal, folder: string): Promise<void> {
  const copied = await withStore(async ({ db }, config) => writeBackup(db, config.dataDir, folder))
  const hasJournal = copied.includes('journal')
  terminal.answer({ folder, files: [DATABASE_FILE, ...copied] }, [
    `The database${hasJournal ? " and the signer's journal are" : ' is'} in ${folder}.`,
    ...(hasJournal
      ? []
      : ["There is no signer's journal in this data directory: back it up where the signer runs."]),
    'Not in it, and to be kept apart: the 24 words, and BECK_SECRET_KEY or secret.key of the data directory.',
  ])
}

/** @returns The signer's files that were there. */
export async function writeBackup(db: Database, dataDir: string, folder: string): Promise<string[]> {
  const draft = `${folder}.part`
  await rm(draft, { recursive: true, force: true })
  await mkdir(dirname(draft), { recursive: true })
  await mkdir(draft, { mode: 0o700 })
  const gzip = createGzip()
  const written = pipeline(gzip, createWriteStream(join(draft, DATABASE_FILE), { mode: 0o600 }))
  await dumpDatabase(db, async (line) => {
    if (!gzip.write(`${line}\n`)) await new Promise((resolve) => gzip.once('drain', resolve))
  })
  gzip.end()
  await written
  const copied: string[] = []
  for (const file of SIGNER_FILES)
    if (await copyIfThere(join(dataDir, 'signer', file), join(draft, file))) copied.push(file)
  for (const file of [DATABASE_FILE, ...copied]) await sync(join(draft, file))
  await rename(draft, folder).catch((cause) => {
    throw new Refusal(
      'conflict',
      'folder_exists',
      `${folder} is not empty; a backup gets a folder of its own`,
      [{ field: 'folder', message: String(cause.code) }],
    )
  })
  return copied
}

/** Into an empty database, on a machine that has the secret key and may have the keystore already. */
export async function restore(terminal: Terminal, folder: string): Promise<void> {
  const frozen = await withStore((store, config) => readBackup(store, config, folder), { migrated: false })
  terminal.answer({ folder, frozen }, [
    `Restored from ${folder}.`,
    '',
    `Nothing of ${frozen.join(', ')} is paid out yet: what was paid after the backup is not known here.`,
    '  1. If the keystore is lost too: beck wallet init --restore, with the 24 words.',
    '  2. Start Beck. It catches up with every chain.',
    '  3. Wait until whatever was sent before the loss is confirmed; then: beck reconcile.',
    '  4. Where the books agree: beck reconcile --unfreeze. Where they do not, it names what left or arrived.',
  ])
}

/** @returns The coins that pay nothing out until the operator has looked. */
export async function readBackup(
  store: Pick<Store, 'db' | 'secrets'>,
  config: Pick<Config, 'dataDir'>,
  folder: string,
  options: Parameters<typeof afterRestore>[2] = {},
): Promise<string[]> {
  for (const file of SIGNER_FILES)
    await requireNoneOrLonger(join(folder, file), join(config.dataDir, 'signer', file))
  const lines = createInterface({
    input: createReadStream(join(folder, DATABASE_FILE)).pipe(createGunzip()),
    crlfDelay: Number.POSITIVE_INFINITY,
  })
  const madeAt = await loadDatabase(store.db, lines, (tx) => requireSameSecret(tx, store.secrets))
  const frozen = await afterRestore(store, madeAt, options)
  await mkdir(join(config.dataDir, 'signer'), { recursive: true, mode: 0o700 })
  for (const file of SIGNER_FILES) {
    const place = join(config.dataDir, 'signer', file)
    if ((await readIfThere(place)) !== null) continue
    if (await copyIfThere(join(folder, file), place)) await sync(place)
  }
  return frozen
}

/** Another BECK_SECRET_KEY would show only when the first buyer pays. */
async function requireSameSecret(tx: Tx, secrets: Secrets): Promise<void> {
  await currentWallets(tx, secrets).catch(() => {
    throw new Refusal(
      'conflict',
      'other_secret_key',
      'the backup was made under another BECK_SECRET_KEY; set that one, or put its secret.key into the data directory',
    )
  })
}

/** A journal that survived knows more than its backup, and is kept; another one is none of ours to touch. */
async function requireNoneOrLonger(backup: string, place: string): Promise<void> {
  const [saved, present] = [await readIfThere(backup), await readIfThere(place)]
  const ends = saved?.lastIndexOf(0x0a) ?? -1
  if (present === null || saved === null || present.subarray(0, ends + 1).equals(saved.subarray(0, ends + 1)))
    return
  throw new Refusal(
    'conflict',
    'other_journal',
    `${place} is not the one that this backup was made beside; move it away if it belongs to another Beck`,
  )
}

async function copyIfThere(from: string, to: string): Promise<boolean> {
  return copyFile(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
}

async function readIfThere(path: string): Promise<Buffer | null> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r+')
  await file.sync()
  await file.close()
}
