/** A form that was refused says why, where, and lets people out on the way they came. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { homeOf, OWN_FORM, testPerson } from '../../../test/dashboard.ts'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { invalid } from '../../core/errors.ts'
import { merchantOfAccount } from '../../flows/people/merchants.ts'
import { putMember } from '../../users/merchants.sql.ts'
import { html } from '../hosted/html.ts'
import { formOf } from './form.ts'
import { withProblem } from './form-problem.ts'
import { checks, field, formProblem } from './parts.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const [account, other] = [await testAccount(gateway), await testAccount(gateway)]
const home = homeOf(account)
const owner = await testPerson(gateway, app, { account, role: 'owner' })
await gateway.db.transaction(async (tx) =>
  putMember(tx, (await merchantOfAccount(tx, other)).id, owner.userId, 'owner'),
)
const homes = [home, homeOf(other)]

const refused = (details: Parameters<typeof invalid>[2]) => ({
  form: formOf([]),
  problem: { refusal: invalid('made_up', 'it is wrong', details), drawn: new Map<string, string>() },
})

test('each detail is told: with a way to its field, or with its name where no field has it', () => {
  const call = refused([
    { field: 'elsewhere_too', message: 'is not of this page' },
    { field: 'boxes', message: 'boxes are to be ticked' },
    { field: 'amount', message: 'amount must be more' },
  ])
  const page = withProblem(
    call.problem,
    html`<h1>Page</h1>${formProblem(call)}${field(call, { name: 'first', label: 'First', isFocused: true })}${checks(call, { name: 'boxes', legend: 'What', choices: [['a', 'A']] })}${field(call, { name: 'amount', label: 'Price', hint: 'Much' })}`,
  ).markup
  assert.match(page, /^<h1>Page<\/h1><div class="notice bad" role="alert"><p>Nothing was done yet/)
  assert.match(page, /<li>Elsewhere too: is not of this page<\/li>/)
  assert.match(page, /<li><a href="#boxes">What<\/a>: are to be ticked<\/li>/)
  assert.match(page, /<li><a href="#amount">Price<\/a>: must be more<\/li>/)
  assert.match(page, /<p class="problem" id="amount-problem">“Price” must be more<\/p>/)
  assert.match(page, /name="amount"[^>]*aria-describedby="amount-hint amount-problem"/)
  assert.deepEqual(
    [...page.matchAll(/<input([^>]*) autofocus/g)].map(([input]) => /name="(\w+)"/.exec(input)?.[1]),
    ['boxes'],
    'the first one that is wrong, and no other',
  )
})

test('a page without a place for it tells it above everything, and the keyboard is there', () => {
  const page = withProblem(refused([]).problem, html`<h1>Page</h1>`).markup
  assert.equal(
    page,
    '<div class="notice bad" role="alert" tabindex="-1" autofocus><p>It is wrong.</p></div><h1>Page</h1>',
  )
})

test('a price that is too small, too large or none is refused with what was typed, and one with a comma is taken', async () => {
  const form = { asset: 'LTC', currency: 'USD' }
  for (const [typed, why] of [
    ['0.1', /Amount : the least payment is 0\.5 USD, got 0\.1 USD/],
    ['9999999', /Amount : the largest payment is 1000000 USD, got 9999999 USD/],
    ['much', /Amount : expected an amount above 0 .*, such as 49\.99; got &quot;much&quot;/],
    ['', /such as 49\.99; got &quot;&quot;/],
    ['.50', /above 0 in USD .* got &quot;\.50&quot;/],
    [',50', /above 0 in USD .* got &quot;,50&quot;/],
    ['−5', /above 0 in USD .* got &quot;−5&quot;/],
    ['€5', /above 0 in USD .* got &quot;€5&quot;/],
    ['1,000', /above 0 in USD .* got &quot;1,000&quot;/],
  ] as const) {
    const seen = await owner.post(`${home}/payments/new`, { ...form, fiat_amount: typed })
    assert.ok(seen.status === 400 || seen.status === 422, `${typed}: ${seen.status}`)
    assert.match(seen.text, why)
  }
  const link = await owner.post(`${home}/links`, { label: 'Tea', amount: 'x', currency: 'USD' })
  assert.match(link.text, /Price : expected an amount .* got &quot;x&quot;/)
  const made = await owner.post(`${home}/links`, { label: 'Tea', amount: '$4,50', currency: 'USD' })
  assert.match((await owner.get(made.location ?? '')).text, /\$4\.50/)
})

test('a filter that cannot be read is called by its label; a comma is read', async () => {
  await testPayment(gateway, account)
  const { text } = await owner.get(`${home}/payments?total_min=much`)
  assert.match(text, /“Net, at least” must be an amount .*, such as 49\.99, got &quot;much&quot;/)
  assert.match((await owner.get(`${home}/payments?filter_status=odd`)).text, /“Status” must be some of/)
  assert.match(
    (await owner.get(`${home}/customers?order_count_min=x`)).text,
    /“Orders, at least” must be a whole number/,
  )
  assert.match((await owner.get(`${home}/payments?total_min=0,5`)).text, /1–1 of 1/)
})

test('an order opens no filter, and can be kept as a view; a page beyond the end leads back with its filters', async () => {
  await testPayment(gateway, account)
  const isOpen = /<details class="card" open><summary>Filter/
  const sorted = await owner.get(`${home}/payments?sort=total&order=asc&columns=status`)
  assert.doesNotMatch(sorted.html, isOpen)
  assert.match(sorted.html, /name="query" value="sort=total&amp;order=asc&amp;columns=status"/)
  assert.match((await owner.get(`${home}/payments?filter_asset=LTC`)).html, isOpen)
  const beyond = await owner.get(`${home}/payments?filter_asset=LTC&page=9`)
  assert.match(beyond.text, /This page has nothing any more/)
  assert.match(beyond.html, /href="[^"]*\/payments\?filter_asset=LTC">The first page/)
})

test('doing nothing leads to the form’s page, and everything else to the same merchant', async () => {
  for (const at of homes) {
    const key = { name: 'Shop', scopes: 'payments:read' }
    const referer = `http://localhost:8080${at}/keys/new`
    await gateway.db.query('update sessions set stepped_up_at = null')
    const asked = await owner.post(`${at}/keys`, key, { ...OWN_FORM, referer })
    assert.match(asked.html, new RegExp(`<a href="${at}/keys/new">Do nothing`))
    // Once more, after a wrong code: the page before it is no page by then.
    const wrong = { ...key, code: '000000', back: `${at}/keys/new`, challenge: 'x' }
    const again = await owner.post(`${at}/keys`, wrong, {
      ...OWN_FORM,
      referer: `http://localhost:8080${at}/keys`,
    })
    assert.match(again.html, new RegExp(`<a href="${at}/keys/new">Do nothing`))
    const done = await owner.post(`${at}/keys`, key, { ...OWN_FORM, referer: `${referer}?a=1&done=saved` })
    assert.match(done.html, new RegExp(`<a href="${at}/keys/new\\?a=1">Do nothing`))
    const nowhere = { ...OWN_FORM, referer: `http://localhost:8080${at}/settings/business` }
    assert.match(
      (await owner.post(`${at}/keys`, key, nowhere)).html,
      new RegExp(`<a href="${at}">Do nothing`),
    )
    const foreign = await owner.post(`${at}/keys`, { ...key, back: 'https://evil.example/' })
    assert.match(foreign.html, new RegExp(`<a href="${at}">Do nothing`))
    for (const lost of [`${at}/payments/pay_none`, `${at}/nothing/here`]) {
      const seen = await owner.get(lost)
      assert.equal(seen.status, 404, lost)
      assert.match(seen.html, new RegExp(`href="${at}">Back to the overview`), lost)
      assert.match(seen.html, new RegExp(`class="brand" href="${at}"`), lost)
    }
  }
})

test('a Beck without mail promises none', async () => {
  const { text, html: page } = await owner.get('/dashboard/forgotten')
  assert.doesNotMatch(text, /comes to you by mail/)
  assert.match(text, /An owner or admin of your team can make you a new link/)
  assert.doesNotMatch(page, /action="\/dashboard\/forgotten"/)
})
