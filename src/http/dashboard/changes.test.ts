/** What people change on the pages: keys that end, roll and are bound; receivers that catch up; notes; a withdrawal called back. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import { call, testApp } from '../../../test/api.ts'
import { hiddenField, homeOf, OWN_FORM, testPerson } from '../../../test/dashboard.ts'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { DESTINATIONS, tellPayouts } from '../../../test/payout-story.ts'
import { findAccount } from '../../accounts/accounts.sql.ts'
import { listApiKeys } from '../../accounts/api-keys.sql.ts'
import { type CustomerId, newId, type PointOfSaleId, showId } from '../../core/ids.ts'
import { DAY_MS } from '../../core/time.ts'
import type { Database } from '../../db/database.ts'
import { createWebhookEndpoint } from '../../events/webhook-endpoints.sql.ts'
import { readBalanceNow } from '../../flows/balance/balance.sql.ts'
import { proveAgain } from '../../flows/people/sign-in.ts'
import { failInSandbox } from '../../flows/sandbox.ts'
import { hashPassword } from '../../users/password.ts'
import { findSession, setChallenge } from '../../users/sessions.sql.ts'
import { hashToken } from '../../users/token.ts'
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
  assert.deepEqual([early.status, /send a test/.test(early.text)], [409, true])
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

test('times of deliveries and of a secret are those of the merchant, as all beside them', async () => {
  await gateway.db.query(
    "update merchants set time_zone = 'Asia/Kolkata' where $1 in (live_account_id, test_account_id)",
    [account.id],
  )
  const made = await gateway.db.transaction((tx) =>
    createWebhookEndpoint(tx, gateway.secrets, {
      accountId: account.id,
      url: 'https://zones.example/hook',
      events: ['payment.completed'],
    }),
  )
  const path = `${home}/webhooks/${showId('whk', made.endpoint.id)}`
  assert.equal((await dev.post(`${path}/test`, { type: 'payment.completed' })).status, 303)
  await gateway.db.query(
    `insert into delivery_attempts (account_id, delivery_id, number, started_at, duration_ms)
     select account_id, id, 1, '2026-07-01T12:00:00Z', 5 from deliveries where endpoint_id = $1`,
    [made.endpoint.id],
  )
  await gateway.db.query(
    "update deliveries set attempts = 1, due_at = '2026-07-01T12:05:00Z' where endpoint_id = $1",
    [made.endpoint.id],
  )
  const { text } = await dev.get(path)
  assert.match(text, /01 Jul(y)? 2026, 17:30 · no answer/)
  assert.match(text, /Next 01 Jul(y)? 2026, 17:35/)
  const { html } = await dev.post(`${path}/rotate`)
  const [, until = '', shown = ''] = /signs too until <time datetime="([^"]*)">([^<]*)</.exec(html) ?? []
  const at = { timeZone: 'Asia/Kolkata', hour: '2-digit', minute: '2-digit' } as const
  assert.ok(shown.endsWith(new Date(until).toLocaleTimeString('en-GB', at)), shown)
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
  const { rows } = await gateway.db.query<{ id: CustomerId }>(
    'select id from customers where account_id = $1',
    [account.id],
  )
  assert(rows[0])
  const customer = `${home}/customers/${showId('cus', rows[0].id)}`
  assert.equal(
    (await support.post(`${customer}/notes`, { note: 'Regular:\r\nno\u0000\tcalls\r\n' })).status,
    303,
  )
  assert.match((await viewer.get(customer)).html, /<p class="note">Regular:\nno {2}calls<\/p>/)
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

test('a withdrawal of the sandbox fails when it is told to, and gives its amount back; a live one is not told so', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const shop = await testApp(story.gateway)
  const finance = await testPerson(story.gateway, shop, { account: story.account, role: 'finance' })
  const hash = await hashPassword('quiet amber lantern')
  await story.gateway.db.query('update users set password_hash = $2 where id = $1', [finance.userId, hash])
  const path = `${homeOf(story.account)}/withdrawals`
  assert.match((await finance.get(`${path}/new`)).text, /Let it fail, as one that the signer refuses/)
  const available = async () =>
    (await readBalanceNow(story.gateway.db, story.account.id)).balances.find(
      ({ asset, kind }) => asset === 'BTC' && kind === 'available',
    )?.atoms
  const before = await available()
  const form = {
    asset: 'BTC',
    amount: '0.0001',
    destination_address: DESTINATIONS['sim-bitcoin'],
    fails: 'yes',
  }
  const asked = await finance.post(path, form)
  assert.match(asked.text, /the amount comes back/)
  const made = await finance.post(path, {
    ...form,
    challenge: hiddenField(asked, 'challenge'),
    code: 'quiet amber lantern',
  })
  assert.equal(made.status, 303, made.text)
  assert.ok(((await available()) ?? 0n) < (before ?? 0n), 'held')
  await story.turn()
  const seen = await finance.get(String(made.location))
  assert.match(seen.text, /failed/)
  assert.match(seen.text, /Why it failed You asked the sandbox to let it fail\./)
  assert.equal(await available(), before)
  const { rows } = await story.gateway.db.query<{ type: string }>(
    "select type from events where type like 'payout%'",
  )
  assert.deepEqual(rows, [{ type: 'payout.failed' }])
  const { rowCount } = await story.gateway.db.query("select from alerts where kind = 'withdrawal_refused'")
  assert.equal(rowCount, 0, 'nothing that an operator has to look at')

  const live = await testAccount(story.gateway, 'live')
  await assert.rejects(
    story.gateway.db.transaction((tx) => failInSandbox(tx, live, { accountId: live.id, id: newId('wd') })),
    { reason: 'test_accounts_only' },
  )
})

/** A form with a file, as a browser without JavaScript sends it. */
function withFile(name: string, type: string, bytes: Uint8Array) {
  const boundary = '----beck-test'
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="logo"; filename="${name}"\r\nContent-Type: ${type}\r\n\r\n`
  return {
    payload: Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}`, ...OWN_FORM },
  }
}

test('a logo is put on the checkout and taken away, by who may change settings and nobody else', async () => {
  const owner = await testPerson(gateway, app, { account, role: 'owner' })
  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(60_000, 'x')])
  const send = (who: { cookie: string }, form: ReturnType<typeof withFile>) =>
    app.inject({
      method: 'POST',
      url: `${home}/settings/logo`,
      payload: form.payload,
      headers: { ...form.headers, cookie: who.cookie },
    })
  const logo = async () => (await findAccount(gateway.db, account.id))?.brandLogo ?? null
  assert.equal((await send(viewer, withFile('a.png', 'image/png', png))).statusCode, 403)
  assert.equal((await send(owner, withFile('a.svg', 'image/svg+xml', Buffer.from('<svg/>')))).statusCode, 400)
  assert.equal((await send(owner, withFile('', 'application/octet-stream', Buffer.alloc(0)))).statusCode, 400)
  assert.equal((await send(owner, withFile('a.png', 'image/png', Buffer.alloc(140_000)))).statusCode, 413)
  const foreign = withFile('a.png', 'image/png', png)
  const elsewhere = { ...foreign.headers, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  assert.equal((await send(owner, { ...foreign, headers: elsewhere })).statusCode, 403)
  assert.equal(await logo(), null)

  const kept = await send(owner, withFile('a.png', 'image/png', png))
  assert.equal(kept.statusCode, 303, kept.body)
  const name = (await logo()) ?? assert.fail('no logo')
  const picture = await app.inject({ url: `/checkout-assets/logos/${name}` })
  assert.deepEqual([picture.headers['content-type'], picture.rawPayload.equals(png)], ['image/png', true])
  assert.ok((await owner.get(`${home}/settings`)).html.includes(`src="/checkout-assets/logos/${name}"`))
  const { rows } = await gateway.db.query<{ before: string; after: string }>(
    `select before::text, after::text from audit_log where action = 'account.change' and account_id = $1
     order by id desc limit 1`,
    [account.id],
  )
  assert.deepEqual(JSON.parse(rows[0]?.after ?? ''), { brand_logo: name })
  assert.equal((await owner.post(`${home}/settings/logo/remove`)).status, 303)
  assert.equal(await logo(), null)
})

test('a logo waits for the confirmation that is asked for, and is what was sent after it', async () => {
  const owner = await testPerson(gateway, app, { account, role: 'owner' })
  const jpeg = Buffer.concat([Buffer.from('ffd8ff', 'hex'), randomBytes(65_000)])
  const hash = await hashPassword('quiet amber lantern')
  await gateway.db.query('update users set password_hash = $2 where id = $1', [owner.userId, hash])
  await gateway.db.query('update sessions set stepped_up_at = null where user_id = $1', [owner.userId])
  const { payload, headers } = withFile('a.jpg', 'image/jpeg', jpeg)
  const asked = await app.inject({
    method: 'POST',
    url: `${home}/settings/logo`,
    payload,
    headers: { ...headers, cookie: owner.cookie },
  })
  assert.match(asked.body, /Confirm that it is you/)
  const value = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(asked.body)?.[1] ?? ''
  const done = await owner.post(`${home}/settings/logo`, {
    challenge: value('challenge'),
    logo: value('logo'),
    code: 'quiet amber lantern',
  })
  assert.equal(done.status, 303, done.text)
  const after = await findAccount(gateway.db, account.id)
  const picture = await app.inject({ url: `/checkout-assets/logos/${after?.brandLogo}` })
  assert.ok(picture.rawPayload.equals(jpeg))
})

test('a password is checked before a transaction waits for it, and one that was changed meanwhile is wrong', async () => {
  const owner = await testPerson(gateway, app, { account, role: 'owner' })
  const password = 'quiet amber lantern'
  const setPassword = async () => {
    const hash = await hashPassword(password)
    await gateway.db.query('update users set password_hash = $2 where id = $1', [owner.userId, hash])
  }
  await setPassword()
  const session = await findSession(gateway.db, hashToken(owner.cookie.replace('beck=', '')))
  assert.ok(session)
  const challenge = randomBytes(32)
  const proof = { challenge: challenge.toString('base64url'), code: password, assertion: '' }
  const prove = async (atTransaction: () => Promise<void>) => {
    await setChallenge(gateway.db, session.id, challenge)
    const db: Database = {
      ...gateway.db,
      async transaction(work, options) {
        await atTransaction()
        return gateway.db.transaction(work, options)
      },
    }
    return proveAgain({ ...gateway, db }, session, proof, { address: '127.0.0.1', agent: 'test' })
  }
  await assert.rejects(prove(setPassword), { reason: 'wrong_code' })
  // It comes after theirs.
  let hashed = 0
  const others = [1, 2, 3].map(() => hashPassword(password).then(() => (hashed += 1)))
  let before = 0
  const { factor } = await prove(async () => {
    before = hashed
  })
  await Promise.all(others)
  assert.equal(factor, 'passkey', 'what the session was proven with')
  assert.ok(before >= 2, `${before} of those before it were done`)
})

test('a point of sale that is switched off already is said to be, and its page is there', async () => {
  const owner = await testPerson(gateway, app, { account, role: 'owner' })
  await owner.post(`${home}/points-of-sale`, { name: 'Counter', currency: 'USD' })
  const { rows } = await gateway.db.query<{ id: PointOfSaleId }>(
    'select id from points_of_sale where account_id = $1',
    [account.id],
  )
  const path = `${home}/points-of-sale/${showId('pos', rows[0]?.id as PointOfSaleId)}/revoke`
  assert.equal((await owner.post(path, {})).status, 303)
  const again = await owner.post(path, {})
  assert.equal(again.status, 409, again.text)
  assert.match(again.html, /switched off already/)
})
