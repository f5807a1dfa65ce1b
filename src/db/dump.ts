/**
 * A whole database as lines of JSON, and back. It needs no program of PostgreSQL's (the embedded one brings none), and
 * rows come back exactly: numbers of any size, bytes, JSON as it was written.
 */
import { Refusal } from '../core/errors.ts'
import type { Database, Tx } from './database.ts'
import { type Migration, migrate, readMigrations } from './migrate.ts'

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

/** The database at one instant, while it is in use. Its first line says what it is. */
export async function dumpDatabase(db: Database, write: (line: string) => Promise<void>): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('set transaction isolation level repeatable read, read only')
    const { rows: migrations } = await tx.query('select name, checksum from schema_migrations order by name')
    const { rows: now } = await tx.query<{ now: Date }>('select now()')
    await write(JSON.stringify({ format: 'beck-dump-1', made_at: now[0]?.now.toISOString(), migrations }))
    for (const { table } of await listTables(tx)) await dumpTable(tx, table, write)
  })
}

async function dumpTable(tx: Tx, table: string, write: (line: string) => Promise<void>): Promise<void> {
  await tx.query(`declare dumped no scroll cursor for select row_to_json(t)::text as row from ${table} t`)
  for (;;) {
    const { rows } = await tx.query<{ row: string }>(`fetch ${ROWS_PER_LINE} from dumped`)
    if (rows.length === 0) break
    await write(`{"table":${JSON.stringify(table)},"rows":[${rows.map(({ row }) => row).join(',')}]}`)
  }
  await tx.query('close dumped')
}

/**
 * Fills an empty database, all at once or not at all, and brings it up to date.
 *
 * @param verify - The last word before it is committed; by throwing it leaves the database empty.
 * @returns When the dump was made.
 * @throws {Refusal} `database_not_empty`; `not_a_backup`; `database_is_newer` when a newer Beck made it.
 */
export async function loadDatabase(
  db: Database,
  lines: AsyncIterable<string>,
  verify: (tx: Tx) => Promise<unknown>,
): Promise<Date> {
  const reader = lines[Symbol.asyncIterator]()
  const first = await reader.next()
  const head = first.done ? null : readHead(first.value)
  const known = await readMigrations()
  await migrate(db, migrationsOf(head, known))
  await db.transaction(async (tx) => {
    await requireEmpty(tx)
    const tables = await listTables(tx)
    await tx.query(`truncate ${tables.map(({ table }) => table).join(', ')}`)
    // Rows refer to each other in circles; the references are checked when they are back.
    const references = await takeReferences(tx)
    for (const { table } of tables) await tx.query(`alter table ${table} disable trigger user`)
    for (let line = await reader.next(); !line.done; line = await reader.next()) {
      const { table, rows } = JSON.parse(line.value) as Rows
      const columns = tables.find((each) => each.table === table)?.columns
      if (!columns) throw notABackup(`it has rows of an unknown table ${table}`)
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
    await verify(tx)
  })
  await migrate(db, known)
  return new Date(head?.made_at ?? 0)
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

const notABackup = (problem: string): Refusal =>
  new Refusal('invalid', 'not_a_backup', `this is no backup that Beck can read: ${problem}`)

/** The schema that the dump was made of. */
function migrationsOf(head: Head | null, known: readonly Migration[]): Migration[] {
  if (!head) throw notABackup('it is empty')
  return head.migrations.map(({ name, checksum }) => {
    const migration = known.find((each) => each.name === name && each.checksum === checksum)
    if (migration) return migration
    throw new Refusal(
      'conflict',
      'database_is_newer',
      `the backup was made by another version of Beck (${name} is not known here); restore it with that one, then upgrade`,
    )
  })
}

async function requireEmpty(tx: Tx): Promise<void> {
  const { rowCount } = await tx.query('select from accounts union all select from wallets limit 1')
  if (rowCount > 0)
    throw new Refusal(
      'conflict',
      'database_not_empty',
      'the database holds accounts or wallets already; a backup is restored into an empty one only',
    )
}

/** Every table with its columns as SQL, but the one that notes the migrations. */
async function listTables(tx: Tx): Promise<{ table: string; columns: string }[]> {
  const { rows } = await tx.query<{ table: string; columns: string }>(
    `select c.oid::regclass::text as table, (
       select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_attribute a
       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns
     from pg_class c
     where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.relname <> 'schema_migrations'
     order by c.relname`,
  )
  return rows
}

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
