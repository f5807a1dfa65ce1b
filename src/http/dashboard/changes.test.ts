/** What people change on the pages: keys that end, roll and are bound; receivers that catch up; notes; a withdrawal called back. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp } from '../../../test/api.ts'
import { homeOf, testPerson } from '../../../test/dashboard.ts'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { tellPayouts } from '../../../test/payout-story.ts'
import { listApiKeys } from '../../accounts/api-keys.sql.ts'
import { showId } from '../../core/ids.ts'
import { DAY_MS } from '../../core/time.ts'
import { createWebhookEndpoint } from '../../events/webhook-endpoints.sql.ts'
import { withdrawalResource } from '../../withdrawals/withdrawal-resource.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const account = await testAccount(gateway)
const home = homeOf(account)
const dev = await testPerson(gateway, app, { account, role: 'developer' })
const support = await testPerson(gateway, app, { account, role: 'support' })
const viewer = await testPerson(gateway, app, { account, role: 'viewer' })

const shownKey = (html: string) => /data-copy="(bk_test_\w+)"/.exec(html)?.[1] ?? ''

test('a key ends when it was said, comes from where it was said, and rolls with an overlap', async () => {
  const form = {
    name: 'Shop',
    scopes: ['payments:read'],
    expires: '30',
    allowed_networks: '203.0.113.7, 2001:db8::/32',
  }
  const wrong = await dev.post(`${home}/keys`, { ...form, allowed_networks: 'shop.example' })
  assert.deepEqual([wrong.status, /value="shop.example"/.test(wrong.html)], [400, true])
  const made = await dev.post(`${home}/keys`, form)
  assert.equal(made.status, 200, made.text)
  const [key] = await listApiKeys(gateway.db, account.id)
  assert.ok(key?.expiresAt)
  assert.ok(Math.abs(key.expiresAt.getTime() - Date.now() - 30 * DAY_MS) < 60_000)
  assert.deepEqual(key.allowedNetworks, ['203.0.113.7', '2001:db8::/32'])
  assert.equal(
    (await call(app, shownKey(made.html), 'GET', '/v1/payments')).status,
    403,
    'from another address',
  )

  const open = await dev.post(`${home}/keys`, { name: 'Open', scopes: ['payments:read'] })
  const old = (await listApiKeys(gateway.db, account.id)).find(({ name }) => name === 'Open')
  assert.ok(old)
  const path = `${home}/keys/${showId('key', old.id)}/roll`
  assert.match((await dev.get(path)).text, /Roll Open/)
  const rolled = await dev.post(path, { overlap: '1', expires: '90' })
  assert.equal(rolled.status, 200, rolled.text)
  const works = async (text: string) => (await call(app, text, 'GET', '/v1/payments')).status
  assert.deepEqual([await works(shownKey(open.html)), await works(shownKey(rolled.html))], [200, 200])
  const again = (await listApiKeys(gateway.db, account.id)).find(({ id }) => id === old.id)
  assert.ok(again?.expiresAt && again.expiresAt.getTime() <= Date.now() + 3_600_000)
  assert.equal((await dev.post(path, { overlap: '99' })).status, 400)
  await gateway.db.query(`update api_keys set expires_at = now() - interval '1 second' where id = $1`, [
    old.id,
  ])
  assert.match((await dev.get(`${home}/keys`)).text, /expired/)
  assert.equal((await dev.get(path)).status, 404, 'what opens nothing is not rolled')
})

test('a receiver is sent the newest event, and what it missed since a day, once', async () => {
  const { endpoint } = await gateway.db.transaction((tx) =>
    createWebhookEndpoint(tx, gateway.secrets, {
      accountId: account.id,
      url: 'https://shop.example/hook',
      events: ['payment.created'],
    }),
  )
  const path = `${home}/webhooks/${showId('whk', endpoint.id)}`
  const early = await dev.post(`${path}/newest`)
  assert.deepEqual([early.status, /make a payment first/.test(early.text)], [409, true])
  for (let i = 0; i < 3; i++) await testPayment(gateway, account)
  const states = async () => {
    const { rows } = await gateway.db.query<{ status: string; n: bigint }>(
      `select status, count(*) as n from deliveries where endpoint_id = $1 group by status`,
      [endpoint.id],
    )
    return Object.fromEntries(rows.map(({ status, n }) => [status, Number(n)]))
  }
  await gateway.db.query(`update deliveries set status = 'delivered', due_at = null, finished_at = now()`)
  assert.equal((await dev.post(`${path}/newest`)).location, `${path}?done=resent`)
  assert.deepEqual(await states(), { delivered: 2, pending: 1 })
  await gateway.db.query(`update deliveries set status = 'delivered', due_at = null, finished_at = now()`)
  await gateway.db.query(
    `update deliveries set status = 'failed' where id = (select id from deliveries limit 1)`,
  )
  await gateway.db.query(
    `delete from deliveries where id = (select id from deliveries where status = 'delivered' limit 1)`,
  )
  const since = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10)
  assert.equal((await dev.post(`${path}/recover`, { since })).location, `${path}?done=recovered`)
  assert.deepEqual(await states(), { delivered: 1, pending: 2 })
  assert.equal((await dev.post(`${path}/recover`, { since })).location, `${path}?done=nothing-missed`)
  assert.equal((await dev.post(`${path}/recover`, { since: 'yesterday' })).status, 400)
})

test('notes are the team’s: who may, writes and deletes them; others read', async () => {
  const payment = await testPayment(gateway, account, { customerEmail: 'ada@example.com' })
  const path = `${home}/payments/${showId('pay', payment.id)}`
  assert.equal(
    (await support.post(`${path}/notes`, { note: 'Called: <b>pays</b> tomorrow' })).location,
    `${path}?done=note-added`,
  )
  assert.equal((await support.post(`${path}/notes`, { note: ' ' })).status, 400)
  assert.equal((await viewer.post(`${path}/notes`, { note: 'x' })).status, 403)
  const seen = await viewer.get(path)
  assert.match(seen.html, /Called: &lt;b&gt;pays&lt;\/b&gt; tomorrow/)
  assert.doesNotMatch(seen.html, /<textarea/)
  const remove = /action="([^"]*\/notes\/[^"]*\/delete)"/.exec((await support.get(path)).html)?.[1] ?? ''
  assert.equal((await viewer.post(remove)).status, 403)
  assert.equal((await support.post(remove)).location, `${path}?done=note-deleted`)
  assert.equal((await support.post(remove)).status, 404)
  assert.doesNotMatch((await support.get(path)).text, /tomorrow/)
  const { rows } = await gateway.db.query<{ id: string }>('select id from customers where account_id = $1', [
    account.id,
  ])
  const customer = `${home}/customers/${showId('cus', rows[0]?.id as never)}`
  assert.equal((await support.post(`${customer}/notes`, { note: 'Regular' })).status, 303)
  assert.match((await viewer.get(customer)).text, /Regular/)
})

test('a withdrawal is called back until it is signed', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const shop = await testApp(story.gateway)
  const finance = await testPerson(story.gateway, shop, { account: story.account, role: 'finance' })
  const withdrawal = await story.request('BTC', '0.0001')
  const path = `${homeOf(story.account)}/withdrawals/${showId('wd', withdrawal.id)}`
  assert.match((await finance.get(path)).text, /Cancel the withdrawal/)
  assert.equal((await finance.post(`${path}/cancel`)).location, `${path}?done=withdrawal-cancelling`)
  assert.match((await finance.get(path)).text, /It is being cancelled/)
  await story.turn()
  assert.equal(withdrawalResource(await story.now(withdrawal)).failure_reason, 'cancelled')
  const late = await finance.post(`${path}/cancel`)
  assert.equal(late.status, 409)
})
