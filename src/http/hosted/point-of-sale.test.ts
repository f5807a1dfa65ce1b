/** A point of sale can do what a counter needs, and nothing else. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testAccount } from '../../../test/gateway.ts'
import { pathOf, testHosted } from '../../../test/hosted.ts'
import { insertPointOfSale, listSales, revokePointOfSale } from '../../checkout/points-of-sale.sql.ts'
import type { Fiat } from '../../core/assets.ts'
import { newPublicId, readId, showId } from '../../core/ids.ts'

const hosted = await testHosted()
const { get, post, story } = hosted
const { gateway } = story

async function openPoint(currency: Fiat = 'USD', account = story.account) {
  const { id } = await gateway.db.transaction((tx) =>
    insertPointOfSale(tx, { accountId: account.id, name: 'Counter <1>', currency }),
  )
  const path = `/pos/${showId('pos', id)}`
  const sell = async (amount: string, note = '') => {
    const { status, location = '' } = await post(path, { amount, note })
    assert.equal(status, 303)
    return location
  }
  return { id, path, sell }
}
const sessionOf = (path: string) => {
  const id = readId('cs', path.split('/').at(-1) ?? '')
  assert.ok(id)
  return id
}

test('an amount becomes a sale with a code for the buyer, a coin, and "Paid"', async () => {
  const { path, sell } = await openPoint()
  const keypad = await get(path)
  assert.equal(keypad.state, 'keypad')
  assert.match(keypad.html, /<h1>Counter &lt;1&gt;<\/h1>/)
  const sale = await sell('100', 'Two <teas>')
  const asked = await get(sale)
  assert.equal(asked.state, 'choose')
  assert.match(asked.text, /\$100\.00/)
  assert.match(asked.html, /data-path="\/checkout\/cs_\w+" data-version=/, 'kept live as the checkout is')
  assert.deepEqual((await post(`${sale}/coin`, { asset: 'LTC' })).location, sale)
  assert.match((await get(sale)).text, /\$100\.00 1 LTC/)
  const payment = await hosted.payment(sessionOf(sale))
  await story.pay(payment, 100_000_000n)
  await story.look()
  assert.equal((await get(sale)).state, 'seen')
  await story.mine(6)
  await story.look()
  const paid = await get(sale)
  assert.match(paid.text, /^Paid \$100\.00 1 LTC Next customer$/)
  const list = await get(`${path}/sales`)
  assert.match(list.text, /\$100\.00 Paid .* · Two &lt;teas&gt;/)
})

test('the last twenty are shown, the newest first, with what became of each', async () => {
  const { id, path, sell } = await openPoint('EUR')
  assert.match((await get(`${path}/sales`)).text, /Nothing was sold here yet/)
  for (let euros = 1; euros <= 21; euros++) await sell(String(euros))
  const { text, html } = await get(`${path}/sales?lang=de`)
  assert.equal(html.match(/<li>/g)?.length, 20)
  assert.ok(text.indexOf('21,00') < text.indexOf('20,00'))
  assert.doesNotMatch(text, / 1,00/)
  const sales = await listSales(gateway.db, id, 2)
  await gateway.db.query('update checkout_sessions set expires_at = now() where id = $1', [
    sales[0]?.sessionId,
  ])
  assert.match((await get(`${path}/sales`)).text, /€21\.00 Not paid .* €20\.00 Open/)
})

test('a sale that is over says when coins that came for it are held, until they were sent back', async () => {
  const { path, sell } = await openPoint()
  const begin = async () => {
    const sale = await sell('100')
    await post(`${sale}/coin`, { asset: 'LTC' })
    return hosted.payment(sessionOf(sale))
  }
  const last = async () =>
    /\$100\.00 (Not paid|On hold|Part is missing)/.exec((await get(`${path}/sales`)).text)?.[1]
  const payment = await begin()
  await hosted.expire(payment)
  assert.equal(await last(), 'Not paid')
  await story.pay(payment, 100_000_000n)
  await story.look()
  assert.equal(await last(), 'On hold')
  await story.mine(6)
  await story.look()
  assert.equal(await last(), 'On hold')
  await hosted.refund(payment)
  assert.equal(await last(), 'Not paid')
})

test('it sells for its own account, and shows nothing that was not sold there', async () => {
  const { path, sell } = await openPoint()
  const other = await openPoint('USD', await testAccount(gateway))
  const foreign = sessionOf(await other.sell('5'))
  const own = sessionOf(await sell('5'))
  for (const session of [foreign, await hosted.open(), newPublicId('cs')])
    for (const page of ['', '/coins']) {
      const { status, state } = await get(`${path}/sales/${showId('cs', session)}${page}`)
      assert.deepEqual([status, state], [404, 'unknown'])
    }
  for (const form of ['coin', 'simulate'])
    assert.equal((await post(`${path}/sales/${showId('cs', foreign)}/${form}`, { asset: 'LTC' })).status, 404)
  const { rows } = await gateway.db.query(
    'select 1 from checkout_sessions where id = $1 and account_id = $2',
    [own, story.account.id],
  )
  assert.equal(rows.length, 1)
  // No form of it cancels, refunds, or leads into the account.
  const { html } = await get(path)
  assert.deepEqual(
    [...html.matchAll(/action="([^"]+)"/g)].map(([, action]) => action),
    [path],
  )
})

test('once switched off it shows and sells nothing, whatever was open', async () => {
  const { id, path, sell } = await openPoint()
  const sale = await sell('5')
  await gateway.db.transaction((tx) => revokePointOfSale(tx, story.account.id, id))
  for (const page of [path, sale, `${path}/sales`, `${path}/manifest.webmanifest`])
    assert.deepEqual([(await get(page)).status, (await get(page)).state], [410, 'pos_revoked'], page)
  assert.equal((await post(path, { amount: '5' })).status, 410)
  assert.equal((await post(`${sale}/coin`, { asset: 'LTC' })).status, 410)
  // The buyer who has the checkout can still pay it.
  assert.equal((await get(pathOf(sessionOf(sale)))).state, 'choose')
  for (const unknown of ['/pos/pos_nothing', `/pos/${showId('pos', newPublicId('pos'))}`])
    assert.equal((await get(unknown)).status, 404)
})

test('forms of other sites, frames, wrong amounts and too many sales are refused', async () => {
  const { path } = await openPoint()
  const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  assert.equal((await post(path, { amount: '5' }, foreign)).status, 403)
  assert.match(String((await get(path)).headers['content-security-policy']), /frame-ancestors 'none'/)
  for (const amount of ['', '0', '1.234', '0.10', '99999999', '<b>']) {
    const { status, html } = await post(path, { amount })
    assert.equal(status, 400, amount)
    assert.match(html, /aria-invalid="true"/)
  }
  const bounded = await testHosted({ hosted: { limits: { sales: { perSecond: 0.001, burst: 2 } } } })
  const { id } = await bounded.story.gateway.db.transaction((tx) =>
    insertPointOfSale(tx, { accountId: bounded.story.account.id, name: 'Counter', currency: 'USD' }),
  )
  const statuses = []
  for (let i = 0; i < 3; i++)
    statuses.push((await bounded.post(`/pos/${showId('pos', id)}`, { amount: '5' })).status)
  assert.deepEqual(statuses, [303, 303, 429])
})

test('a phone can keep it on its home screen', async () => {
  const { path } = await openPoint()
  const { html } = await get(`${path}?lang=de`)
  const manifest = /<link rel="manifest" href="([^"]+)"/.exec(html)?.[1] ?? ''
  const { headers, html: body } = await get(manifest)
  assert.match(String(headers['content-type']), /^application\/manifest\+json/)
  const { start_url, scope, display, icons } = JSON.parse(body)
  assert.deepEqual([start_url, scope, display], [`${path}?lang=de`, path, 'standalone'])
  const icon = await hosted.app.inject({ url: icons[0].src })
  assert.equal(icon.headers['content-type'], 'image/png')
  assert.equal(icons[0].sizes, `${icon.rawPayload.readUInt32BE(16)}x${icon.rawPayload.readUInt32BE(20)}`)
  assert.ok(html.includes(`<link rel="apple-touch-icon" href="${icons[0].src}">`))
})
