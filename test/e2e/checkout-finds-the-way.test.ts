/** Buyers find their way: each story is one who did not. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { insertPaymentLink } from '../../src/checkout/payment-links.sql.ts'
import { type SessionId, showId } from '../../src/core/ids.ts'
import { startBrowser } from '../browser.ts'
import { testAccount, testSession } from '../gateway.ts'
import { pathOf, testHosted } from '../hosted.ts'
import { DESTINATIONS } from '../payout-story.ts'

const COIN = 100_000_000n
const PHONE = { width: 375, height: 667 }

const hosted = await testHosted()
const { story } = hosted
const { gateway } = story
const origin = await hosted.app.listen({ port: 0, host: '127.0.0.1' })
const browser = await startBrowser()

async function openPage(path: string, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await (await browser.newContext({ locale: 'en-US', ...options })).newPage()
  await page.goto(origin + path)
  return page
}
const shows = (page: Page, state: string) => page.waitForSelector(`#content[data-state=${state}]`)
/** Where it begins, in pixels from the top of the page. */
const topOf = async (page: Page, selector: string) => {
  const box = await page.locator(selector).first().boundingBox()
  assert.ok(box, `${selector} is not there`)
  return box.y
}

/** A session of a live account whose Ethereum wallets know, and whose other networks nobody set up. */
async function openLive(): Promise<SessionId> {
  await gateway.db.query(
    `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time, polled_at)
     values ('ethereum', 'ETH', '1:x', 1, 'x', now(), now() + interval '1 hour') on conflict (chain) do nothing`,
  )
  return (await testSession(gateway, await testAccount(gateway, 'live'))).id
}

test('on a phone the amount comes first, then the warning, the wallet, the address, and last the code', async () => {
  const id = await openLive()
  await hosted.pick(id, 'USDC')
  const page = await openPage(pathOf(id), { viewport: PHONE })
  const order = [
    '.target .amount',
    '.target .warning',
    '.target a[href^=ethereum]',
    '.target .address',
    '.qr',
  ]
  const tops = await Promise.all(order.map((selector) => topOf(page, selector)))
  assert.deepEqual(
    tops,
    [...tops].sort((a, b) => a - b),
    order.join(', '),
  )
  assert.ok((tops[2] ?? 0) < PHONE.height, `the wallet's button begins at ${tops[2]}`)
  await page.context().close()
})

test('Continue is in sight on every usual screen', async () => {
  const path = pathOf(await hosted.open())
  for (const [width, height] of [
    [320, 568],
    [375, 667],
    [768, 1024],
    [1280, 720],
  ] as const) {
    const page = await openPage(path, { viewport: { width, height } })
    const box = await page.getByRole('button', { name: 'Continue' }).boundingBox()
    assert.ok(
      box && box.y + box.height <= height,
      `${width}x${height}: Continue ends at ${box && box.y + box.height}`,
    )
    await page.context().close()
  }
})

test('coins that the operator never set up are not listed, and what is away for a while comes last', async () => {
  const id = await openLive()
  const page = await openPage(pathOf(id))
  const coins = () =>
    page.evaluate<string[]>("[...document.querySelectorAll('.coin input')].map((input) => input.value)")
  assert.deepEqual(await coins(), ['ETH', 'USDC', 'USDT'])
  await gateway.db.query(
    `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time, polled_at)
     values ('bitcoin', 'BTC', 'x', 1, 'x', now(), now() - interval '1 hour')`,
  )
  await page.reload()
  assert.deepEqual(await coins(), ['ETH', 'USDC', 'USDT', 'BTC'])
  assert.equal(await page.locator('#coin-BTC').isDisabled(), true)
  await page.context().close()
})

for (const javaScriptEnabled of [true, false]) {
  test(`a wrong email is shown where the eye is, ${javaScriptEnabled ? 'with' : 'without'} a script`, async () => {
    const page = await openPage(pathOf(await hosted.open()), { viewport: PHONE, javaScriptEnabled })
    await page.check('#coin-LTC', { force: true })
    await page.fill('#email', 'ann')
    await page.getByRole('button', { name: 'Continue' }).click()
    // A page without a script is there a moment before its browser puts the eye where it should be.
    await page.locator('#email:focus').waitFor()
    const box = await page.locator('#email-problem').boundingBox()
    assert.ok(box && box.y >= 0 && box.y < PHONE.height, `the problem is at ${box?.y}`)
    await page.context().close()
  })
}

test('cancelling asks first, and leads back', async () => {
  const id = await hosted.open()
  await hosted.pick(id)
  const page = await openPage(pathOf(id))
  await page.getByRole('link', { name: 'Cancel payment' }).click()
  await shows(page, 'cancelling')
  await page.getByRole('link', { name: 'No, go on paying' }).click()
  await shows(page, 'waiting')
  await page.getByRole('link', { name: 'Cancel payment' }).click()
  await page.getByRole('button', { name: 'Yes, cancel' }).click()
  await shows(page, 'cancelled')
  await page.getByRole('button', { name: 'Start again' }).click()
  await shows(page, 'choose')
  await page.check('#coin-LTC', { force: true })
  await page.getByRole('button', { name: 'Continue' }).click()
  await shows(page, 'waiting')
  await page.context().close()
})

test('a wrong amount is corrected, before a coin and after it', async () => {
  const id = await hosted.open({ amountMinor: null })
  const page = await openPage(pathOf(id))
  await page.fill('#amount', '$250')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.locator('main').getByText('$250.00').waitFor()
  await page.getByRole('link', { name: 'Change the amount' }).click()
  assert.equal(await page.inputValue('#amount'), '250')
  await page.fill('#amount', '25')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.check('#coin-LTC', { force: true })
  await page.getByRole('button', { name: 'Continue' }).click()
  await shows(page, 'waiting')
  assert.equal((await hosted.payment(id)).fiatMinor, 25_00n)
  await page.getByRole('link', { name: 'Choose another coin' }).click()
  await page.getByRole('link', { name: 'Change the amount' }).click()
  await page.fill('#amount', '24')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.check('#coin-LTC', { force: true })
  await page.getByRole('button', { name: 'Continue' }).click()
  await shows(page, 'waiting')
  assert.equal((await hosted.payment(id)).fiatMinor, 24_00n)
  await page.context().close()
})

test('a buyer who paid too much is led back as well, after time to read, and not while he says where the rest should go', async () => {
  const id = await hosted.open({ successUrl: `${origin}/nowhere` })
  const payment = await hosted.pick(id)
  const page = await openPage(pathOf(id))
  await page.clock.install()
  await story.payAndConfirm(payment, COIN + COIN / 2n)
  await shows(page, 'higher')
  await page.locator('.returning').getByText('You return to Shop in 30 seconds.').waitFor()
  await page.locator('main').getByText('Where should a refund go?').click()
  await page.clock.runFor(40_000)
  assert.equal(await page.locator('.returning').count(), 0)
  assert.equal(new URL(page.url()).pathname, pathOf(id))

  const other = await hosted.open({ successUrl: `${origin}/nowhere` })
  const paid = await hosted.pick(other)
  await page.goto(origin + pathOf(other))
  await story.payAndConfirm(paid, COIN + COIN / 2n)
  await page.locator('.returning').waitFor()
  await page.clock.runFor(31_000)
  await page.waitForURL('**/nowhere')
  await page.context().close()
})

test('who cancels is led to cancel_url, unless he stays, starts again, or the page stands in a frame', async () => {
  const cancelUrl = `${origin}/nowhere`
  const cancel = async (page: Pick<Page, 'getByRole' | 'waitForSelector'>) => {
    await page.getByRole('link', { name: 'Cancel payment' }).click()
    await page.getByRole('button', { name: 'Yes, cancel' }).click()
    await page.waitForSelector('#content[data-state=cancelled]')
  }
  const id = await hosted.open({ cancelUrl })
  await hosted.pick(id)
  const page = await openPage(pathOf(id))
  await page.clock.install()
  await cancel(page)
  await page.locator('.returning').getByText('You return to Shop in 8 seconds.').waitFor()
  await page.getByRole('button', { name: 'Start again' }).click()
  await shows(page, 'choose')
  await page.clock.runFor(10_000)
  await shows(page, 'choose')
  await cancel(page)
  await page.getByRole('button', { name: 'Stay here' }).click()
  await page.clock.runFor(10_000)
  await shows(page, 'cancelled')
  await page.getByRole('button', { name: 'Start again' }).click()
  await cancel(page)
  await page.locator('.returning').waitFor()
  await page.clock.runFor(9_000)
  await page.waitForURL(cancelUrl)

  const framed = await hosted.open({ cancelUrl })
  await hosted.pick(framed)
  const shop = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<iframe src="${origin}${pathOf(framed)}" width="400" height="800"></iframe>`)
  })
  shop.listen(0, '127.0.0.1')
  await once(shop, 'listening')
  after(() => shop.close())
  const shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`
  await gateway.db.query('update accounts set frame_origins = array[$2] where id = $1', [
    story.account.id,
    shopUrl,
  ])
  await page.goto(shopUrl)
  const frame = page.frames()[1]
  assert.ok(frame)
  await cancel(frame)
  assert.equal(await frame.locator('.returning').count(), 0)
  await page.context().close()
})

test('the page of a refund says how much went to which address, and how to follow it', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  await hosted.expire(payment)
  await story.payAndConfirm(payment, COIN)
  await hosted.refund(payment)
  const { rows } = await gateway.db.query<{ destination: string; id: string }>(
    'select destination, id from withdrawals where payment_id = $1',
    [payment.id],
  )
  const page = await openPage(pathOf(id))
  await shows(page, 'refunded')
  const text = (await page.textContent('main')) ?? ''
  assert.ok(text.includes(rows[0]?.destination ?? 'none'), text)
  assert.match(text, /Refunded0\.9\d* LTC/)
  await page.context().close()
})

test('a German page and a Portuguese one have one decimal mark, and copy what wallets take', async () => {
  const id = await hosted.open()
  await hosted.pick(id, 'BTC')
  const page = await openPage(`${pathOf(id)}?lang=de`)
  for (const tag of ['de', 'pt']) {
    await page.goto(`${origin}${pathOf(id)}?lang=${tag}`)
    const text = (await page.textContent('main')) ?? ''
    assert.match(text, /0,00153847 BTC/)
    assert.match(text, /100,00/)
    assert.doesNotMatch(text, /\d\.\d\d\b/)
    assert.equal(await page.locator('.target .copy').first().getAttribute('data-copy'), '0.00153847')
  }
  await page.context().close()
})

test('coins have marks of our own and a token its standard, long amounts are read in threes, and the tab has a picture', async () => {
  const page = await openPage(pathOf(await hosted.open()))
  assert.equal(await page.locator('.coin svg.mark path').count(), 5)
  assert.equal(await page.locator('.coin .network', { hasText: 'Ethereum (ERC-20) simulated' }).count(), 2)
  const price = page.locator('#price-BTC')
  assert.deepEqual(await price.locator('i').allTextContents(), ['538', '47'])
  assert.equal(await price.textContent(), '0.00153847 BTC', 'one number to whoever copies it')
  const head = (selector: string, name = 'content') => page.locator(`head ${selector}`).getAttribute(name)
  assert.match((await head('link[rel=icon]', 'href')) ?? '', /^data:image\/svg\+xml,/)
  assert.equal(await head('meta[property="og:title"]'), 'Pay Shop')
  assert.equal(await head('meta[property="og:description"]'), 'Order 7 – $100.00')
  assert.equal(await head('meta[property="og:site_name"]'), 'Shop')
  assert.equal(await page.locator('meta[name=theme-color]').count(), 2)
  await page.context().close()
})

test('in Arabic a rate is read from right to left, confirmations have their plural, and the page comes compressed', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  const page = await openPage(`${pathOf(id)}?lang=ar`)
  assert.ok((await page.textContent('main'))?.includes('\u20661 LTC\u2069 = '), 'the coin is one piece')
  await story.pay(payment, COIN)
  await story.mine(2)
  await story.look()
  await shows(page, 'confirming')
  assert.match((await page.locator('#confirmations').textContent()) ?? '', /^\S+ من \S+ تأكيدات$/u)
  const answer = await page.reload()
  assert.match((await answer?.allHeaders())?.['content-encoding'] ?? '', /^(gzip|br)$/)
  await page.context().close()
})

test('a link into a wallet that opens none says what else there is', async () => {
  const id = await hosted.open()
  await hosted.pick(id)
  const context = await browser.newContext({ locale: 'en-US' })
  const page = await context.newPage()
  await page.clock.install()
  await page.goto(origin + pathOf(id))
  const hint = page.locator('main').getByText('Did no wallet open?').first()
  assert.equal(await hint.isVisible(), false)
  await page.getByRole('link', { name: 'Open in wallet app' }).click()
  await page.clock.runFor(2_000)
  await hint.waitFor()
  await context.close()
})

test('a buyer who comes back to a payment link finds the payment that he began', async () => {
  const link = await gateway.db.transaction((tx) =>
    insertPaymentLink(tx, {
      accountId: story.account.id,
      label: 'Consultation',
      amountMinor: 120_00n,
      currency: 'USD',
    }),
  )
  const page = await openPage(`/pay/${showId('plink', link.id)}`)
  await page.check('#coin-LTC', { force: true })
  await page.getByRole('button', { name: 'Continue' }).click()
  await shows(page, 'waiting')
  assert.equal(await page.locator('[data-pay-amount]').textContent(), '1.2', 'no digit that is not due')
  const begun = page.url()
  await page.goto(`${origin}/pay/${showId('plink', link.id)}`)
  assert.equal(page.url(), begun)
  await shows(page, 'waiting')
  await page.context().close()
})

test('each part of the amount that arrives is said aloud', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  const page = await openPage(pathOf(id))
  const isSaid = (text: string) =>
    page.getByRole('status').filter({ hasText: text }).waitFor({ state: 'attached' })
  await story.pay(payment, COIN / 4n)
  await story.look()
  await shows(page, 'lower')
  await isSaid('Part of the amount is missing')
  await story.pay(payment, COIN / 4n)
  await story.look()
  await isSaid('0.5 LTC of 1 LTC arrived')
  await page.context().close()
})

test('what came late is called safe once it is confirmed, and not before', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  await hosted.expire(payment)
  await story.pay(payment, COIN)
  await story.look()
  const page = await openPage(pathOf(id))
  await shows(page, 'late')
  assert.doesNotMatch((await page.textContent('main')) ?? '', /safe/)
  await story.mine(6)
  await story.look()
  await page.locator('main').getByText('Your coins are safe').waitFor()
  await page.context().close()
})

test('a page that waits says the rate, the time it usually takes and the wallets of a phone, and can be asked about a payment', async () => {
  const id = await openLive()
  const { address } = await hosted.pick(id, 'USDT')
  const page = await openPage(pathOf(id), { viewport: PHONE, hasTouch: true, isMobile: true })
  const text = (await page.textContent('main')) ?? ''
  assert.match(text, /Rate1 USDT = \$1\.00/)
  assert.match(text, /Your wallet adds the fee of the network/)
  assert.match(text, /Usually confirmed in about 3 minutes/)
  const linkOf = (name: string) => page.getByRole('link', { name }).getAttribute('href')
  const contract = '0xdAC17F958D2ee523a2206206994597C13D831ec7'
  assert.equal(
    await linkOf('Pay with MetaMask'),
    `https://link.metamask.io/send/${contract}@1/transfer?address=${address}&uint256=100000000`,
  )
  assert.equal(
    await linkOf('Pay with Trust Wallet'),
    `https://link.trustwallet.com/send?asset=c60_t${contract}&address=${address}&amount=100`,
  )
  assert.equal((await page.locator('.address').textContent())?.trim(), address, 'grouped for the eye alone')
  await page.getByRole('link', { name: 'I already paid' }).click()
  await page.fill('#transaction', 'ab'.repeat(32))
  await page.getByRole('button', { name: 'Look it up' }).click()
  await page.locator('main').getByText('We have not seen this transaction').waitFor()
  await page.context().close()
})

test("the merchant's contact, terms and privacy stand under every page", async () => {
  await gateway.db.query(
    `update accounts set contact = 'help@shop.example', terms_url = 'https://shop.example/terms',
       privacy_url = 'javascript:alert(1)' where id = $1`,
    [story.account.id],
  )
  const page = await openPage(pathOf(await hosted.open()))
  const links = page.locator('footer .links a')
  assert.equal(await links.count(), 2, 'what is no link of the web never becomes one')
  assert.equal(await links.nth(0).getAttribute('href'), 'mailto:help@shop.example')
  assert.equal(await links.nth(1).getAttribute('href'), 'https://shop.example/terms')
  await page.context().close()
})

test('a buyer whose coins are held says where they may go back to, and the merchant is told so', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  await hosted.expire(payment)
  await story.payAndConfirm(payment, COIN)
  const page = await openPage(pathOf(id))
  await shows(page, 'late')
  await page.locator('main').getByText('Where should a refund go?').click()
  await page.fill('#refund-address', 'nowhere')
  await page.getByRole('button', { name: 'Save the address' }).click()
  await page.locator('main').getByText('That is not an address for LTC').waitFor()
  // Its answer is slow, and the buyer sees his mistake himself: what he types and presses meanwhile counts.
  const { promise: waited, resolve: answer } = Promise.withResolvers<void>()
  await page.route('**/refund-address', (route) => waited.then(() => route.continue()), { times: 1 })
  const asked = page.waitForRequest('**/refund-address')
  await page.fill('#refund-address', payment.address)
  await page.getByRole('button', { name: 'Save the address' }).click()
  await asked
  const own = DESTINATIONS['sim-litecoin']
  await page.fill('#refund-address', own)
  await page.getByRole('button', { name: 'Save the address' }).click()
  const refused = page.waitForResponse('**/refund-address')
  answer()
  assert.equal((await refused).status(), 400, "the gateway's own is none of his")
  await page.locator('main').getByText(own).waitFor()
  assert.equal((await story.read(payment)).refund_address, own)
  // Whoever writes the database puts no other in its place.
  await gateway.db.query("update checkout_sessions set refund_address = 'tltc1qthief' where id = $1", [id])
  await assert.rejects(story.read(payment), /tampered/)
  await page.context().close()
})

for (const [state, atoms] of [
  ['lower_over', COIN / 2n],
  ['higher', COIN + COIN / 2n],
] as const) {
  test(`a buyer whose payment is ${state} says where a refund should go`, async () => {
    const id = await hosted.open()
    const payment = await hosted.pick(id)
    await story.payAndConfirm(payment, atoms)
    await story.endWindow(payment)
    const page = await openPage(pathOf(id))
    await shows(page, state)
    await page.locator('main').getByText('Where should a refund go?').click()
    await page.fill('#refund-address', DESTINATIONS['sim-litecoin'])
    await page.getByRole('button', { name: 'Save the address' }).click()
    await page.locator('main').getByText('A refund would go to').waitFor()
    assert.equal((await story.read(payment)).refund_address, DESTINATIONS['sim-litecoin'])
    await page.context().close()
  })
}

test('a receipt can be printed, and tells the time of its reader', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  await story.payAndConfirm(payment, COIN)
  const page = await openPage(pathOf(id), { timezoneId: 'Asia/Tokyo' })
  await page.evaluate('window.print = () => { window.printed = true }')
  await page.getByRole('button', { name: 'Print' }).click()
  assert.equal(await page.evaluate('window.printed'), true)
  const { completed_at: at } = await story.read(payment)
  const expected = new Intl.DateTimeFormat('en', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: 'Asia/Tokyo',
  })
  assert.equal(await page.locator('.receipt time').textContent(), expected.format(new Date(at ?? '')))
  await page.context().close()
})
