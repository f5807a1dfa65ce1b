/** What the operator finds in the lists of the whole Beck, and what of merchants he is not shown there. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { homeOf, testPerson } from '../../../test/dashboard.ts'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import type { Account } from '../../accounts/account.ts'
import { insertAccount } from '../../accounts/accounts.sql.ts'
import { raiseAlert } from '../../alerts/alerts.sql.ts'
import { type DeliveryId, newId, newRowId, showId } from '../../core/ids.ts'
import { EVENT_TYPES } from '../../events/event.ts'
import { createWebhookEndpoint, disableWebhookEndpoint } from '../../events/webhook-endpoints.sql.ts'
import { merchantOfAccount } from '../../flows/people/merchants.ts'

const gateway = await testGateway()
const { db } = gateway
const app = await testApp(gateway)
const operator = await testPerson(gateway, app, { isOperator: true })
const OPERATOR = '/dashboard/operator'

/** A merchant whose server answers badly: a delivery that is tried again, one that was given up, one that arrived. */
async function troubled(name: string) {
  const account = await insertAccount(db, { name, email: 'shop@example.com', mode: 'test', currency: 'USD' })
  const { endpoint } = await db.transaction((tx) =>
    createWebhookEndpoint(tx, gateway.secrets, {
      accountId: account.id,
      url: `https://${name.toLowerCase()}.example/hook/s3cret?token=t0ken`,
      events: EVENT_TYPES,
    }),
  )
  for (let count = 0; count < 3; count++) await testPayment(gateway, account)
  const { rows } = await db.query<{ id: DeliveryId }>(
    'select id from deliveries where account_id = $1 order by created_at, id',
    [account.id],
  )
  const [retrying, failed, delivered] = rows.map(({ id }) => id)
  assert.ok(retrying && failed && delivered)
  await attempt(account, retrying, `due_at = now() + interval '5 minutes'`)
  await attempt(account, failed, `status = 'failed', due_at = null, finished_at = now()`)
  await attempt(account, delivered, `status = 'delivered', due_at = null, finished_at = now()`)
  await db.query(
    `update webhook_endpoints set failing_since = now() - interval '2 hours', failed_at = now() where account_id = $1`,
    [account.id],
  )
  return { account, endpoint: endpoint.id, retrying, failed, delivered }
}

async function attempt({ id: accountId }: Account, id: DeliveryId, becomes: string): Promise<void> {
  await db.query(
    `insert into delivery_attempts (account_id, delivery_id, number, started_at, duration_ms, response_status, response_start)
     values ($1, $2, 1, now(), 12, 503, 'customer ada@example.com')`,
    [accountId, id],
  )
  await db.query(`update deliveries set attempts = 1, ${becomes} where account_id = $1 and id = $2`, [
    accountId,
    id,
  ])
}

const tea = await troubled('Tea')
const books = await troubled('Books')

/** Ids of deliveries that a page lists. */
async function listed(query: string): Promise<string[]> {
  const { status, html } = await operator.get(`${OPERATOR}/deliveries?columns=id&${query}`)
  assert.equal(status, 200, html)
  return [...html.matchAll(/data-copy="(dlv_[^"]+)"/g)].map(([, id = '']) => id).sort()
}
const ids = (...of: DeliveryId[]) => of.map((id) => showId('dlv', id)).sort()

test('deliveries that met no good answer are listed of all merchants, and found by state, merchant and endpoint', async () => {
  assert.deepEqual(await listed(''), ids(tea.retrying, tea.failed, books.retrying, books.failed))
  assert.deepEqual(await listed('filter_state=retrying'), ids(tea.retrying, books.retrying))
  assert.deepEqual(await listed('filter_state=failed'), ids(tea.failed, books.failed))
  const ofTea = ids(tea.retrying, tea.failed)
  assert.deepEqual(await listed(`filter_account=${showId('acct', tea.account.id)}`), ofTea)
  assert.deepEqual(await listed(`filter_endpoint=${showId('whk', tea.endpoint)}`), ofTea)
  assert.deepEqual(
    await listed(`filter_endpoint=${showId('whk', tea.endpoint)}&filter_state=failed`),
    ids(tea.failed),
  )
  assert.deepEqual(await listed(`filter_endpoint=${showId('whk', newId('whk'))}`), [])
  assert.deepEqual(await listed('from=2999-01-01'), [])
  const wrong = await operator.get(`${OPERATOR}/deliveries?filter_state=delivered`)
  assert.match(wrong.text, /“State” must be one of retrying, failed/)
})

test('one that is sent again by hand waits for its first answer, and is in no list until it has a bad one', async () => {
  await db.query(
    `update deliveries set status = 'pending', due_at = now(), finished_at = null, attempts_before = attempts
     where account_id = $1 and id = $2`,
    [books.account.id, books.failed],
  )
  assert.ok(!(await listed('')).includes(showId('dlv', books.failed)))
  await db.query(
    `update deliveries set status = 'failed', due_at = null, finished_at = now() where account_id = $1 and id = $2`,
    [books.account.id, books.failed],
  )
})

test('the operator reads host, status and error; path, query, body and answer are the merchant’s', async () => {
  const page = await operator.get(`${OPERATOR}/deliveries`)
  assert.match(page.text, /Tea .*https:\/\/tea\.example .*payment\.created .*503/)
  const endpoints = await operator.get(`${OPERATOR}/endpoints`)
  assert.match(endpoints.text, /Tea .*https:\/\/tea\.example .*failing .* 1 /)
  for (const { html } of [page, endpoints])
    assert.doesNotMatch(html, /s3cret|t0ken|ada@example\.com|token=/, 'what stands behind the host')
  const found = await operator.get(`${OPERATOR}/endpoints?filter_host=s3cret`)
  assert.match(found.text, /Nothing matches/, 'nor can it be guessed by a filter')
})

test('endpoints are found by merchant, receiver and state; those switched off say why', async () => {
  const hosts = async (query: string) =>
    [...(await operator.get(`${OPERATOR}/endpoints?${query}`)).html.matchAll(/>(https:[^<]*)<\/a>/g)].map(
      ([, host = '']) => host,
    )
  assert.deepEqual((await hosts('')).sort(), ['https://books.example', 'https://tea.example'])
  assert.deepEqual(await hosts('filter_name=tea'), ['https://tea.example'])
  assert.deepEqual(await hosts('filter_host=BOOKS'), ['https://books.example'])
  assert.deepEqual(await hosts('filter_mode=live'), [])
  await db.transaction((tx) => disableWebhookEndpoint(tx, books.account.id, books.endpoint, 'gone'))
  assert.deepEqual(await hosts('filter_state=disabled'), ['https://books.example'])
  assert.deepEqual(await hosts('filter_state=failing'), ['https://tea.example'])
  assert.match((await operator.get(`${OPERATOR}/endpoints`)).text, /disabled it answered 410 Gone/)
  const health = await operator.get(`${OPERATOR}/health`)
  assert.match(health.html, /href="[^"]*\/operator\/endpoints\?filter_state=failing"/)
})

test('a member of a merchant comes to none of it', async () => {
  const owner = await testPerson(gateway, app, { account: tea.account, role: 'owner' })
  for (const page of ['deliveries', 'endpoints', 'money/pay-outs', 'alerts', 'merchants'])
    assert.equal((await owner.get(`${OPERATOR}/${page}`)).status, 403, page)
  assert.doesNotMatch((await owner.get(homeOf(tea.account))).html, /operator\//)
})

test('merchants are paged, sorted by name and found by name or account', async () => {
  for (let number = 0; number < 30; number++) {
    const account = await insertAccount(db, {
      name: `Shop ${String(number).padStart(2, '0')}`,
      email: 'shop@example.com',
      mode: 'test',
      currency: 'USD',
    })
    await db.transaction((tx) => merchantOfAccount(tx, account))
  }
  const names = async (query: string) =>
    [
      ...(await operator.get(`${OPERATOR}/merchants?${query}`)).html.matchAll(
        /<strong>(Shop \d\d)<\/strong>/g,
      ),
    ].map(([, name = '']) => name)
  const sorted = 'filter_name=shop+&sort=name&order=asc'
  const first = await names(sorted)
  assert.deepEqual([first.length, first[0], first.at(-1)], [25, 'Shop 00', 'Shop 24'])
  assert.deepEqual(await names(`${sorted}&page=2`), ['Shop 25', 'Shop 26', 'Shop 27', 'Shop 28', 'Shop 29'])
  const { rows } = await db.query<{ id: Account['id'] }>(`select id from accounts where name = 'Shop 07'`)
  assert.ok(rows[0])
  assert.deepEqual(await names(`filter_account=${showId('acct', rows[0].id)}`), ['Shop 07'])
  const alone = await testAccount(gateway)
  assert.match((await operator.get(`${OPERATOR}/merchants`)).html, new RegExp(showId('acct', alone.id)))
})

test('alerts: the open ones, unless others are asked for; found by what they are about', async () => {
  for (const subject of ['one', 'two'])
    await raiseAlert(db, { kind: 'frozen', accountId: null, subject, message: `about ${subject}` })
  await raiseAlert(db, { kind: 'gas', accountId: null, subject: newRowId(), message: 'about gas' })
  const { html } = await operator.get(`${OPERATOR}/alerts?filter_subject=one`)
  const path = /action="([^"]*\/acknowledge)"/.exec(html)?.[1] ?? assert.fail(html)
  assert.equal((await operator.post(path)).status, 303)
  const seen = async (query: string) => {
    const { text } = await operator.get(`${OPERATOR}/alerts?${query}`)
    return ['one', 'two', 'gas'].filter((each) => text.includes(`about ${each}`))
  }
  assert.deepEqual(await seen(''), ['two', 'gas'])
  assert.deepEqual(await seen('filter_state=all'), ['one', 'two', 'gas'])
  assert.deepEqual(await seen('filter_state=acknowledged'), ['one'])
  assert.deepEqual(await seen('filter_kind=gas'), ['gas'])
})
