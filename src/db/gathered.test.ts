import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { pause } from '../core/pause.ts'
import { sqlState } from './failures.ts'
import { openGathered } from './gathered.ts'
import { overRowsPrepared } from './row-statements.ts'
import { runRows } from './together.ts'

const db = await testDatabase()
await db.query('create table things (id integer primary key, label bytea not null)')
const INSERT = overRowsPrepared(
  { id: 'integer', label: 'bytea' },
  (rows) => `with draft as materialized (select * from ${rows}),
    made as (insert into things select id, label from draft returning id)
    select place, id from draft join made using (id)`,
)
const add = (id: number, group = 'one', label: Uint8Array | null = Buffer.from([id])) =>
  db.transaction((tx) => runRows<{ id: number }>(tx, INSERT, [{ id, label }]), { oneStatement: true, group })
const transactions = async () =>
  Number((await db.query<{ n: bigint }>('select count(distinct xmin::text) as n from things')).rows[0]?.n)
const settle = <T>(work: readonly Promise<T>[]) => Promise.allSettled(work)

test('what runs at one moment is few transactions, and each is given its own answer', async () => {
  const ids = Array.from({ length: 60 }, (_, index) => index)
  const answers = await Promise.all(ids.map((id) => add(id)))
  assert.deepEqual(
    answers.map(([row]) => row?.id),
    ids,
  )
  const { rows } = await db.query<{ id: number; label: Buffer }>('select id, label from things order by id')
  assert.deepEqual(
    rows.map(({ id, label }) => [id, ...label]),
    ids.map((id) => [id, id]),
  )
  assert.ok((await transactions()) <= 3, `${await transactions()} transactions`)
})

test('what keeps the others from happening is alone with it', async () => {
  await db.query('truncate things')
  const outcomes = await settle([add(1), add(2), add(2), add(3, 'one', null), add(4)])
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3)
  const states = outcomes.flatMap((each) => (each.status === 'rejected' ? [sqlState(each.reason)] : []))
  assert.deepEqual(states.sort(), ['23502', '23505'])
  assert.deepEqual((await db.query('select id from things order by id')).rows, [
    { id: 1 },
    { id: 2 },
    { id: 4 },
  ])
})

test("reads of one moment go as one, and one that PostgreSQL refuses fails nobody else's", async () => {
  await db.query('truncate things')
  for (const id of [1, 2, 3]) await add(id)
  const find = overRowsPrepared(
    { id: 'integer' },
    (rows) => `select place, (select label from things where things.id = r.id and 1 / r.id > -1) as label,
      statement_timestamp() as at, pg_backend_pid() as by from ${rows}`,
  )
  const read = (id: number, group = 'one') =>
    runRows<{ label: Buffer | null; at: Date; by: number }>(db.gathering(group), find, [{ id }])
  const found = (await Promise.all([1, 2, 3, 4].map((id) => read(id)))).map(([row]) => row)
  assert.deepEqual(
    found.map((row) => row?.label?.[0] ?? null),
    [1, 2, 3, null],
  )
  const statements = (rows: typeof found) => new Set(rows.map((row) => `${row?.by} ${row?.at.toISOString()}`))
  assert.equal(statements(found).size, 1)
  const [own, others] = await Promise.all([read(1), read(1, 'two')])
  assert.equal(statements([own[0], others[0]]).size, 2)
  const outcomes = await settle([read(1), read(0), read(2)])
  assert.deepEqual(
    outcomes.map((each) => (each.status === 'fulfilled' ? each.value[0]?.label?.[0] : sqlState(each.reason))),
    [1, '22012', 2],
  )
})

test('reads whose connection breaks are asked once more', async () => {
  const slow = overRowsPrepared({ id: 'integer' }, (rows) => `select place, id, pg_sleep(0.2) from ${rows}`)
  const reads = [1, 2, 3].map((id) => runRows<{ id: number }>(db.gathering('one'), slow, [{ id }]))
  let ended = 0
  while (ended === 0) {
    await pause(5)
    const { rows } = await db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and state = 'active' and query like '%pg_sleep(0.2)%' and pid <> pg_backend_pid()`,
    )
    ended = rows.length
  }
  assert.deepEqual(
    (await Promise.all(reads)).map(([row]) => row?.id),
    [1, 2, 3],
  )
})

test('groups never travel together', async () => {
  await db.query('truncate things')
  await Promise.all([1, 2, 3, 4].map((id) => add(id, `group ${id}`)))
  assert.equal(await transactions(), 4)
})

test('what nobody knows the outcome of is not sent again', async () => {
  const lost = new Error('Connection terminated')
  let sent = 0
  const gathered = openGathered({
    run: async () => {
      sent++
      throw lost
    },
    leavesOpen: (error) => error === lost,
  })
  const outcomes = await settle([1, 2, 3].map((id) => gathered('one').run(INSERT, [{ id, label: null }])))
  assert.equal(sent, 1)
  assert.ok(outcomes.every((each) => each.status === 'rejected' && each.reason === lost))
})

/** A database that answers nothing until it is let go, and refuses what is sent together where it is told to. */
function hanging(options: { refusesTogether: boolean }) {
  const sent: number[] = []
  const { promise: isLetGo, resolve: letGo } = Promise.withResolvers<void>()
  const gathered = openGathered({
    run: async (_, [rows]) => {
      const { length } = JSON.parse(String(rows)) as unknown[]
      if (options.refusesTogether && length > 1) throw new Error('one of them is in the way')
      sent.push(length)
      await isLetGo
      return Array.from({ length }, (_, place) => ({ place: BigInt(place + 1) }))
    },
    leavesOpen: () => false,
  })
  return { sent, letGo, ask: (id: number) => gathered('one').run(INSERT, [{ id, label: null }]) }
}

test('while one is under way the next are gathered; what hangs keeps nobody, and takes no more than its connections', async () => {
  const { sent, letGo, ask } = hanging({ refusesTogether: false })
  const asked: Promise<unknown[]>[] = []
  for (let id = 1; id <= 20; id++) {
    asked.push(ask(id))
    await pause(20)
  }
  assert.equal(sent[0], 1)
  assert.ok(Math.max(...sent) >= 2, `gathered: ${sent}`)
  assert.equal(sent.length, 6)
  letGo()
  for (const answers of await Promise.all(asked)) assert.equal(answers.length, 1)
  assert.equal(
    sent.reduce((sum, each) => sum + each, 0),
    20,
  )
})

test('those that go alone and wait leave a way for what comes next', async () => {
  const { sent, letGo, ask } = hanging({ refusesTogether: true })
  const stuck = Array.from({ length: 12 }, (_, id) => ask(id))
  await pause(20)
  assert.deepEqual(sent, [1, 1, 1])
  const next = ask(13)
  await pause(20)
  assert.deepEqual(sent, [1, 1, 1, 1])
  letGo()
  for (const answers of await Promise.all([...stuck, next])) assert.equal(answers.length, 1)
})
