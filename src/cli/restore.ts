/** `beck restore`: a gateway from its backup, which pays nothing out before its operator has looked. */
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { Config } from '../config/config.ts'
import type { Store } from '../config/store.ts'
import { conflict, messageOf } from '../core/errors.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Database, Tx } from '../db/database.ts'
import { loadDatabase, notABackup } from '../db/dump.ts'
import { beginEra, beginEraAfter, readArrow } from '../db/time-arrow.sql.ts'
import { BACKGROUND_TIME_FILE, openTimeMemory, RESTORE_TIME_FILE, TIME_FILE } from '../db/time-arrow.ts'
import { afterRestore, type RestoreOptions } from '../flows/recovery/after-restore.ts'
import { currentWallets } from '../wallets/wallets.sql.ts'
import { DATABASE_FILE } from './backup-stream.ts'
import { recordCommand } from './record-command.ts'
import { withBackupFolder } from './sealed-backup.ts'
import { putBackSignerFiles } from './signer-files.ts'
import type { Terminal } from './terminal.ts'
import { inTransaction, migrateRecorded, withStore } from './tool.ts'

/** Into an empty database, on a machine that has the secret key and may have the keystore already. */
export async function restore(
  terminal: Terminal,
  folder: string,
  given: { identity?: string } = {},
): Promise<void> {
  const frozen = await withStore(
    async (store, config) => {
      const { frozen, migrations } = await withBackupFolder(folder, given.identity, (opened) =>
        readBackup(store, config, opened),
      )
      await store.db.transaction(async (tx) => {
        await recordCommand(tx, { action: 'backup.restore', subject: folder })
        if (migrations.length > 0)
          await recordCommand(tx, { action: 'database.migrate', after: { migrations } })
      })
      return frozen
    },
    { migrated: false },
  )
  terminal.answer({ folder, frozen }, [`Restored from ${folder}.`, '', ...nextSteps(frozen)])
}

/**
 * `beck restored`, after a restore that was not `beck restore`'s: by PostgreSQL's own means, from a copy of its disk, or
 * the promotion of a replica. The database itself can not tell that it lost something.
 *
 * @throws {Refusal} `server_running`: what it knows of nonces and fresh addresses would be used meanwhile.
 */
export async function declareRestored(terminal: Terminal): Promise<void> {
  const frozen = await withStore(
    async (store, config) => {
      await requireNoServer(store.db)
      await migrateRecorded(store.db)
      await store.db.transaction((tx) => recordCommand(tx, { action: 'database.restored' }))
      const frozen = await afterRestore(store, null)
      await beginUnheardOfEra(store.db, config.dataDir)
      return frozen
    },
    { migrated: false },
  )
  terminal.answer({ frozen }, ['Taken as a restored database.', '', ...nextSteps(frozen)])
}

/**
 * `beck resume`, when Beck stopped because its database lost commits and the operator has looked at what is gone: quotes are
 * given again. Coins stay frozen until their books agree.
 *
 * @throws {Refusal} `nothing_stopped`; `not_safe_yet` while no server has frozen coins and withheld addresses.
 */
export async function resume(terminal: Terminal): Promise<void> {
  const stopped = await inTransaction(async (tx) => {
    const arrow = await readArrow(tx)
    if (!arrow?.stopped)
      throw conflict('nothing_stopped', 'the database lost nothing that anybody remembers; all goes on')
    if (!(await beginEra(tx)))
      throw conflict(
        'not_safe_yet',
        'coins are not frozen and addresses not withheld yet; start Beck, and try again in a moment',
      )
    await recordCommand(tx, { action: 'database.resume', subject: arrow.stopped })
    return arrow.stopped
  })
  terminal.answer({ stopped }, [
    `Goes on, although ${stopped}.`,
    'Live coins stay frozen until their books agree: npx beck reconcile, then npx beck reconcile --unfreeze.',
  ])
}

const nextSteps = (frozen: readonly string[]): string[] => [
  `Nothing of ${frozen.join(', ')} is paid out yet: what was paid after the backup is not known here.`,
  '  1. If the keystore is lost too: npx beck wallet init --restore, with the 24 words.',
  '  2. Start Beck. It catches up with every chain.',
  '  3. Wait until whatever was sent before the loss is confirmed; then: npx beck reconcile.',
  '  4. Where the books agree: npx beck reconcile --unfreeze, until it exits with 0. Where they do not, it names what left or arrived.',
]

/** Servers and signers show by their connections, unless a pooler stands between. */
async function requireNoServer(db: Database): Promise<void> {
  const { rowCount } = await db.query(
    // Of other users' connections this one may not see what they are: they count.
    `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
       and (application_name in ('beck', 'beck-signer') or query = '<insufficient privilege>')`,
  )
  if (rowCount > 0)
    throw conflict(
      'server_running',
      'Beck runs on this database; stop every server, worker and signer, and then: npx beck restored',
    )
}

/**
 * Cut off at any moment, it leaves an empty database, or one that no Beck starts on until this was called again.
 *
 * @returns The coins that pay nothing out until the operator has looked, the instant that the backup shows, and the migrations
 *   that brought it up to date.
 * @throws {Refusal} `not_a_backup`, `database_not_empty`, `database_is_newer`, `other_secret_key`, `other_journal`.
 */
export async function readBackup(
  store: Pick<Store, 'db' | 'secrets'>,
  config: Pick<Config, 'dataDir'>,
  folder: string,
  options: RestoreOptions = {},
): Promise<{ frozen: string[]; madeAt: Date; migrations: readonly string[] }> {
  return loadDatabase(store.db, linesOf(join(folder, DATABASE_FILE)), {
    async check(tx) {
      await requireSameSecret(tx, store.secrets)
      // Before the rows are: without its journal a signer could sign a second time for what they say is unpaid.
      await putBackSignerFiles(folder, config.dataDir)
    },
    async finish(madeAt, migrations) {
      const frozen = await afterRestore(store, madeAt, options)
      await beginUnheardOfEra(store.db, config.dataDir)
      return { frozen, madeAt, migrations }
    },
  })
}

/** Files of this machine that remember an era: the servers', the signer's, and that of the restores before this one. */
const REMEMBERING = [TIME_FILE, BACKGROUND_TIME_FILE, join('signer', TIME_FILE), RESTORE_TIME_FILE]

/** Above every era that a process of this machine remembers: to each of them it is a database that was looked at. */
async function beginUnheardOfEra(db: Database, dataDir: string): Promise<void> {
  const memories = await Promise.all(REMEMBERING.map((file) => openTimeMemory(join(dataDir, file))))
  await beginEraAfter(db, Math.max(1, ...memories.map(({ seen }) => seen?.era ?? 1)))
  // For the next restore: those that live with this era may remember it elsewhere.
  const arrow = await readArrow(db)
  if (arrow) await memories.at(-1)?.remember(arrow)
}

/** Another BECK_SECRET_KEY would show only when the first buyer pays. */
async function requireSameSecret(tx: Tx, secrets: Secrets): Promise<void> {
  await currentWallets(tx, secrets).catch(() => {
    throw conflict(
      'other_secret_key',
      'the backup was made under another BECK_SECRET_KEY; set that one, or put its secret.key into the data directory',
    )
  })
}

/** @throws {Refusal} `not_a_backup` when the file is not there, or not whole. */
async function* linesOf(path: string): AsyncGenerator<string> {
  const text = createGunzip().setEncoding('utf8')
  // What goes wrong shows where it is read.
  pipeline(createReadStream(path), text).catch(() => {})
  let parts: string[] = []
  try {
    for await (const chunk of text) {
      const [first = '', ...others] = String(chunk).split('\n')
      parts.push(first)
      for (const part of others) {
        yield parts.join('')
        parts = [part]
      }
    }
  } catch (error) {
    throw notABackup(`${path}: ${messageOf(error)}`)
  }
}
