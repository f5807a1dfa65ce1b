/** The whole way of a buyer whose browser runs no script, with every side road of it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { startBrowser } from '../browser.ts'
import { pathOf, testHosted } from '../hosted.ts'
import { DESTINATIONS } from '../payout-story.ts'

const COIN = 100_000_000n

const hosted = await testHosted()
const { story } = hosted
const origin = await hosted.app.listen({ port: 0, host: '127.0.0.1' })
const browser = await startBrowser()

async function openPage(path: string): Promise<Page> {
  const context = await browser.newContext({
    javaScriptEnabled: false,
    locale: 'en-US',
    viewport: { width: 375, height: 667 },
  })
  const page = await context.newPage()
  await page.goto(origin + path)
  return page
}
const shows = (page: Page, state: string) => page.waitForSelector(`#content[data-state=${state}]`)
const press = (page: Page, name: string) => page.getByRole('button', { name }).click()
const follow = (page: Page, name: string) => page.getByRole('link', { name }).click()
async function pickLitecoin(page: Page): Promise<void> {
  await shows(page, 'choose')
  await page.check('#coin-LTC', { force: true })
  await press(page, 'Continue')
}

test('without a script: an amount corrected, an email mended, a coin, a question, a cancel taken back, two parts, a receipt', async () => {
  const id = await hosted.open({ amountMinor: null })
  const page = await openPage(pathOf(id))
  await shows(page, 'amount')
  await page.fill('#amount', 'plenty')
  await press(page, 'Continue')
  await page.locator('#amount-problem').waitFor()
  await page.fill('#amount', '250')
  await press(page, 'Continue')
  await follow(page, 'Change the amount')
  await page.fill('#amount', '100')
  await press(page, 'Continue')
  await shows(page, 'choose')
  await page.fill('#email', 'ann')
  await pickLitecoin(page)
  await page.locator('#email-problem').waitFor()
  await page.fill('#email', 'ann@shop.example')
  await press(page, 'Continue')
  await shows(page, 'waiting')
  assert.equal(
    await page.getByRole('button', { name: /^Copy/ }).count(),
    0,
    'nothing stands there that does nothing',
  )

  await follow(page, 'I already paid')
  await page.fill('#transaction', 'ab'.repeat(32))
  await press(page, 'Look it up')
  await page.locator('main').getByText('We have not seen this transaction').waitFor()

  await page.goto(origin + pathOf(id))
  await follow(page, 'Cancel payment')
  await shows(page, 'cancelling')
  await follow(page, 'No, go on paying')
  await follow(page, 'Cancel payment')
  await press(page, 'Yes, cancel')
  await shows(page, 'cancelled')
  await press(page, 'Start again')
  await pickLitecoin(page)
  await shows(page, 'waiting')

  const payment = await hosted.payment(id)
  assert.deepEqual([payment.fiatMinor, payment.customerEmail], [100_00n, 'ann@shop.example'])
  await story.pay(payment, COIN / 2n)
  await story.look()
  await page.reload()
  await shows(page, 'lower')
  assert.match((await page.textContent('main')) ?? '', /0\.5 LTC/)
  await story.payAndConfirm(payment, COIN / 2n)
  await page.reload()
  await shows(page, 'paid')
  await page.locator('main').getByText('Receipt', { exact: true }).waitFor()
  await page.context().close()
})

test('without a script: who cancels is led to the shop, wherever that leads on to', async () => {
  const moved = createServer((request, response) => {
    if (request.url === '/cart') response.writeHead(302, { location: `${origin}/nowhere` }).end()
  })
  moved.listen(0, '127.0.0.1')
  await once(moved, 'listening')
  after(() => moved.close())
  const cancelUrl = `http://127.0.0.1:${(moved.address() as AddressInfo).port}/cart`
  const id = await hosted.open({ cancelUrl })
  await hosted.pick(id)
  const page = await openPage(pathOf(id))
  await follow(page, 'Cancel payment')
  await press(page, 'Yes, cancel')
  await page.waitForURL(`${origin}/nowhere`)
  await page.goto(origin + pathOf(id))
  await shows(page, 'cancelled')
  await page.context().close()
})

test('without a script: a new price after the window, coins that come late, where they go back to, another language', async () => {
  const id = await hosted.open()
  await hosted.expire(await hosted.pick(id))
  const page = await openPage(pathOf(id))
  await shows(page, 'expired')
  await press(page, 'Get a new price')
  await shows(page, 'waiting')
  const payment = await hosted.payment(id)
  await hosted.expire(payment)
  await story.payAndConfirm(payment, COIN)
  await page.reload()
  await shows(page, 'late')
  await page.locator('main').getByText('Where should a refund go?').click()
  await page.fill('#refund-address', 'nowhere')
  await press(page, 'Save the address')
  await page.locator('main').getByText('That is not an address for LTC').waitFor()
  const own = DESTINATIONS['sim-litecoin']
  await page.fill('#refund-address', own)
  await press(page, 'Save the address')
  await page.locator('main').getByText('A refund would go to').waitFor()
  await hosted.refund(payment)
  await page.goto(origin + pathOf(id))
  await shows(page, 'refunded')
  assert.ok((await page.textContent('main'))?.includes(own))
  await follow(page, 'العربية')
  await shows(page, 'refunded')
  assert.equal(await page.locator('html').getAttribute('dir'), 'rtl')
  await page.context().close()
})
