/** What a list shows is what its export has and what its views keep. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { homeOf, testPerson } from '../../../test/dashboard.ts'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { createApiKey } from '../../accounts/api-keys.sql.ts'
import { type EventId, newId, showId } from '../../core/ids.ts'
import { announce } from '../../events/announce.sql.ts'
import { inZone } from './words.ts'

const gateway = await testGateway({ freshPerChain: 40 })
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
  const called = await linesOf('/payments/export?filter_reference=holds&column_id=on')
  assert.deepEqual(called, ['id', showId('pay', held.id)])
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

test('the search finds links and keys by their names, and pages that one may open', async () => {
  const search = async (who: typeof owner, text: string) => (await who.get(`${home}/search?q=${text}`)).text
  const viewer = await testPerson(gateway, app, { account, role: 'viewer' })
  await owner.post(`${home}/links`, { label: 'Green tea', amount: '5', currency: 'USD' })
  const key = await createApiKey(gateway.db, {
    accountId: account.id,
    mode: 'test',
    name: 'Tea shop',
    scopes: ['payments:read'],
  })
  assert.match(await search(owner, 'tea'), /Payment links Green tea \$5\.00 .*API keys Tea shop …/)
  assert.match(await search(viewer, 'tea'), /Payment links Green tea/)
  assert.doesNotMatch(await search(viewer, 'tea'), /Tea shop/)
  assert.match(await search(owner, 'webh'), /Pages Webhooks/)
  assert.match(await search(owner, 'audit'), /Pages Audit log/)
  assert.match(await search(viewer, 'audit'), /Nothing found/)
  assert.match(await search(owner, '%25%25%25'), /Nothing found/, 'a label has no pattern in it')
  assert.equal((await owner.post(`${home}/keys/${showId('key', key.id)}/revoke`)).status, 303)
  assert.doesNotMatch(await search(owner, 'tea'), /Tea shop/, 'a revoked key opens nothing')
})

test('a search that shows not all of what there is says so, and leads to the list that has the rest', async () => {
  const shop = await testAccount(gateway)
  const who = await testPerson(gateway, app, { account: shop, role: 'owner' })
  const at = homeOf(shop)
  const insert = (from: number, to: number, label: string) =>
    gateway.db.query(
      `insert into payment_links (account_id, id, label, amount_minor, currency, created_at)
       select $1, gen_random_uuid(), $4, 500, 'USD', now() - n * interval '1 second' from generate_series($2::int, $3) n`,
      [shop.id, from, to, label],
    )
  const search = (text: string) => who.get(`${at}/search?q=${text}`)
  const count = ({ html }: { html: string }) => html.split('/links/plink_').length - 1
  await insert(1, 10, 'Tea & cake')
  assert.doesNotMatch((await search('tea')).text, /There are more|looked through/)
  await insert(11, 11, 'Tea & cake')
  const more = await search('tea%20%26')
  assert.equal(count(more), 10)
  assert.match(more.text, /There are more than these 10\. All with it in their label/)
  const [, path = ''] = /href="([^"]*\/links\?filter_label=[^"]*)"/.exec(more.html) ?? []
  assert.equal(count(await who.get(path.replaceAll('&amp;', '&'))), 11)

  // A link that twenty thousand newer ones lie over is not looked for, and the page says so.
  await insert(12, 10_001, 'Coffee')
  await insert(10_002, 10_002, 'Old mate')
  const old = await search('old%20mate')
  assert.match(
    old.text,
    /Payment links None found\. Only the newest 10,000 were looked through\. All with it in their label/,
  )
  assert.match(old.text, /Nothing found/)
  assert.equal(count(await who.get(`${at}/links?filter_label=old+mate`)), 1)
  assert.match((await search('tea')).text, /There are more than these 10\./)
  assert.doesNotMatch((await search('nobody')).text, /Customers/)

  for (let n = 1; n <= 11; n++) {
    await createApiKey(gateway.db, {
      accountId: shop.id,
      mode: 'test',
      name: `Till ${n}`,
      scopes: ['payments:read'],
    })
    await testPayment(gateway, shop, { reference: 'order-7', customerEmail: `ann${n}@shop.example` })
  }
  const keys = await search('till')
  assert.match(keys.text, /There are more than these 10\. All with it in their name/)
  assert.ok(keys.html.includes('/keys?filter_name=till"'))
  assert.match((await search('order-7')).text, /There are more than these\. All with this reference/)
  assert.match((await search('100')).text, /There are more than these\. All whose net is this amount/)
  assert.match(
    (await search('shop.example')).text,
    /There are more than these 10\. All with it in their email , all with it in their name/,
  )
})

test('the list of customers finds them by their names, and that of withdrawals by where they went, as a search does', async () => {
  const shop = await testAccount(gateway)
  const who = await testPerson(gateway, app, { account: shop, role: 'owner' })
  const at = homeOf(shop)
  for (const name of ['Ann Lee', 'Bob'])
    await who.post(`${at}/customers/new`, { email: `${name.replace(' ', '.')}@names.example`, name })
  const { text } = await who.get(`${at}/customers?filter_name=nn+l`)
  assert.match(text, /Ann\.Lee@names\.example/i)
  assert.doesNotMatch(text, /Bob@/i)

  const to = 'tltc1q6hyhaav9389zcftawht7c3w0nrpec0xyj9gmrv'
  await gateway.db.query(
    `insert into withdrawals (account_id, id, kind, status, chain, asset, amount_atoms, fee_atoms, network_fee_atoms, net_atoms,
       destination, asked_by, mac, tx_hash)
     select $1, gen_random_uuid(), 'payout', 'broadcast', 'sim-litecoin', 'LTC', 10, 1, 1, 8, $2, 'unknown', sha256(''), repeat('ab', 32)
     from generate_series(1, 11)`,
    [shop.id, to],
  )
  const count = ({ html }: { html: string }) => new Set(html.match(/withdrawals\/wd_\w+/g)).size
  for (const asked of [to, 'ab'.repeat(32), 'AB'.repeat(32)]) {
    const found = await who.get(`${at}/search?q=${asked}`)
    assert.match(found.text, /There are more than these 10\. All of them/)
    assert.equal(count(found), 10)
    assert.ok(found.html.includes(`/withdrawals?filter_to=${asked}"`))
    assert.equal(count(await who.get(`${at}/withdrawals?filter_to=${asked}`)), 11)
  }
  assert.match((await who.get(`${at}/withdrawals?filter_to=${to.slice(1)}`)).text, /Nothing matches/)
})

test('a checkout made by hand is mailed to the buyer whose address was typed, and to nobody when none was', async () => {
  const made = (email: string) =>
    owner.post(`${home}/checkout`, { label: 'Order 7', amount: '5', currency: 'USD', email })
  const mails = (html: string) => /href="(mailto:[^?"]*)\?subject=Order%207&amp;body=http/.exec(html)?.[1]
  assert.equal(mails((await made('ann+tea&co@shop.example')).html), 'mailto:ann%2Btea%26co@shop.example')
  const { html } = await made('')
  assert.match(html, /Send this to the buyer/)
  assert.doesNotMatch(html, /mailto:/)
})

test('a list shows the columns in its URL, which its views keep, its tabs carry on and its exports do not read', async () => {
  const headings = (html: string) =>
    [...html.matchAll(/<th scope="col"[^>]*>([\s\S]*?)<\/th>/g)].map(([, cell = '']) =>
      cell
        .replace(/<[^>]*>/g, ' ')
        .replace(/[↓↑].*/, '')
        .trim(),
    )
  const usual = await owner.get(`${home}/payments`)
  assert.deepEqual(headings(usual.html), ['Net', 'Status', 'Coin', 'Reference', 'Id', 'Created'])
  const ticked = await owner.get(`${home}/payments?columns=address&columns=status&sort=total`)
  assert.deepEqual(headings(ticked.html), ['Net', 'Status', 'Address'])
  assert.match(ticked.html, /aria-label="Copy the address: tltc1/)
  assert.match(ticked.html, /href="[^"]*filter_status=pending&amp;columns=address%2Cstatus"/)
  assert.match(ticked.html, /export\?format=csv&amp;sort=total"/)
  assert.match(ticked.html, /name="columns" value="address,status"/, 'filtering keeps them')
  const query = 'columns=address%2Cstatus&filter_status=pending'
  const kept = await owner.post(`${home}/views`, { page: 'payments', name: 'Where to', query })
  const view = await owner.get(kept.location?.replace('&done=view-saved', '') ?? '')
  assert.match(view.html, /aria-current="true">Where to</)
  assert.doesNotMatch(view.html, /aria-current="true">Pending</)
  assert.deepEqual(headings(view.html), ['Net', 'Status', 'Address'])
  const none = await owner.get(`${home}/customers?columns=name&filter_email=nobody`)
  assert.match(none.text, /Nothing matches/)
  const other = await owner.get(`${home}/withdrawals?columns=transaction`)
  assert.match(other.text, /No withdrawal yet/, 'a choice of columns filters nothing')
})

test('keys are paged, sorted, and found by name and state', async () => {
  const shop = await testAccount(gateway)
  const person = await testPerson(gateway, app, { account: shop, role: 'developer' })
  const make = (name: string, expiresAt: Date | null = null) =>
    createApiKey(gateway.db, { accountId: shop.id, mode: 'test', name, scopes: ['payments:read'], expiresAt })
  for (let number = 0; number < 27; number++) await make(`Till ${String(number).padStart(2, '0')}`)
  await make('Over', new Date(Date.now() - 1_000))
  const gone = await make('Gone')
  await gateway.db.query('update api_keys set revoked_at = now() where id = $1', [gone.id])
  const names = async (query: string) =>
    [
      ...(await person.get(`${homeOf(shop)}/keys?${query}`)).html.matchAll(
        /<td[^>]*><strong>([^<]*)<\/strong>/g,
      ),
    ].map(([, name]) => name)
  assert.deepEqual((await names('')).length, 25)
  assert.deepEqual((await names('page=2')).length, 4)
  assert.deepEqual((await names('sort=name&order=asc')).slice(0, 3), ['Gone', 'Over', 'Till 00'])
  assert.deepEqual(
    await names('filter_name=till+0&sort=name&order=asc'),
    [...Array(10).keys()].map((n) => `Till 0${n}`),
  )
  assert.deepEqual(await names('filter_status=revoked'), ['Gone'])
  assert.deepEqual(await names('filter_status=expired'), ['Over'])
  assert.equal((await names('filter_status=active&page=2')).length, 2)
})

test('the audit log is filtered, exported as filtered, and keeps views', async () => {
  const shop = await testAccount(gateway)
  const boss = await testPerson(gateway, app, { account: shop, role: 'owner' })
  const at = homeOf(shop)
  for (const name of ['Bar', 'Counter']) await boss.post(`${at}/points-of-sale`, { name, currency: 'USD' })
  await boss.post(`${at}/links`, { label: 'Tea', amount: '5', currency: 'USD' })
  const actions = async (query: string) =>
    [...(await boss.get(`${at}/audit?${query}`)).html.matchAll(/<td[^>]*><code>([a-z_.]+)<\/code>/g)].map(
      ([, action]) => action,
    )
  assert.deepEqual(await actions('filter_action=point_of_sale.create'), Array(2).fill('point_of_sale.create'))
  assert.deepEqual(await actions('filter_subject=Bar'), ['point_of_sale.create'])
  assert.deepEqual(await actions('filter_kind=key'), [])
  const all = await actions('order=asc')
  assert.deepEqual(await actions(''), all.toReversed())
  const file = (await boss.get(`${at}/audit/export?filter_subject=Bar&column_subject=on&column_action=on`))
    .html
  assert.deepEqual(file.trimEnd().split(/\r?\n/), ['action,subject', 'point_of_sale.create,Bar'])
  const kept = await boss.post(`${at}/views`, { page: 'audit', name: 'By keys', query: 'filter_kind=key' })
  assert.equal(kept.location, `${at}/audit?filter_kind=key&done=view-saved`)
  assert.match((await boss.get(`${at}/audit`)).html, />By keys</)
})

test('points of sale are found by name and state', async () => {
  const shop = await testAccount(gateway)
  const person = await testPerson(gateway, app, { account: shop, role: 'owner' })
  const at = `${homeOf(shop)}/points-of-sale`
  const made: string[] = []
  for (const name of ['Bar', 'Counter'])
    made.push((await person.post(at, { name, currency: 'USD' })).location?.split('?')[0] ?? '')
  assert.equal((await person.post(`${made[0]}/revoke`)).status, 303)
  const seen = async (query: string) => {
    const { html } = await person.get(`${at}?${query}`)
    return ['Bar', 'Counter'].filter((name) => html.includes(`>${name}</a>`))
  }
  assert.deepEqual(await seen(''), ['Bar', 'Counter'])
  assert.deepEqual(await seen('filter_status=active'), ['Counter'])
  assert.deepEqual(await seen('filter_status=inactive'), ['Bar'])
  assert.deepEqual(await seen('filter_name=COUNT'), ['Counter'])
})

test('who may not read withdrawals finds none among the events', async () => {
  const dev = await testPerson(gateway, app, { account, role: 'developer' })
  const paid = newId('wd')
  await gateway.db.transaction((tx) =>
    announce(tx, {
      accountId: account.id,
      type: 'payout.completed',
      cause: `withdrawal:${paid}:completed`,
      data: { id: paid },
    }),
  )
  const { rows } = await gateway.db.query<{ id: string }>(
    `select id from events where account_id = $1 and type = 'payout.completed'`,
    [account.id],
  )
  const ways = ['', '?filter_type=payout.completed', `?filter_id=${showId('evt', rows[0]?.id as EventId)}`]
  for (const way of ways) {
    assert.match((await owner.get(`${home}/events${way}`)).html, new RegExp(paid), way)
    assert.doesNotMatch((await dev.get(`${home}/events${way}`)).html, new RegExp(paid), way)
  }
  assert.doesNotMatch((await dev.get(`${home}/events`)).html, /<option[^>]*payout\./)
  assert.match(String(await linesOf('/events/export?column_type')), /payout\.completed/)
})
