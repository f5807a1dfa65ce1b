/** Backups and restores that are cut off on the way: there is all of it, or it is said that there is not. */
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { databaseAs, testDatabase, testDatabaseUrl } from '../../test/database.ts'
import { testAccount } from '../../test/gateway.ts'
import { type Database, openDatabase } from './database.ts'
import { dumpDatabase, loadDatabase } from './dump.ts'
import { SERVER_ROLE, SIGNER_ROLE } from './grants.ts'
import { migrate } from './migrate.ts'
import { listRunning, startBeating } from './running-roles.ts'

async function emptyDatabase(): Promise<Database> {
  const db = openDatabase({ url: await testDatabaseUrl({ template: null }) })
  after(() => db.close())
  return db
}

const source = await testDatabase()
for (let each = 0; each < 3; each++) await testAccount({ db: source })

async function dump(): Promise<string[]> {
  const lines: string[] = []
  await dumpDatabase(source, async (line) => {
    lines.push(line)
  })
  return lines
}

const count = async (db: Database): Promise<number> => (await db.query('select from accounts')).rowCount

/** Breaks the connection of whoever is inside a transaction on this database. */
const breakTransactions = (db: Database) =>
  db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'`,
  )

const FINE = { check: async () => {}, finish: async () => {} }

async function* from(lines: readonly string[], before?: (index: number) => Promise<unknown>) {
  for (const [index, line] of lines.entries()) {
    await before?.(index)
    yield line
  }
}

test('a dump whose connection breaks is no dump; it does not begin again behind what was written', async () => {
  const written: string[] = []
  const dumping = dumpDatabase(source, async (line) => {
    written.push(line)
    if (written.length === 2) await breakTransactions(source)
  })
  await assert.rejects(dumping, { name: 'OutsideFailure', retryable: true })
  assert.equal(written.filter((line) => line.includes('beck-dump-1')).length, 1)
})

test('a load whose connection breaks leaves the database empty; it does not go on with half of the lines', async () => {
  const [db, lines] = [await emptyDatabase(), await dump()]
  const cut = from(lines, async (index) => index === 2 && breakTransactions(db))
  await assert.rejects(loadDatabase(db, cut, FINE), { name: 'OutsideFailure', retryable: true })
  assert.equal(await count(db), 0)
  await loadDatabase(db, from(lines), FINE)
  assert.equal(await count(db), 3)
  const { rows } = await db.query(`select reltuples::int from pg_class where oid = 'accounts'::regclass`)
  assert.deepEqual(rows, [{ reltuples: 3 }], 'PostgreSQL knows what it has')
  await migrate(db)
})

test('no Beck starts on a restore that was cut off before its end, and the restore goes on where it was', async () => {
  const [db, lines] = [await emptyDatabase(), await dump()]
  const finish = () => Promise.reject(new Error('killed'))
  await assert.rejects(loadDatabase(db, from(lines), { ...FINE, finish }), /killed/)
  assert.equal(await count(db), 3)
  await assert.rejects(migrate(db), { reason: 'unfinished_restore' })

  const other = await dump()
  await assert.rejects(loadDatabase(db, from(other), FINE), { reason: 'database_not_empty' })
  const finished: string[] = []
  await loadDatabase(db, from(lines), {
    check: () => assert.fail('the rows are there'),
    finish: async (madeAt) => {
      finished.push(madeAt.toISOString())
    },
  })
  assert.deepEqual(finished, [JSON.parse(lines[0] ?? '').made_at])
  await migrate(db)
  assert.equal(await count(db), 3)
})

test('the server and the signer can work with what was loaded, as users of their own, and not before it is safe', async () => {
  const url = await testDatabaseUrl({ template: null })
  const db = openDatabase({ url })
  after(() => db.close())
  const server = await databaseAs(url, SERVER_ROLE)
  const signer = await databaseAs(url, SIGNER_ROLE)
  const refused = { code: '42501' }
  const lines = await dump()
  await loadDatabase(db, from(lines), {
    ...FINE,
    finish: () => assert.rejects(server.query('select from accounts'), refused),
  })
  assert.equal((await server.query('select from accounts')).rowCount, 3)
  await signer.query('select from withdrawals')
  await assert.rejects(signer.query('select from api_keys'), refused)
  assert.deepEqual(await migrate(server), [])
})

test('who ran beside the database that was backed up does not run beside the one that was restored', async () => {
  const heart = await startBeating({
    db: source,
    roles: ['watcher'],
    dataDir: '.',
    keyId: 'its',
    log: { warn() {}, info() {} },
  })
  const [db, lines] = [await emptyDatabase(), await dump()]
  await heart.stop()
  assert.ok(lines.some((line) => line.includes('"table":"running_roles","rows":[{')))
  await loadDatabase(db, from(lines), FINE)
  assert.deepEqual(await listRunning(db), [])
})

test('of two restores into one database at once, one loads; the other is refused, or finishes what is loaded', async () => {
  const [db, lines] = [await emptyDatabase(), await dump()]
  const outcomes = await Promise.allSettled([1, 2].map(() => loadDatabase(db, from(lines), FINE)))
  const refused = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [outcome.reason.reason] : [],
  )
  assert.deepEqual(new Set(['database_not_empty', ...refused]), new Set(['database_not_empty']))
  assert.ok(refused.length < 2)
  assert.equal(await count(db), 3)
  await migrate(db)
})

test('what is no backup is called so', async () => {
  const lines = await dump()
  const table: [lines: string[], message: RegExp][] = [
    [[], /it is empty/],
    [['{"format":"pg_dump"}'], /does not begin as one/],
    [['PGDMP'], /does not begin as one/],
    [[...lines, '{"table":"accou'], /damaged/],
    [[...lines, '{"table":"unheard_of","rows":[{}]}'], /unknown table unheard_of/],
  ]
  for (const [given, message] of table) {
    const db = await emptyDatabase()
    await assert.rejects(loadDatabase(db, from(given), FINE), { reason: 'not_a_backup', message })
    await migrate(db)
    assert.equal(await count(db), 0)
  }
})

test('a database that is further than the backup is not empty, and it is said what is', async () => {
  const [db, lines] = [await emptyDatabase(), await dump()]
  await migrate(db)
  const head = JSON.parse(lines[0] ?? '')
  const older = [JSON.stringify({ ...head, migrations: head.migrations.slice(0, -1) }), ...lines.slice(1)]
  await assert.rejects(loadDatabase(db, from(older), FINE), {
    reason: 'database_not_empty',
    message: /further up to date.*create one and set DATABASE_URL/,
  })
})
