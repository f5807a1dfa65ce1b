/** What a merchant sets on the page of his business, and what becomes of it. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { homeOf, testPerson } from '../../../test/dashboard.ts'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { findAccount } from '../../accounts/accounts.sql.ts'
import { readId } from '../../core/ids.ts'
import { knowsTimeZone } from '../../users/merchants.sql.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const account = await testAccount(gateway)
const home = homeOf(account)
const owner = await testPerson(gateway, app, { account, role: 'owner' })
const now = async () => {
  const found = await findAccount(gateway.db, account.id)
  assert.ok(found)
  return found
}

/** The boxes that are on, of all forms of a page. */
const boxesOn = (html: string) =>
  [...html.matchAll(/<input type="checkbox" name="\w+" value="(\w+)" checked>/g)].map(([, value]) => value)

test('the settlement currency changes until the first payment, and then says why it stays', async () => {
  const wrong = await owner.post(`${home}/settings/currency`, { currency: 'XAU' })
  assert.equal(wrong.status, 400)
  await owner.post(`${home}/settings/confirmations`, { from_BTC: '1000', confirmations_BTC: '3' })
  const ruled = await owner.post(`${home}/settings/currency`, { currency: 'EUR' })
  assert.deepEqual([ruled.status, /begin at prices in USD/.test(ruled.text)], [409, true])
  await owner.post(`${home}/settings/confirmations`, {})
  const set = await owner.post(`${home}/settings/currency`, { currency: 'EUR' })
  assert.equal(set.location, `${home}/settings?done=saved`)
  assert.equal((await now()).currency, 'EUR')
  const { rows } = await gateway.db.query<{ before: unknown; after: unknown }>(
    `select before, after from audit_log where action = 'account.change' order by at desc limit 1`,
  )
  assert.deepEqual(rows[0], { before: { currency: 'USD' }, after: { currency: 'EUR' } })
  const live = await owner.post(`${home}/go-live`, { currency: 'GBP' })
  const liveId = readId('acct', live.location?.split(/[/?]/)[2] ?? '')
  assert.equal(liveId && (await findAccount(gateway.db, liveId))?.currency, 'GBP')

  await testPayment(gateway, await now())
  const late = await owner.post(`${home}/settings/currency`, { currency: 'USD' })
  assert.deepEqual([late.status, /totals are kept in EUR/.test(late.text)], [409, true])
  assert.equal((await now()).currency, 'EUR')
  const page = await owner.get(`${home}/settings`)
  assert.doesNotMatch(page.html, /name="currency"/)
  const same = await owner.post(`${home}/settings/currency`, { currency: 'EUR' })
  assert.equal(same.status, 303, 'what stays as it is is no change')
})

test('coins, tolerance, late funds and confirmations of large payments', async () => {
  const set = await owner.post(`${home}/settings/payments`, {
    coins: ['BTC', 'LTC'],
    tolerance: '0.5',
    late: 'accept',
  })
  assert.equal(set.status, 303, set.text)
  const { offeredAssets, toleranceBps, acceptsLateFunds } = await now()
  assert.deepEqual([offeredAssets, toleranceBps, acceptsLateFunds], [['BTC', 'LTC'], 50, true])
  const none = await owner.post(`${home}/settings/payments`, { tolerance: '0.5', 'coins-asked': 'yes' })
  assert.equal(none.status, 400, 'an account offers at least one coin')
  assert.deepEqual(boxesOn(none.html), ['accept'], 'what was sent is drawn again')

  const beside = await owner.post(`${home}/settings/brand`, { brand_color: 'blue' })
  assert.equal(beside.status, 400)
  assert.deepEqual(boxesOn(beside.html), ['BTC', 'LTC', 'accept'], 'other cards stay as they are set')

  for (const [from, confirmations] of [
    ['1000', '0'],
    ['1000', '6'],
    ['1000', '145'],
    ['', '10'],
    ['much', '10'],
  ] as const) {
    const wrong = await owner.post(`${home}/settings/confirmations`, {
      from_LTC: from,
      confirmations_LTC: confirmations,
    })
    assert.equal(wrong.status, 400, `${confirmations} from ${from}`)
    assert.match(wrong.html, /id="confirmations_LTC-problem"/)
  }
  await owner.post(`${home}/settings/confirmations`, { from_LTC: '1000', confirmations_LTC: '30' })
  const price = async (fiatMinor: bigint) =>
    (await testPayment(gateway, await now(), { fiatMinor, fiatCurrency: 'EUR' })).requiredConfirmations
  assert.deepEqual([await price(99_999n), await price(100_000n)], [6, 30])
  await owner.post(`${home}/settings/confirmations`, {})
  assert.deepEqual((await now()).confirmationRules, [])
})

test('what a form of the checkout does not name stays; what it names as empty is taken away', async () => {
  const urls = { success_url: '', cancel_url: '', frame_origins: '' }
  const all = {
    contact: 'help@example.com',
    terms_url: 'https://a.example/t',
    privacy_url: 'https://a.example/p',
  }
  const kept = async (fields: Readonly<Record<string, string>>) => {
    assert.equal((await owner.post(`${home}/settings/checkout`, { ...urls, ...fields })).status, 303)
    const { contact, termsUrl, privacyUrl } = await now()
    return [contact, termsUrl, privacyUrl]
  }
  assert.deepEqual(await kept(all), Object.values(all))
  assert.deepEqual(await kept({ terms_url: '' }), [all.contact, null, all.privacy_url])
})

test('a customer is added by hand once; the same email leads to the one who is there', async () => {
  const made = await owner.post(`${home}/customers/new`, { email: 'Ada@example.com', name: 'Ada' })
  assert.match(made.location ?? '', /\/customers\/cus_\w+\?done=customer-added$/)
  const again = await owner.post(`${home}/customers/new`, { email: 'ada@example.com', name: 'Eve' })
  assert.equal(again.location, `${made.location?.split('?')[0]}?done=customer-known`)
  assert.match(
    (await owner.get(again.location ?? '')).text,
    /customer’s already\. Nothing was changed.* Ada /,
  )
  assert.equal((await owner.post(`${home}/customers/new`, { email: 'nobody' })).status, 400)
})

test('first steps end with the first payment on live; in the sandbox a key is called with as well', async () => {
  const shop = await testAccount(gateway, 'live')
  await gateway.db.query(
    `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time, polled_at)
     values ('ethereum', 'ETH', '1:x', 1, 'x', now(), now() + interval '1 hour')`,
  )
  const seller = await testPerson(gateway, app, { account: shop, role: 'owner' })
  const hasSteps = async () => (await seller.get(homeOf(shop))).text.includes('First steps')
  assert.equal(await hasSteps(), true)
  await testPayment(gateway, shop, { asset: 'ETH' })
  assert.equal(await hasSteps(), false)
  assert.match((await owner.get(home)).text, /First steps/)
})

test('the balance shows in any of the currencies, whatever it is settled in', async () => {
  assert.match((await owner.get(`${home}/balance`)).html, /About, EUR/)
  assert.match((await owner.get(`${home}/balance?currency=GBP`)).html, /About, GBP/)
})

test('a time zone is one that the database counts days by as well; an offset of POSIX is none', async () => {
  const set = (time_zone: string) =>
    owner.post(`${home}/settings/business`, { name: account.name, time_zone, refund_bound: '0' })
  for (const zone of ['+02:00', '-0330', 'Mars/Olympus', ''])
    assert.match((await set(zone)).text, /expected a time zone such as Europe\/Berlin/, zone)
  // Node would read it; the database has none by that name.
  assert.equal(await knowsTimeZone(gateway.db, '+02:00'), false)
  for (const zone of ['Europe/Berlin', 'asia/kolkata', 'UTC'])
    assert.equal((await set(zone)).status, 303, zone)
})
