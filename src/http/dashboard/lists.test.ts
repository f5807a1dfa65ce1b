/** What a list shows is what its export has and what its views keep. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { homeOf, testPerson } from '../../../test/dashboard.ts'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { newId, showId } from '../../core/ids.ts'
import { inZone } from './words.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const account = await testAccount(gateway)
const home = homeOf(account)
const owner = await testPerson(gateway, app, { account, role: 'owner' })
await gateway.db.query(
  `update merchants set time_zone = 'Asia/Kolkata' where $1 in (live_account_id, test_account_id)`,
  [account.id],
)
/** Lines of a file that was sent. */
const linesOf = async (path: string): Promise<string[]> => {
  const { status, html } = await owner.get(home + path)
  assert.equal(status, 200, html)
  return html.trimEnd().split(/\r?\n/)
}

test('an export has every row, once, the newest first, across its batches', async () => {
  const rows = 2_100
  await gateway.db.query(
    `insert into customers (account_id, id, email, created_at)
     select $1, uuidv7(), 'c' || n || '@example.com', now() - make_interval(secs => n / 3) from generate_series(1, $2::int) n`,
    [account.id, rows],
  )
  await gateway.db.query(
    `insert into api_requests (account_id, id, at, key_id, request_id, method, path, status, duration_ms, address)
     select $1, uuidv7(), now(), $3, 'req_' || n, 'POST', '/v1/payments', case when n % 2 = 0 then 201 else 422 end, 3, '::1'
     from generate_series(1, $2::int) n`,
    [account.id, rows, newId('key')],
  )
  const customers = await linesOf('/customers/export?column_email&column_currency')
  assert.equal(customers.shift(), 'email,currency')
  assert.equal(new Set(customers).size, rows)
  assert.match(customers[0] ?? '', /^c\d+@example\.com,USD$/)
  const requests = await linesOf('/requests/export?filter_outcome=refused&format=jsonl')
  const read = requests.map((line) => JSON.parse(line))
  assert.equal(new Set(read.map(({ request_id }) => request_id)).size, rows / 2)
  assert.ok(read.every(({ status }) => status === 422))
  const { rows: newest } = await gateway.db.query<{ request_id: string }>(
    'select request_id from api_requests where status = 422 order by id desc limit 1',
  )
  assert.equal(read[0].request_id, newest[0]?.request_id)
})

test('a file has the columns that were ticked, times of the zone that was chosen, and no formula', async () => {
  const payment = await testPayment(gateway, account, { reference: '=1+1', customerEmail: 'ada@example.com' })
  const file = await linesOf('/payments/export?column_created_at=on&column_reference=on&zone=local')
  assert.deepEqual(file, ['reference,created_at', `'=1+1,${inZone(payment.createdAt, 'Asia/Kolkata')}`])
  assert.match(inZone(payment.createdAt, 'Asia/Kolkata'), /\+05:30$/)
  assert.equal(Date.parse(inZone(payment.createdAt, 'America/St_Johns')), payment.createdAt.getTime())
  const [whole = ''] = await linesOf('/payments/export?format=jsonl')
  assert.equal(JSON.parse(whole).created_at, payment.createdAt.toISOString())
  assert.deepEqual(Object.keys(JSON.parse(whole)).slice(0, 3), ['id', 'status', 'asset'])
})

test('what is filtered is what is exported: the link on the page says the same', async () => {
  const held = await testPayment(gateway, account, { reference: 'holds' })
  await gateway.db.query(
    `insert into unresolved_funds (account_id, payment_id, asset, atoms) values ($1, $2, 'LTC', 5)`,
    [account.id, held.id],
  )
  const page = await owner.get(`${home}/payments?held=1`)
  const [, link = ''] = /href="([^"]*\/payments\/export\?format=csv[^"]*)"/.exec(page.html) ?? []
  const file = await linesOf(link.replaceAll('&amp;', '&').slice(home.length))
  assert.equal(file.length, 2)
  assert.match(file[1] ?? '', new RegExp(showId('pay', held.id)))
})

test('a bound that is no day is refused, not left out; a file is not read for a HEAD', async () => {
  for (const wrong of ['from=garbage', 'to=garbage', 'from=2026-06-31', 'to=9999-12-31']) {
    const file = await owner.get(`${home}/customers/export?${wrong}`)
    assert.deepEqual([file.status, /must be a day such as/.test(file.text)], [400, true], wrong)
    assert.match((await owner.get(`${home}/customers?${wrong}`)).text, /must be a day such as 2026-01-31/)
  }
  assert.equal((await owner.get(`${home}/customers/export?order_count_min=many`)).status, 400)
  const head = await app.inject({
    method: 'HEAD',
    url: `${home}/customers/export`,
    headers: { cookie: owner.cookie },
  })
  assert.equal(head.statusCode, 404)
})

test('a list keeps views under a name, each on its own page, up to a bound that is said', async () => {
  const query = 'filter_type=payment.created'
  const full = { page: 'links', query: 'filter_status=active' }
  for (let n = 1; n <= 20; n++)
    assert.equal((await owner.post(`${home}/views`, { ...full, name: `View ${n}` })).status, 303)
  const more = await owner.post(`${home}/views`, { ...full, name: 'View 21' })
  assert.deepEqual([more.status, /keeps 20 views/.test(more.text)], [409, true])
  const kept = await owner.post(`${home}/views`, { page: 'events', name: 'New ones', query })
  assert.equal(kept.location, `${home}/events?${query}&done=view-saved`)
  const events = await owner.get(`${home}/events?${query}`)
  assert.match(events.html, /aria-current="true">New ones</)
  assert.doesNotMatch((await owner.get(`${home}/payments`)).html, /New ones/)
  const [, path = ''] = /action="([^"]*\/views\/[^"]*\/delete)"/.exec(events.html) ?? []
  assert.equal((await owner.post(path, { page: 'events' })).location, `${home}/events?done=view-deleted`)
})
