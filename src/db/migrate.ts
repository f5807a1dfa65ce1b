/**
 * Forward-only migrations: `migrations/NNNN-name.sql`, each run once, in order, in a transaction of its own; those that make
 * an empty database in one. Two processes that start at once take turns on a lock, so each file runs exactly once. Others go
 * on working meanwhile, on the version before: docs/internals/releases.md says what a migration may do.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { conflict, invariant, unavailable } from '../core/errors.ts'
import { pause } from '../core/pause.ts'
import { MINUTE_MS, SECOND_MS } from '../core/time.ts'
import { isOlder, VERSION } from '../core/version.ts'
import {
  hasTable,
  listApplied,
  type Migration,
  refuseEdited,
  refuseNewer,
  versionNeeded,
} from './applied-migrations.ts'
import type { Database, Tx } from './database.ts'
import { sqlState } from './failures.ts'
import { grantRoles } from './grants.ts'
import { ALIVE_MS, listRunning } from './running-roles.ts'
import { INSUFFICIENT_PRIVILEGE, LOCK_NOT_AVAILABLE } from './sqlstate.ts'

const FOLDER = new URL('./migrations/', import.meta.url)
const FILE_NAME = /^(\d{4})-[a-z0-9-]+\.sql$/

export async function readMigrations(folder: URL = FOLDER): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async (name) => {
      invariant(FILE_NAME.test(name), `a migration is named NNNN-what-it-does.sql, got ${name}`)
      const sql = await readFile(new URL(name, folder), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

/**
 * Brings the schema up to date.
 *
 * @returns The names of the migrations that ran now.
 * @throws {Refusal} `database_differs` when a migration that ran is another one here; `database_is_newer` when one ran that is not known here; `program_is_older` and `older_beck_runs` before one that takes something away; `unfinished_restore`; `not_permitted`.
 */
export async function migrate(db: Database, migrations?: readonly Migration[]): Promise<string[]> {
  const ran = await runPermitted(db, migrations ?? (await readMigrations()))
  // After waiting for a restore that was under way.
  const madeAt = await findUnfinishedRestore(db)
  if (madeAt !== null) {
    throw conflict(
      'unfinished_restore',
      `the restore of the backup of ${madeAt} into this database was cut off before its coins were frozen; run npx beck restore with that folder again`,
    )
  }
  return ran
}

async function runPermitted(db: Database, migrations: readonly Migration[]): Promise<string[]> {
  try {
    const ran = await runMigrations(db, migrations)
    await openToRoles(db, migrations)
    return ran
  } catch (error) {
    if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error
    throw unavailable(
      'not_permitted',
      `the user of DATABASE_URL may not make tables (${error instanceof Error ? error.message : ''}); run npx beck migrate as the schema's owner, or grant him create and usage on it`,
    )
  }
}

/** What a migrated database is short of before the server and the signer, as users of their own, can work with it. */
export async function openToRoles(db: Database, migrations: readonly Migration[]): Promise<void> {
  await grantRoles(db, migrations)
  await compileNothing(db)
}

/**
 * Statements here are short, and compiling one takes longer than running it a hundred times; the planner thinks otherwise of
 * tables that it has no figures of yet. For connections from now on; who does not own the database leaves it as it is, and
 * of two who say it at once one suffices.
 */
async function compileNothing(db: Database): Promise<void> {
  await db.query(`do $$ begin
    if current_setting('jit') = 'on' then
      execute format('alter database %I set jit = off', current_database());
    end if;
  exception when insufficient_privilege or internal_error then null;
  end $$`)
}

/** When the backup was made whose restore is not finished; null for none. The table is there for so long only. */
export async function findUnfinishedRestore(db: Database): Promise<string | null> {
  if (!(await hasTable(db, 'unfinished_restore'))) return null
  const { rows } = await db.query<{ made_at: string }>('select made_at from unfinished_restore')
  return rows[0]?.made_at ?? null
}

/** The same, whether a restore is under way or not. */
export async function runMigrations(db: Database, wanted: readonly Migration[]): Promise<string[]> {
  if (await isUpToDate(db, wanted)) return []
  await db.transaction(makeItsTable, { ifCommitted: async () => undefined })

  // Before anything runs: a database that was made otherwise is left as it is.
  const before = await listApplied(db)
  for (const migration of wanted) refuseEdited(migration, before)
  // Nobody works with the tables of an empty database: one commit makes them all, or none.
  const steps = before.length === 0 ? [wanted] : wanted.map((migration) => [migration])
  const ran: string[] = []
  for (const step of steps) ran.push(...(await runWhenFree(db, step)))
  refuseNewer(await listApplied(db), wanted)
  return ran
}

/**
 * `if not exists` says whether it is there, not whether somebody else is making it: of two at once, one would meet a
 * duplicate in whichever catalogue he comes to second.
 */
async function makeItsTable(tx: Tx): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('schema_migrations', 0))`)
  await tx.query(`create table if not exists schema_migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now(), needs_version text)`)
}

/** Asked first, for a server's own user may make no tables. */
async function isUpToDate(db: Database, wanted: readonly Migration[]): Promise<boolean> {
  if (!(await hasTable(db, 'schema_migrations'))) return false
  const applied = await listApplied(db)
  const checksums = new Map(applied.map(({ name, checksum }) => [name, checksum]))
  if (wanted.some(({ name, checksum }) => checksums.get(name) !== checksum)) return false
  refuseNewer(applied, wanted)
  return true
}

/**
 * Everybody who wants a table waits behind the migration that waits for it. So it gives up after this, lets them pass, and
 * comes again.
 */
const LOCK_WAIT_MS = 500
const LOCK_PATIENCE_MS = 10 * MINUTE_MS

/** Runs migrations in one transaction. @returns Those that ran now: another process may have been first. */
async function runWhenFree(db: Database, step: readonly Migration[]): Promise<string[]> {
  const deadlineMs = performance.now() + LOCK_PATIENCE_MS
  for (;;) {
    try {
      return await db.transaction((tx) => runOnce(tx, step))
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error
      if (performance.now() > deadlineMs)
        throw unavailable(
          'tables_in_use',
          `a transaction of somebody else holds a table that ${step.map(({ name }) => name).join(', ')} changes, for ${LOCK_PATIENCE_MS / MINUTE_MS} minutes now; end it (pg_stat_activity names it) and run npx beck migrate again`,
        )
      await pause(LOCK_WAIT_MS)
    }
  }
}

async function runOnce(tx: Tx, step: readonly Migration[]): Promise<string[]> {
  await tx.query('lock table schema_migrations in share row exclusive mode')
  const applied = await listApplied(tx)
  for (const migration of step) refuseEdited(migration, applied)
  const known = new Set(applied.map(({ name }) => name))
  const due = step.filter(({ name }) => !known.has(name))
  for (const migration of due) {
    const needed = versionNeeded(migration)
    if (needed !== null) await refuseBesideOlder(tx, migration.name, needed)
    await tx.query(`set local lock_timeout = ${LOCK_WAIT_MS}`)
    await tx.query(migration.sql)
    await tx.query('insert into schema_migrations (name, checksum, needs_version) values ($1, $2, $3)', [
      migration.name,
      migration.checksum,
      needed,
    ])
  }
  return due.map(({ name }) => name)
}

/** What a migration that contracts the tables takes away, nobody who runs may need. What ended in order is not among them, nor what is long silent. */
async function refuseBesideOlder(tx: Tx, name: string, needed: string): Promise<void> {
  if (isOlder(VERSION, needed))
    throw conflict(
      'program_is_older',
      `${name} takes away what a Beck before ${needed} works with, and this is ${VERSION}: these files are of no release; install one`,
    )
  const older = (await listRunning(tx)).filter(({ version }) => isOlder(version, needed))
  if (older.length === 0) return
  const named = older.map(({ role, version, host }) => `${role} ${version} on ${host}`).join(', ')
  throw conflict(
    'older_beck_runs',
    `${name} takes away what a Beck before ${needed} works with, and there runs: ${named}. Stop these, or upgrade them to ${needed} first, ` +
      `and run npx beck migrate again; one that was killed counts for ${ALIVE_MS / SECOND_MS} seconds more`,
  )
}
