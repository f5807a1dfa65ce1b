/** What buyers type and choose, and what others send in their name. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { pathOf, testHosted } from '../../../test/hosted.ts'

const { story, open, get, post, pick, show, stateOf, expire } = await testHosted()
const { gateway } = story

test('a form sent twice makes one payment', async () => {
  const id = await open()
  const payments = await Promise.all([pick(id), pick(id), pick(id)])
  assert.equal(new Set(payments.map((payment) => payment.id)).size, 1)
})

test('a session without a price asks for an amount, in the ways of the language', async () => {
  const id = await open({ amountMinor: null, currency: 'EUR' })
  const asked = await show(id)
  assert.equal(asked.state, 'amount')
  assert.match(asked.text, /From €0\.50 to €1,000,000\.00/)
  for (const [typed, problem] of [
    ['0', /Please enter an amount from €0\.50/],
    ['abc', /Please enter an amount such as 25\.50/],
    ['1.234', /such as 25\.50/],
    ['2000000', /from €0\.50 to/],
  ] as const) {
    const refused = await get(`${pathOf(id)}?amount=${typed}`)
    assert.deepEqual([refused.status, refused.state], [400, 'amount'])
    assert.match(refused.text, problem)
  }
  const german = await get(`${pathOf(id)}?lang=en&amount=25,50`)
  assert.equal(german.state, 'choose')
  assert.match(german.text, /€25\.50/)
  assert.match(german.html, /<input type="hidden" name="amount" value="25\.5">/)
  const payment = await pick(id, 'LTC', { amount: '25.5', email: 'ann@shop.example' })
  assert.deepEqual(
    [payment.fiatMinor, payment.fiatCurrency, payment.customerEmail],
    [25_50n, 'EUR', 'ann@shop.example'],
  )
  const again = await get(`${pathOf(id)}/coins`)
  assert.match(again.text, /€25\.50/)
  const forged = await post(`${pathOf(id)}/coin`, { asset: 'LTC', amount: '0.1' })
  assert.deepEqual([forged.status, forged.state], [400, 'amount'])
})

test('a price of the session can not be changed by the form', async () => {
  const id = await open()
  assert.equal((await pick(id, 'LTC', { amount: '0.5' })).fiatMinor, 100_00n)
})

test('what was typed wrongly is said at its field, and kept', async () => {
  const id = await open()
  const noCoin = await post(`${pathOf(id)}/coin`, { email: 'ann@shop.example' })
  assert.equal(noCoin.status, 400)
  assert.match(noCoin.text, /Please choose a coin/)
  assert.match(noCoin.html, /value="ann@shop.example"/)
  const noEmail = await post(`${pathOf(id)}/coin`, { asset: 'LTC', email: 'ann' })
  assert.match(noEmail.text, /Please enter an email address/)
  assert.match(noEmail.html, /value="LTC" data-live checked/)
  assert.equal(await stateOf(id), 'choose')
})

test("the merchant's email is shown so that its owner alone knows it, and an earlier visitor's not at all", async () => {
  const id = await open({ customerEmail: 'ann@shop.example' })
  const page = await show(id)
  assert.match(page.text, /Email: a•••@shop\.example/)
  assert.ok(!page.html.includes('ann@shop.example'))
  assert.equal((await pick(id, 'LTC', { email: 'eve@shop.example' })).customerEmail, 'ann@shop.example')
  const other = await open()
  await pick(other, 'LTC', { email: 'ben@shop.example' })
  assert.ok(!(await get(`${pathOf(other)}/coins`)).html.includes('ben@'))
  assert.ok(!(await show(other)).html.includes('ben@'))
})

test('what is typed is cut between characters: no page breaks on half of one', async () => {
  const priced = await open()
  const payment = await pick(priced)
  const priceless = await open({ amountMinor: null })
  const cut = (length: number) => encodeURIComponent(`${'1'.repeat(length - 1)}🧾`)
  for (const path of [
    `${pathOf(priceless)}/amount?amount=${cut(40)}`,
    `${pathOf(priced)}/transaction?id=${cut(200)}`,
  ]) {
    const page = await get(path)
    assert.equal(page.status, 200, path)
    assert.match(page.html, /1\ufffd/)
  }
  await expire(payment)
  await story.payAndConfirm(payment, 100_000_000n)
  const again = await post(`${pathOf(priced)}/refund-address`, { address: `${'x'.repeat(127)}🧾` })
  assert.equal(again.status, 400)
  assert.match(again.html, /xx\ufffd/)
})

test('forms of other sites, and what is no form at all, change nothing', async () => {
  const id = await open()
  const path = `${pathOf(id)}/coin`
  const foreign: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': '', origin: 'https://evil.example' },
    { 'sec-fetch-site': '', origin: 'null' },
  ]
  for (const headers of foreign) assert.equal((await post(path, { asset: 'LTC' }, headers)).status, 403)
  assert.equal((await post(path, { asset: 'LTC' }, { 'content-type': 'application/json' })).status, 415)
  assert.equal((await post(path, { asset: 'LTC', x: 'y'.repeat(9_000) })).status, 413)
  assert.equal((await post(path, { asset: 'DOGE' })).status, 400)
  assert.equal(await stateOf(id), 'choose')
  const old = await post(path, { asset: 'LTC' }, { 'sec-fetch-site': '', origin: gateway.settings.publicUrl })
  assert.equal(old.status, 303)
})

test('what was typed stays when the language is changed', async () => {
  const id = await open({ amountMinor: null })
  const english = await get(`${pathOf(id)}?amount=1,234.50`)
  const german = /href="([^"]*lang=de)"/.exec(english.html)?.[1]?.replaceAll('&amp;', '&') ?? ''
  assert.equal(german, `${pathOf(id)}?amount=1234.5&lang=de`)
  const page = await get(german)
  assert.deepEqual([page.status, page.state], [200, 'choose'])
  assert.match(page.text, /1\.234,50\s\$/)

  const coins = await open()
  await pick(coins)
  await gateway.db.query("update payments set status = 'expired' where checkout_session_id = $1", [coins])
  const searched = await get(`${pathOf(coins)}/transaction?id=${'ab'.repeat(32)}%26%22`)
  assert.ok(searched.html.includes(`/transaction?id=${'ab'.repeat(32)}%26%22&amp;lang=fr"`))
})
