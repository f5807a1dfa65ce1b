/**
 * A whole database as lines of JSON, and back. It needs no program of PostgreSQL's (the embedded one brings none), and
 * rows come back exactly: numbers of any size, bytes, JSON as it was written.
 */
import { conflict, invalid, OutsideFailure, type Refusal } from '../core/errors.ts'
import { type Migration, ranBeyond } from './applied-migrations.ts'
import type { Database, Tx } from './database.ts'
import { sqlState } from './failures.ts'
import { findUnfinishedRestore, openToRoles, readMigrations, runMigrations } from './migrate.ts'
import { allRows } from './rows.ts'
import { DUPLICATE_TABLE, UNIQUE_VIOLATION } from './sqlstate.ts'

interface Head {
  readonly format: 'beck-dump-1'
  readonly made_at: string
  /** What the database had been migrated to. */
  readonly migrations: readonly { readonly name: string; readonly checksum: string }[]
}
interface Rows {
  readonly table: string
  readonly rows: readonly unknown[]
}

const ROWS_PER_LINE = 500

/**
 * The database at one instant, while it is in use. Its first line says what it is.
 *
 * @throws {OutsideFailure} `retryable` when the connection breaks on the way; what was written by then is no dump.
 */
export async function dumpDatabase(db: Database, write: (line: string) => Promise<void>): Promise<void> {
  const once = onceOnly('the connection to PostgreSQL broke while the backup was read; make it again')
  await db.transaction(async (tx) => {
    once()
    await tx.query('set transaction isolation level repeatable read, read only')
    await beSlow(tx)
    const { rows: migrations } = await tx.query('select name, checksum from schema_migrations order by name')
    const { rows: now } = await tx.query<{ now: Date }>('select now()')
    await write(JSON.stringify({ format: 'beck-dump-1', made_at: now[0]?.now.toISOString(), migrations }))
    for (const { table } of await listTables(tx)) await dumpTable(tx, table, write)
  })
}

/** Lines that were written or read are not there a second time: the transaction must not run again by itself. */
function onceOnly(message: string): () => void {
  let hasBegun = false
  return () => {
    if (hasBegun) throw new OutsideFailure(message, { retryable: true })
    hasBegun = true
  }
}

/** Disks may take their time between two statements. Nobody else waits for these transactions. */
const beSlow = (tx: Tx) => tx.query('set local idle_in_transaction_session_timeout = 0')

async function dumpTable(tx: Tx, table: string, write: (line: string) => Promise<void>): Promise<void> {
  await tx.query(`declare dumped no scroll cursor for select row_to_json(t)::text as row from ${table} t`)
  for (;;) {
    const { rows } = await tx.query<{ row: string }>(`fetch ${ROWS_PER_LINE} from dumped`)
    if (rows.length === 0) break
    await write(`{"table":${JSON.stringify(table)},"rows":[${rows.map(({ row }) => row).join(',')}]}`)
  }
  await tx.query('close dumped')
}

export interface Loading<Done> {
  /** The last word before the rows are committed; by throwing it leaves the database empty. */
  check(tx: Tx): Promise<unknown>
  /**
   * What must be done before anybody works with the rows, once they are up to date. May be done more than once.
   *
   * @param migrations - Those that ran now, after the backup's own.
   */
  finish(madeAt: Date, migrations: readonly string[]): Promise<Done>
}

/**
 * Fills an empty database, all at once or not at all, and brings it up to date. Until `finish` is done no Beck starts on
 * it; cut off before that, it goes on there when it is called again with the same dump.
 *
 * @returns What `finish` did.
 * @throws {Refusal} `database_not_empty`; `not_a_backup`; `database_is_newer` when a newer Beck made it.
 */
export async function loadDatabase<Done>(
  db: Database,
  lines: AsyncIterable<string>,
  { check, finish }: Loading<Done>,
): Promise<Done> {
  const reader = lines[Symbol.asyncIterator]()
  try {
    const first = await reader.next()
    if (first.done) throw notABackup('it is empty')
    const head = readHead(first.value)
    const known = await readMigrations()
    if (!(await isHalfRestored(db, head))) {
      await prepareSchema(db, migrationsOf(head, known))
      await loadRows(db, head, reader, check)
    }
    const ran = await runMigrations(db, known)
    const done = await finish(new Date(head.made_at), ran)
    await openToRoles(db, known)
    // Another restore of the same backup may have come to this as well.
    await db.query('drop table if exists unfinished_restore')
    return done
  } finally {
    await reader.return?.()
  }
}

async function isHalfRestored(db: Database, head: Head): Promise<boolean> {
  const madeAt = await findUnfinishedRestore(db)
  if (madeAt === null || madeAt === head.made_at) return madeAt !== null
  throw conflict(
    'database_not_empty',
    `the database holds half a restore of the backup of ${madeAt}; finish that one, or restore into an empty database`,
  )
}

/** The schema that the dump was made of. */
async function prepareSchema(db: Database, migrations: readonly Migration[]): Promise<void> {
  await runMigrations(db, migrations)
  if (!(await ranBeyond(db, migrations))) return
  throw conflict(
    'database_not_empty',
    `the database was brought further up to date than the backup; ${GIVE_IT_AN_EMPTY_ONE}`,
  )
}

const GIVE_IT_AN_EMPTY_ONE =
  'a backup is restored into an empty database: create one and set DATABASE_URL to it, or set BECK_DATA_DIR to a new folder'

async function loadRows(
  db: Database,
  head: Head,
  reader: AsyncIterator<string>,
  check: Loading<unknown>['check'],
): Promise<void> {
  const once = onceOnly(
    'the connection to PostgreSQL broke while the backup was restored; nothing was kept, restore it again',
  )
  await db.transaction(async (tx) => {
    once()
    await beSlow(tx)
    await beginRestore(tx, head)
    await requireEmpty(tx)
    const tables = await listTables(tx)
    // Rows refer to each other in circles; the references are checked when they are back.
    const references = await takeReferences(tx)
    for (const { table } of tables) await tx.query(`alter table ${table} disable trigger user`)
    // Migrations left rows, and some tables keep theirs by a trigger.
    await tx.query(`truncate ${tables.map(({ table }) => table).join(', ')}`)
    for (let line = await reader.next(); !line.done; line = await reader.next()) {
      const { table, rows } = readRows(line.value)
      const columns = tables.find((each) => each.table === table)?.columns
      if (!columns) throw notABackup(`it has rows of an unknown table ${table}`)
      // Who ran beside the database that was backed up does not run here.
      if (table === 'running_roles') continue
      // The text as it is: JSON.parse would round large numbers.
      await tx.query(
        `insert into ${table} (${columns}) overriding system value
         select ${columns} from json_populate_recordset(null::${table}, $1::json -> 'rows')`,
        [rows.length > 0 ? line.value : '{"rows":[]}'],
      )
    }
    for (const { table } of tables) await tx.query(`alter table ${table} enable trigger user`)
    for (const { table, name, definition } of references)
      await tx.query(`alter table ${table} add constraint ${name} ${definition}`)
    await advanceSequences(tx)
    // Until PostgreSQL has been through them by itself, it would look for a row as in tables of which it knows nothing.
    await tx.query(`analyze ${tables.map(({ table }) => table).join(', ')}`)
    await check(tx)
  })
}

/** First of all: of two restores at once the second waits here, and finds that it is too late. */
async function beginRestore(tx: Tx, { made_at }: Head): Promise<void> {
  await tx.query('create table unfinished_restore (made_at text not null)').catch((error: unknown) => {
    const state = sqlState(error)
    if (state !== DUPLICATE_TABLE && state !== UNIQUE_VIOLATION) throw error
    throw conflict('database_not_empty', `another restore runs here; ${GIVE_IT_AN_EMPTY_ONE}`)
  })
  await tx.query('insert into unfinished_restore values ($1)', [made_at])
  // A Beck that starts meanwhile waits until it can see that row.
  await tx.query('lock table schema_migrations in access exclusive mode')
}

function readRows(line: string): Rows {
  try {
    return JSON.parse(line)
  } catch {
    throw notABackup('one of its lines is damaged')
  }
}

function readHead(line: string): Head {
  try {
    const head: Head = JSON.parse(line)
    if (head.format === 'beck-dump-1') return head
  } catch {
    // Told below.
  }
  throw notABackup('it does not begin as one')
}

export const notABackup = (problem: string): Refusal =>
  invalid('not_a_backup', `this is no backup that Beck can read: ${problem}`)

function migrationsOf(head: Head, known: readonly Migration[]): Migration[] {
  return head.migrations.map(({ name, checksum }) => {
    const migration = known.find((each) => each.name === name && each.checksum === checksum)
    if (migration) return migration
    throw conflict(
      'database_is_newer',
      `the backup was made by another version of Beck (${name} is not known here); restore it with that one, then upgrade`,
    )
  })
}

async function requireEmpty(tx: Tx): Promise<void> {
  const { rowCount } = await tx.query('select from accounts union all select from wallets limit 1')
  if (rowCount > 0)
    throw conflict(
      'database_not_empty',
      `the database holds accounts or wallets already; ${GIVE_IT_AN_EMPTY_ONE}`,
    )
}

/** Every table with its columns as SQL, but the ones that note migrations and a restore. */
const listTables = (tx: Tx): Promise<{ table: string; columns: string }[]> =>
  allRows(
    tx,
    `select c.oid::regclass::text as table, (
       select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_attribute a
       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns
     from pg_class c
     where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
       and c.relname not in ('schema_migrations', 'unfinished_restore')
     order by c.relname`,
  )

async function takeReferences(tx: Tx): Promise<{ table: string; name: string; definition: string }[]> {
  const { rows } = await tx.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
     from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace`,
  )
  for (const { table, name } of rows) await tx.query(`alter table ${table} drop constraint ${name}`)
  return rows
}

async function advanceSequences(tx: Tx): Promise<void> {
  const { rows } = await tx.query<{ table: string; column: string }>(
    `select attrelid::regclass::text as table, quote_ident(attname) as column from pg_attribute a
     join pg_class c on c.oid = a.attrelid
     where a.attidentity <> '' and c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace`,
  )
  for (const { table, column } of rows)
    await tx.query(
      `select setval(pg_get_serial_sequence('${table}', '${column}'), coalesce(max(${column}), 0) + 1, false) from ${table}`,
    )
}
