/** Everything that grows has an age, the guide says which, and the worker keeps to it. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { type TestGateway, testAccount, testGateway } from '../../test/gateway.ts'
import { until } from '../../test/wait-for.ts'
import { acknowledgeAlerts, raiseAlert } from '../alerts/alerts.sql.ts'
import { insertSession } from '../checkout/sessions.sql.ts'
import { newId } from '../core/ids.ts'
import { pause } from '../core/pause.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { AGES, KEPT_DAYS } from '../flows/operation/ages.ts'
import { takeCleaningTurn } from '../flows/operation/cleaning-turn.sql.ts'
import { insertInvitation } from '../users/invitations.sql.ts'
import { ROWS_PER_TURN, startForgetter } from './forget.ts'

const guide = await readFile('docs/operators.md', 'utf8')
const section = guide.split('### What is kept, and for how long')[1]?.split('\n### ')[0] ?? assert.fail()
const rows = section.split('\n').filter((line) => line.startsWith('| `'))
const tablesOf = (text: string) => [...text.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name)

test('the guide gives every table of the schema an age, or a reason to stay', async () => {
  const schema = await readFile('src/db/schema.sql', 'utf8')
  const tables = [...schema.matchAll(/^create table (\w+)/gm)].map(([, name]) => name)
  const named = [
    ...rows.flatMap((line) => tablesOf(line.split('|')[1] ?? '')),
    // Said in the sentence between the tables.
    ...['chain_blocks', 'sim_blocks', 'running_roles'],
  ]
  assert.deepEqual(named.toSorted(), tables.toSorted())
})

test('the ages that the guide names are those that the worker keeps to', () => {
  const said = rows.filter((line) => line.split('|').length === 5).map((line) => line.split('|').slice(1, 4))
  assert.deepEqual(
    said.map(([tables = '', age = '', setting = '']) => [
      tablesOf(tables),
      age.trim(),
      /BECK_\w+/.exec(setting)?.[0],
    ]),
    AGES.map(({ tables, fixed, set }) => [
      tables,
      set ? `${KEPT_DAYS[set].usual} days` : fixed,
      set && KEPT_DAYS[set].variable,
    ]),
  )
})

test('what is older than its age goes, what is younger stays', async (t) => {
  const gateway = await testGateway()
  const { db } = gateway
  const account = await testAccount(gateway)
  const pair = [0, 1]
  for (const _ of pair) {
    await db.transaction((tx) =>
      insertSession(tx, {
        accountId: account.id,
        amountMinor: 100n,
        currency: 'USD',
        label: null,
        reference: null,
        customerEmail: 'buyer@example.com',
        successUrl: null,
        cancelUrl: null,
        offeredAssets: null,
        paymentLinkId: null,
      }),
    )
    await insertInvitation(db, {
      kind: 'invite',
      email: 'new@example.com',
      merchantId: null,
      role: null,
      makesOperator: true,
      userId: null,
      invitedBy: null,
    })
    await db.query('insert into sign_in_failures (subject) values ($1)', [randomBytes(32)])
    await db.query(
      "insert into sign_in_challenges (challenge, until) values ($1, now() + interval '1 hour')",
      [randomBytes(32)],
    )
    await db.query(
      `insert into webhook_endpoints (account_id, id, url, events, secret_sealed, deleted_at)
       values ($1, $2, 'https://shop.example', '{payment.created}', $3, now())`,
      [account.id, newId('whk'), randomBytes(60)],
    )
  }
  const user = newId('usr')
  await db.query("insert into users (id, email, name) values ($1, 'a@example.com', 'A')", [user])
  for (const _ of pair)
    await db.query(
      `insert into sessions (id, user_id, token_hash, factor, address, agent) values ($1, $2, $3, 'passkey', '192.0.2.1', 'x')`,
      [newId('ses'), user, randomBytes(32)],
    )
  for (const subject of ['old', 'young', 'open'])
    await raiseAlert(db, { kind: 'test', accountId: null, subject, message: subject })
  const { rows: raised } = await db.query<{ id: string }>("select id from alerts where subject <> 'open'")
  await acknowledgeAlerts(
    db,
    raised.map(({ id }) => id),
    'test',
  )
  for (const key of ['old', 'young'])
    await db.query(
      `insert into idempotency_keys (account_id, key, request_hash, response_status, response_body)
       values ($1, $2, $3, 200, $4)`,
      [account.id, key, randomBytes(32), randomBytes(60)],
    )

  // One of each is made older than its age; what still waits for something stays at any age.
  const old = (table: string, column: string, age: string) =>
    db.query(`update ${table} set ${column} = ${column} - interval '${age}'
              where ctid = (select min(ctid) from ${table})`)
  await old('checkout_sessions', 'expires_at', '32 days')
  await old('invitations', 'expires_at', '34 days')
  await old('sign_in_failures', 'failed_at', '25 hours')
  await old('sign_in_challenges', 'until', '2 hours')
  await old('webhook_endpoints', 'deleted_at', '31 days')
  await old('sessions', 'created_at', '25 hours')
  await db.query(
    "update alerts set acknowledged_at = acknowledged_at - interval '366 days' where subject = 'old'",
  )
  await db.query("update alerts set created_at = now() - interval '9 years' where subject = 'open'")
  await db.query("update idempotency_keys set created_at = now() - interval '25 hours' where key = 'old'")

  const worker = startForgetter(gateway, { idleMs: 10 })
  t.after(() => worker.stop())
  const count = async (table: string) =>
    (await db.query<{ count: bigint }>(`select count(*) from ${table}`)).rows[0]?.count
  const singles = [
    ...['checkout_sessions', 'invitations', 'sign_in_failures', 'sign_in_challenges', 'webhook_endpoints'],
    ...['sessions', 'idempotency_keys'],
  ]
  for (const table of singles)
    await until(`one row left in ${table}`, async () => (await count(table)) === 1n)
  await until('two alerts are left', async () => (await count('alerts')) === 2n)
  const { rows: kept } = await db.query<{ subject: string }>('select subject from alerts order by subject')
  assert.deepEqual(kept, [{ subject: 'open' }, { subject: 'young' }])
})

test('what can not be removed keeps nothing else from going', async (t) => {
  const gateway = await testGateway()
  const { db } = gateway
  await db.query('alter table idempotency_keys rename to elsewhere')
  await db.query(
    "insert into sign_in_failures (subject, failed_at) values ($1, now() - interval '25 hours')",
    [randomBytes(32)],
  )
  const forgetter = startForgetter(gateway, { idleMs: 20 })
  t.after(() => forgetter.stop())
  await until('it went', async () => (await db.query('select from sign_in_failures')).rowCount === 0)
})

/** Of {@link addOld}'s, among what is removed. */
const AT = AGES.findIndex(({ tables }) => tables.includes('sign_in_failures'))

/** Wrong passwords of more than a day ago. */
const addOld = ({ db }: TestGateway, rows: number) =>
  db.query(
    `insert into sign_in_failures (subject, failed_at)
     select sha256('x'), now() - interval '25 hours' from generate_series(1, $1::int)`,
    [rows],
  )
const countOld = async ({ db }: TestGateway) =>
  (await db.query<{ rows: number }>('select count(*)::int as rows from sign_in_failures')).rows[0]?.rows

/** The gateway on a database that takes at least so long for each statement outside of transactions, or transaction. */
function slowed(gateway: TestGateway, ms: number) {
  const spans: { from: number; to: number }[] = []
  async function timed<Result>(work: () => Promise<Result>): Promise<Result> {
    const from = performance.now()
    const [result] = await Promise.all([work(), pause(ms)])
    spans.push({ from, to: performance.now() })
    return result
  }
  const db: TestGateway['db'] = {
    ...gateway.db,
    query: (...given) => timed(() => gateway.db.query(...given)),
    transaction: (...given) => timed(() => gateway.db.transaction(...given)),
  }
  return { gateway: { ...gateway, db }, spans }
}

test('a backlog goes in one batch after another, and the database rests at least as long as each took', async (t) => {
  const gateway = await testGateway()
  const batches = 6
  await addOld(gateway, batches * 50 - 1)
  const { gateway: slow, spans } = slowed(gateway, 50)
  const forgetter = startForgetter(slow, { rowsPerTurn: 50 })
  t.after(() => forgetter.stop())
  await until('all went', async () => (await countOld(gateway)) === 0)
  await until('the last batch was told', async () => spans.length >= AGES.length + batches - 1)
  // First everything, then what had more, which was one.
  const places = [AT, ...spans.keys().drop(AGES.length)]
  assert.equal(places.length, batches)
  for (const place of places.slice(0, -1)) {
    const [batch, next] = spans.slice(place)
    assert.ok(batch && next)
    const [tookMs, restedMs] = [batch.to - batch.from, next.from - batch.to]
    assert.ok(restedMs >= 0.9 * tookMs, `${restedMs} ms of rest after ${tookMs} ms`)
  }
})

test('a forgetter that rests is stopped at once', async (t) => {
  const gateway = await testGateway()
  await addOld(gateway, 200)
  const { gateway: slow, spans } = slowed(gateway, 1_000)
  const forgetter = startForgetter(slow, { rowsPerTurn: 50 })
  t.after(() => forgetter.stop())
  await until('a batch went', async () => spans.length === AT + 1)
  const asked = performance.now()
  await forgetter.stop()
  const tookMs = performance.now() - asked
  assert.ok(tookMs < 400, `${tookMs} ms`)
  assert.equal(await countOld(gateway), 150)
})

test('while another process removes something, none goes at it beside that one', async (t) => {
  const gateway = await testGateway()
  await addOld(gateway, 10)
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const other = gateway.db.transaction(async (tx) => {
    assert.ok(await takeCleaningTurn(tx))
    begin()
    await ended
  })
  await begun
  const { gateway: watched, spans } = slowed(gateway, 0)
  const forgetter = startForgetter(watched, { idleMs: 10 })
  t.after(() => forgetter.stop())
  await until('it tried twice', async () => spans.length >= 2)
  assert.equal(await countOld(gateway), 10)
  end()
  await other
  await until('they went', async () => (await countOld(gateway)) === 0)
})

test('what may be millions is found by an index, whether PostgreSQL has counted it or not', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const { id } = await testAccount(gateway)
  const rowsOf = {
    events: `account_id, id, type, cause, body, created_at) select $1, md5(n::text)::uuid, 'payment.created', n, '', at`,
    deliveries: `account_id, id, event_id, endpoint_id, status, due_at) select $1, md5(n::text)::uuid, md5(n::text)::uuid, $1,
      case when n < 20 then 'pending' else 'delivered' end, case when n < 20 then now() end`,
    idempotency_keys: `account_id, key, request_hash, created_at) select $1, n, sha256('x'), at`,
    api_requests: `account_id, id, at, key_id, request_id, method, path, status, duration_ms, address)
      select $1, gen_random_uuid(), at, $1, n, 'GET', '/', 200, 1, '::1'`,
    payment_changes: `account_id, payment_id, created_at, asset, old_status, new_status, old_net_minor, new_net_minor, noted_at)
      select $1, gen_random_uuid(), at, 'BTC', 'pending', 'expired', 1, 1, at`,
    mails: `id, cause, recipient, kind, status, expires_at, finished_at)
      select gen_random_uuid(), n, 'a@example.com', 'notice', 'sent', at, at`,
    checkout_sessions: `account_id, id, currency, expires_at) select $1, gen_random_uuid(), 'USD', at`,
    sessions: `id, user_id, token_hash, factor, address, agent, created_at)
      select gen_random_uuid(), $1, sha256(n::text::bytea), 'totp', '', '', at`,
    sign_in_failures: `subject, failed_at) select sha256('x'), at`,
  }
  await db.transaction(async (tx) => {
    await tx.query('set local session_replication_role = replica')
    for (const [table, rows] of Object.entries(rowsOf)) {
      await tx.query(`alter table ${table} set (autovacuum_enabled = off)`)
      await tx.query(
        `insert into ${table} (${rows}
         from generate_series(1, 20000) n, lateral (select now() - n * interval '5 minutes' as at, $1::uuid as given) t`,
        [id],
      )
    }
  })
  const walked: string[] = []
  const tx: Queryable & Tx = {
    inTransaction: true,
    async query<Row>(text: string, values: readonly unknown[] = []) {
      if (text.startsWith('savepoint')) return { rows: [], rowCount: 0 }
      const { rows } = await db.query<{ 'QUERY PLAN': string }>(`explain (costs off) ${text}`, values)
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      const tables = [...plan.matchAll(/Seq Scan on (\w+)/g)].map(([, table = '']) => table)
      if (tables.some((table) => table in rowsOf)) walked.push(`${text}\n${plan}`)
      return { rows: [] as Row[], rowCount: 0 }
    },
  }
  const planAll = async () => {
    for (const age of AGES)
      await (age.set ? age.remove(tx, 30, ROWS_PER_TURN) : age.remove(tx, ROWS_PER_TURN))
  }
  await planAll()
  for (const table of Object.keys(rowsOf)) await db.query(`analyze ${table}`)
  await planAll()
  assert.deepEqual(walked, [])
})
