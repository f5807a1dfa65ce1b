/** What an open page does by itself: its time, its coins and its warnings stay true, and nothing typed is lost. */
import assert from 'node:assert/strict'
import { afterEach, mock, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { Asset } from '../../src/core/assets.ts'
import { unavailable } from '../../src/core/errors.ts'
import { startBrowser } from '../browser.ts'
import { pathOf, testHosted } from '../hosted.ts'

const COIN = 100_000_000n

const hosted = await testHosted()
const { story } = hosted
const { gateway } = story
const origin = await hosted.app.listen({ port: 0, host: '127.0.0.1' })
const browser = await startBrowser()
afterEach(() => mock.restoreAll())

const open = async (path: string): Promise<Page> => {
  const page = await browser.newPage()
  await page.goto(origin + path)
  return page
}
/** As when the network is back, or the buyer: the page asks for itself. */
const wake = (page: Page) => page.evaluate("dispatchEvent(new Event('online'))")
const isSaid = (page: Page, text: string) =>
  page.getByRole('status').filter({ hasText: text }).waitFor({ state: 'attached' })

/** The rates of these coins are gone until the test ends. */
function loseRates(assets: readonly Asset[]): void {
  const { test: rates } = gateway.rates
  const { rate } = rates
  mock.method(rates, 'rate', (...asked: Parameters<typeof rate>) => {
    if (assets.includes(asked[0])) throw unavailable('no_rate', 'there is no rate now')
    return rate.apply(rates, asked)
  })
}

test('a device that slept takes the time of the server over again', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  const page = await open(pathOf(id))
  const time = page.locator('.countdown time')
  await time.filter({ hasText: /^(30:00|29:)/ }).waitFor()
  // Its clock stood still for ten minutes: by the server's, less is left than it shows.
  await gateway.db.query(
    "update payments set expires_at = expires_at - interval '10 minutes' where id = $1",
    [payment.id],
  )
  await wake(page)
  await time.filter({ hasText: /^(20:00|19:)/ }).waitFor()
  await page.close()
})

test('a coin that can be taken no more is given up, and comes back; what was typed stays', async () => {
  const page = await open(pathOf(await hosted.open()))
  const litecoin = page.locator('#coin-LTC')
  await page.check('#coin-LTC', { force: true })
  await page.fill('#email', 'ann@shop.example')
  loseRates(['LTC'])
  await wake(page)
  await page.locator('#price-LTC', { hasText: 'Not available right now' }).waitFor()
  assert.deepEqual([await litecoin.isDisabled(), await litecoin.isChecked()], [true, false])
  assert.equal(await page.inputValue('#email'), 'ann@shop.example')
  mock.restoreAll()
  await wake(page)
  await page.locator('#price-LTC', { hasText: '1 LTC' }).waitFor()
  assert.equal(await litecoin.isDisabled(), false)
  await page.close()
})

test('where no coin could be taken, coins appear as soon as they can', async () => {
  loseRates(['BTC', 'LTC', 'ETH', 'USDC', 'USDT'])
  const page = await open(pathOf(await hosted.open({ customerEmail: 'ann@shop.example' })))
  await page.locator('main').getByText('No coin can be taken at the moment').waitFor()
  mock.restoreAll()
  await wake(page)
  await page.locator('#coin-BTC').waitFor({ state: 'attached' })
  await page.getByRole('button', { name: 'Continue' }).waitFor()
  await page.close()
})

test('coins that came for an earlier price are told of while another is being chosen', async () => {
  const id = await hosted.open()
  // All of it would be what the checkout is paid with.
  await story.pay(await hosted.pick(id), COIN / 2n)
  await hosted.pick(id, 'BTC')
  const page = await open(`${pathOf(id)}/coins`)
  await page.check('#coin-ETH', { force: true })
  await story.look()
  await page.getByRole('alert').filter({ hasText: '0.5 LTC arrived for an earlier price' }).waitFor()
  assert.equal(await page.isChecked('#coin-ETH'), true)
  await page.close()
})

test('a stream that is refused for good is replaced by asking, without a false alarm', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  const page = await browser.newPage()
  await page.clock.install()
  await page.route('**/events?*', (route) => route.abort())
  await page.goto(origin + pathOf(id))
  const banner = page.locator('.offline')
  const seen = page.locator('#content[data-state=seen]')
  await banner.waitFor({ state: 'attached' })
  await story.pay(payment, COIN)
  await story.look()
  while (!(await seen.isVisible())) await page.clock.runFor(500)
  await banner.waitFor({ state: 'hidden' })
  // A stream is tried again and refused: that alone says nothing about the connection.
  const refused = page.waitForEvent('requestfailed')
  while (!(await Promise.race([refused, page.clock.runFor(500)])));
  for (let step = 0; step < 5; step++) {
    await page.clock.runFor(500)
    // What the page asks for takes a moment of real time.
    await setTimeout(100)
  }
  assert.equal(await banner.isVisible(), false)
  await page.close()
})

test('a checkout that could not be reached is asked for again by itself', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  const setAddress = (address: string) =>
    gateway.db.query('update payments set address = $2 where id = $1', [payment.id, address])
  await setAddress('not derived here, so never shown')
  const page = await browser.newPage()
  await page.clock.install()
  await page.goto(origin + pathOf(id))
  await page.locator('#content[data-state=unavailable]').waitFor()
  await setAddress(payment.address)
  await page.clock.runFor(15_000)
  await page.locator('#content[data-state=waiting]').waitFor()
  await page.close()
})

test('how long confirmations usually take is not said any more once they are counted on', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  await story.pay(payment, COIN)
  await story.look()
  await story.mine(1)
  await story.look()
  const page = await open(pathOf(id))
  await page.locator('#content[data-state=confirming]').waitFor()
  // As networks of real money have it.
  await page.evaluate(
    `document.querySelector('.confirmations').insertAdjacentHTML('afterend', '<p data-usual>about 13 minutes</p>')`,
  )
  await story.mine(1)
  await story.look()
  await page.locator('main').getByText('2 of 6 confirmations').waitFor()
  assert.equal(await page.locator('[data-usual]').count(), 0)
  await page.close()
})

test('the way back to the shop is announced, and can be stayed', async () => {
  const id = await hosted.open({ successUrl: `${origin}/nowhere` })
  const payment = await hosted.pick(id)
  const page = await open(pathOf(id))
  await story.payAndConfirm(payment, COIN)
  await isSaid(page, 'Payment complete Thank you. Shop has your payment. You return to Shop in')
  await page.getByRole('button', { name: 'Stay here' }).click()
  assert.equal(await page.locator('.returning').count(), 0)
  await page.locator('main').getByText('Receipt', { exact: true }).waitFor()
  await page.close()
})

/** A wallet of the browser (EIP-6963) that never answers, and two that are none. */
const WALLETS = `
  const provider = { request: () => new Promise(() => {}) }
  const tell = (info) => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: { info, provider } }))
  addEventListener('eip6963:requestProvider', () => {
    tell({ uuid: '1', name: 'No picture' })
    tell(undefined)
    tell({ uuid: '350670db', name: '$& Wallet', icon: 'https://evil.example/x.png' })
  })
`

test('a wallet is asked once, though the page is drawn anew while it is open', async () => {
  const id = await hosted.open()
  await story.pay(await hosted.pick(id), COIN / 2n)
  await hosted.pick(id, 'ETH')
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  await page.addInitScript(WALLETS)
  // No wallet knows the simulated Ethereum, so the page is given what it has on a real one.
  await page.route(`**${pathOf(id)}`, async (route) => {
    const answer = await route.fetch()
    const transfer = '{&quot;chainId&quot;:&quot;0x1&quot;}'
    const wallets = `<div class="wallets" data-transfer="${transfer}" data-pay-with="Pay with {wallet}" data-opened="Please confirm" data-payment="pay_x" hidden></div>`
    await route.fulfill({
      response: answer,
      body: (await answer.text()).replace('<p class="other">', `${wallets}$&`),
    })
  })
  await page.goto(origin + pathOf(id))
  const button = page.getByRole('button', { name: 'Pay with $& Wallet' })
  await button.click()
  await page.locator('.wallets p', { hasText: 'Please confirm' }).waitFor()
  assert.equal(await page.locator('.wallets button').count(), 1)
  await story.look()
  await page.getByRole('alert').filter({ hasText: '0.5 LTC arrived for an earlier price' }).waitFor()
  await page.locator('.wallets p', { hasText: 'Please confirm' }).waitFor()
  assert.equal(await button.isDisabled(), true)
  assert.deepEqual(problems, [])
  await page.close()
})
