/** Everything that grows has an age, the guide says which, and the worker keeps to it. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { testAccount, testGateway } from '../../test/gateway.ts'
import { until } from '../../test/wait-for.ts'
import { insertSession } from '../checkout/sessions.sql.ts'
import { newId } from '../core/ids.ts'
import { AGES, KEPT_DAYS } from '../flows/operation/ages.ts'
import { acknowledgeAlerts, raiseAlert } from '../ledger/alerts.sql.ts'
import { insertInvitation } from '../users/invitations.sql.ts'
import { startForgetter } from './forget.ts'

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
