import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import pg from 'pg'
import { testDatabaseUrl } from '../../test/database.ts'
import { poolerVersion, startPooler } from '../../test/pooler.ts'
import { waitFor } from '../../test/wait-for.ts'
import { openDatabase } from './database.ts'
import { openStatementNames } from './statement-names.ts'

const CONNECTIONS = 4
const url = await testDatabaseUrl({ template: null })
const { prepares } = await poolerVersion()
const open = (at: string) => {
  const db = openDatabase({ url: at, connectionsMax: CONNECTIONS })
  after(() => db.close())
  return db
}
type Db = ReturnType<typeof open>
const HOT = 'select $1::integer + 1 as next, (select name from pg_prepared_statements limit 1) as name'
const ask = async (db: Db, text = HOT) =>
  (await db.query<{ next: number; name: string | null }>(text, [1], 'prepared')).rows[0]

/** Lets a minute pass when it is told to. */
function skippedMinutes(t: TestContext): (count: number) => void {
  const now = performance.now.bind(performance)
  let skippedMs = 0
  t.mock.method(performance, 'now', () => now() + skippedMs)
  return (count) => {
    skippedMs += count * 60_000
  }
}

test('on connections of its own a hot statement is prepared once per connection', async () => {
  const db = open(url)
  const answer = await waitFor('names are known to hold', async () => {
    const row = await ask(db)
    return row?.name ? row : null
  })
  assert.equal(answer.next, 2)
  assert.match(answer.name ?? '', /^beck_[0-9a-f]{24}$/)
})

// Which of the two a PgBouncer is, its version says.
test('behind the pooler that there is, hot statements are prepared if it prepares them wherever they come to, and none fails', async () => {
  const pooled = await startPooler(url)
  await (prepares ? areNamedBehind(pooled) : goUnnamedBehind(pooled))
})

async function goUnnamedBehind(pooled: string): Promise<void> {
  const dbs = [open(pooled), open(pooled), open(pooled)]
  for (let round = 0; round < 20; round++) {
    const rows = await Promise.all(
      dbs.flatMap((db) => [ask(db), ask(db), db.transaction((tx) => ask({ ...db, ...tx }))]),
    )
    assert.ok(rows.every((row) => row?.next === 2 && row.name === null))
  }
}

async function areNamedBehind(pooled: string): Promise<void> {
  // Each with a text of its own, which no other can have prepared.
  const askers = [1, 2, 3].map((nth) => {
    const db = open(pooled)
    const text = `select $1::integer + 1 as next, (select name from pg_prepared_statements where statement like '%of ${nth}%') as name`
    return { ask: () => ask(db, text), askIn: () => db.transaction((tx) => ask({ ...db, ...tx }, text)) }
  })
  for (const asker of askers)
    await waitFor('names are known to hold', async () => ((await asker.ask())?.name ? true : null))
  for (let round = 0; round < 20; round++) {
    const rows = await Promise.all(askers.flatMap((asker) => [asker.ask(), asker.ask(), asker.askIn()]))
    assert.ok(rows.every((row) => row?.next === 2 && /^PGBOUNCER_\d+$/.test(row.name ?? '')))
  }
}

test('a pooler is asked whether it gives statements names of its own', async (t) => {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  t.after(() => pool.end())
  /** A connection to a pooler, which has no process of PostgreSQL that is its own, and sends a name on as another. */
  const through = (sentAs: (name: string) => string) => ({
    async connect() {
      const client = await pool.connect()
      return {
        query: (asked: string | { name: string; text: string }, values?: unknown[]) =>
          typeof asked === 'string'
            ? client.query(asked, values)
            : client.query({ ...asked, name: sentAs(asked.name) }),
        release: () => client.release(),
      }
    },
  })
  const renaming = openStatementNames(through((name) => `POOLER_${name}`) as unknown as pg.Pool)
  const named = await waitFor('names are known to hold', async () => renaming.of('select 1') ?? null)
  assert.equal(named.text, 'select 1')
  assert.match(named.name, /^beck_[0-9a-f]{24}$/)

  let asked = 0
  const other = through((name) => name)
  const names = openStatementNames({
    connect() {
      asked += 1
      return other.connect()
    },
  } as unknown as pg.Pool)
  assert.equal(names.of('select 1'), undefined)
  await waitFor('it was asked', async () => (asked === 1 && pool.idleCount === 1) || null)
  assert.equal(names.of('select 1'), undefined)
  assert.equal(asked, 1)
})

test('a connection that forgot a name is no failure: the statement runs again without one', async () => {
  const db = open(url)
  await waitFor('names are known to hold', async () => ((await ask(db))?.name ? true : null))
  for (let i = 0; i < 8; i++) await db.query('deallocate all')
  const rows = await Promise.all(Array.from({ length: 8 }, () => ask(db)))
  assert.ok(rows.every((row) => row?.next === 2))
  await db.query('deallocate all')
  assert.equal((await db.transaction((tx) => ask({ ...db, ...tx })))?.next, 2)
})

for (const way of prepares
  ? ['connections of its own', 'a pooler that prepares']
  : ['connections of its own'])
  test(`columns that change behind a prepared statement are no failure, and it is prepared again: ${way}`, async (t) => {
    const skip = skippedMinutes(t)
    const table = way === 'connections of its own' ? 'changed' : 'changed_behind_pooler'
    const db = open(way === 'connections of its own' ? url : await startPooler(url))
    // It takes so long that all the connections are in use.
    const text = `select ${table}.*, pg_sleep(0.05), pg_backend_pid() as pid,
      array(select name from pg_prepared_statements where statement like '%from ${table}%'
        order by prepare_time) as names from ${table}`
    const read = async (asker: Pick<Db, 'query'> = db) => {
      const { rows } = await asker.query<{ value: unknown; pid: number; names: string[] }>(
        text,
        [],
        'prepared',
      )
      const [row] = rows
      assert.ok(row)
      return row
    }
    /** What it answers on all connections at once, and what each has prepared of it. A transaction keeps one on which it failed. */
    const everywhere = async () => {
      const rows = await Promise.all(
        Array.from({ length: CONNECTIONS * 3 }, () => db.transaction((tx) => read(tx))),
      )
      const last = new Map(rows.map(({ pid, names }) => [pid, names]))
      return { values: new Set(rows.map(({ value }) => value)), names: [...last.values()] }
    }
    const preparedTimes = (times: number) =>
      waitFor(
        `it is prepared ${times} times on every connection`,
        async () => {
          const { names } = await everywhere()
          const isThere = names.length === CONNECTIONS && names.every((each) => each.length === times)
          return isThere ? new Set(names.map((each) => each.join())) : null
        },
        20_000,
      )
    await db.query(`create table ${table} (value integer)`)
    await db.query(`insert into ${table} values (1)`)
    const first = await preparedTimes(1)

    await db.query(`alter table ${table} alter column value type text using value::text`)
    assert.deepEqual((await everywhere()).values, new Set(['1']))
    // Under the old name nothing can be prepared anew, so nothing is for a minute.
    assert.deepEqual(new Set((await everywhere()).names.flat()), first)

    skip(1)
    const again = await preparedTimes(2)
    skip(10)
    const { values, names } = await everywhere()
    assert.deepEqual(values, new Set(['1']))
    assert.deepEqual(new Set(names.map((each) => each.join())), again, 'none is prepared a third time')
    if (way === 'connections of its own') assert.equal(again.size, 1, 'the same names on every connection')

    await db.query(`alter table ${table} alter column value type integer using value::integer`)
    assert.equal((await read()).value, 1, 'outside of a transaction too')
  })

test('each pause without names is twice as long as the one before, and each ends with other names', async (t) => {
  const skip = skippedMinutes(t)
  let asked = 0
  const client = { processID: 1, query: async () => ({ rows: [{ pid: 1 }] }), release() {} }
  const pool = {
    async connect() {
      asked += 1
      return client
    },
  }
  const names = openStatementNames(pool as unknown as pg.Pool)
  assert.equal(names.forgetsAfter('0A000'), false, 'nothing had a name by then')
  const seen = new Set<string>()
  for (const minutes of [1, 2, 4, 8, 16]) {
    const { name } = await waitFor('names hold', async () => names.of('select 1') ?? null)
    assert.ok(!seen.has(name))
    seen.add(name)
    assert.equal(names.forgetsAfter('40001'), false)
    assert.equal(names.of('select 1')?.name, name)
    // Statements that were under way together fail together.
    for (const state of ['0A000', '26000', '42P05']) assert.equal(names.forgetsAfter(state), true)
    skip(minutes - 0.1)
    assert.equal(names.of('select 1'), undefined)
    assert.equal(asked, seen.size)
    skip(0.1)
  }
})
