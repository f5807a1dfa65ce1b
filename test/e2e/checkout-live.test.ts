/** A buyer's whole way in a real browser against real processes, with and without JavaScript, and across a restart. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import type { Page } from 'playwright-core'
import { Beck } from '../../sdk/src/index.ts'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { startBeckProcess } from '../beck-process.ts'
import { startBrowser } from '../browser.ts'

/** Far longer than anything takes, on a machine that does much else. */
const LIMIT_MS = 90_000

const dataDir = await mkdtemp(join(tmpdir(), 'beck-checkout-'))
after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
const port = String(await freePort())
const start = async () => {
  const beck = startBeckProcess(['start'], {
    PORT: port,
    BECK_DATA_DIR: dataDir,
    BECK_SANDBOX_BLOCK_MS: '0',
    BECK_LOG_LEVEL: 'warn',
  })
  return { beck, answer: await beck.hears((object) => 'url' in object) }
}
const first = await start()
let running = first.beck
const client = new Beck({ apiKey: String(first.answer.key), baseUrl: String(first.answer.url) })

/** What the shop's page at `/frame` shows in a frame. */
let framed = ''
const shop = createServer((request, response) => {
  response
    .setHeader('content-type', 'text/html')
    .end(
      request.url === '/frame'
        ? `<iframe src="${framed}"></iframe>`
        : `<h1>Thanks ${request.url} from ${request.headers.referer}</h1>`,
    )
}).listen(0, '127.0.0.1')
after(() => {
  shop.close()
  shop.closeAllConnections()
})
const shopUrl = () => `http://127.0.0.1:${(shop.address() as AddressInfo).port}`

const browser = await startBrowser()

async function openPage(options: { javaScriptEnabled?: boolean; locale?: string } = {}): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-US', ...options })
  context.setDefaultTimeout(LIMIT_MS)
  return context.newPage()
}
const shows = (page: Page, state: string) => page.waitForSelector(`#content[data-state=${state}]`)

async function pickLitecoin(page: Page): Promise<string> {
  await shows(page, 'choose')
  await page.check('#coin-LTC', { force: true })
  await page.click('form[action$="/coin"] button[type=submit]')
  await shows(page, 'waiting')
  const address = /tltc1[0-9a-z]+/.exec((await page.textContent('main')) ?? '')?.[0]
  assert.ok(address)
  const { items } = await client.payments.list({ limit: 1 })
  const [payment] = items
  assert.ok(payment)
  assert.equal((await client.payments.retrieve(payment.id)).deposit.address, address)
  return payment.id
}
const mine = (count: number) => client.sandbox.mine({ network: 'litecoin', count })

test('the open page follows the payment by itself, while the server is stopped and started, and goes on to the shop', async () => {
  const page = await openPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  const session = await client.checkoutSessions.create({
    amount: 25,
    label: 'Order 7',
    success_url: `${shopUrl()}/thanks`,
  })
  await page.goto(session.url)
  const payment = await pickLitecoin(page)

  await client.sandbox.pay(payment)
  await shows(page, 'seen')

  await running.stop()
  await page.locator('.offline').waitFor({ state: 'visible' })
  assert.match((await page.textContent('.offline')) ?? '', /No connection/)
  await shows(page, 'seen')
  running = (await start()).beck
  await page.locator('.offline').waitFor({ state: 'hidden' })

  // Mined one by one: the page counts along without asking for itself.
  await mine(1)
  await shows(page, 'confirming')
  await page.evaluate('window.stillHere = true')
  for (const count of ['2 of 6', '3 of 6']) {
    await mine(1)
    await page.locator('main').getByText(`${count} confirmations`).waitFor()
  }
  await mine(3)
  await shows(page, 'paid')
  assert.equal(await page.evaluate('window.stillHere'), true, 'the page was never loaded again')
  await page.waitForURL(`${shopUrl()}/thanks`)
  assert.match(
    (await page.textContent('h1')) ?? '',
    /Thanks \/thanks from undefined/,
    'the shop learns no session',
  )
  assert.deepEqual(problems, [])
  await page.context().close()
})

test('without JavaScript the same buyer pays the same way: the page refreshes by itself', async () => {
  const page = await openPage({ javaScriptEnabled: false })
  const link = await client.paymentLinks.create({ label: 'Consultation', amount: 120 })
  await page.goto(`http://localhost:${port}/pay/${link.id}`)
  const payment = await pickLitecoin(page)
  await page.click(`text=${'Choose another coin'}`)
  await shows(page, 'choose')
  await page.check('#coin-BTC', { force: true })
  await page.click('form[action$="/coin"] button[type=submit]')
  await shows(page, 'waiting')
  assert.equal((await client.payments.retrieve(payment)).status, 'cancelled')
  const { items } = await client.payments.list({ limit: 1 })
  await client.sandbox.pay(items[0]?.id ?? '', { confirmations: 2 })
  await shows(page, 'paid')
  assert.match((await page.textContent('main')) ?? '', /\$120\.00/)
  await page.context().close()
})

test('on a test page the payment can be simulated, at once or as a wallet sends it', async () => {
  const page = await openPage()
  const session = await client.checkoutSessions.create({ amount: 25, coins: ['LTC'] })
  await page.goto(session.url)
  await shows(page, 'choose')
  assert.equal(await page.locator('.coin input').count(), 1)
  const payment = await pickLitecoin(page)
  await page.getByRole('button', { name: 'Simulate the payment' }).click()
  await shows(page, 'paid')
  assert.equal((await client.payments.retrieve(payment)).status, 'completed')

  // As a wallet sends it: the page shows each step.
  const next = await client.checkoutSessions.create({ amount: 25, coins: ['LTC'] })
  await page.goto(next.url)
  await pickLitecoin(page)
  await page.getByRole('button', { name: 'Pay with a test wallet' }).click()
  await shows(page, 'seen')
  await mine(6)
  await shows(page, 'paid')
  await page.context().close()
})

test('a page left in another tab is right when the buyer comes back', async () => {
  const page = await openPage()
  const session = await client.checkoutSessions.create({ amount: 25 })
  await page.goto(session.url)
  const payment = await pickLitecoin(page)
  await page.context().setOffline(true)
  await client.sandbox.pay(payment, { confirmations: 1 })
  await page.context().setOffline(false)
  await shows(page, 'confirming')
  // The browser's way back shows what is true now, not what was then.
  await page.goto(`${shopUrl()}/elsewhere`)
  await mine(5)
  await page.goBack()
  await shows(page, 'paid')
  await page.context().close()
})

/** Tries every way in that a page offers, and waits until each was refused. */
const INJECTION = `(async () => {
  const names = []
  document.addEventListener('securitypolicyviolation', (event) => names.push(event.effectiveDirective))
  const inline = document.createElement('script')
  inline.textContent = 'window.injected = 1'
  const foreign = document.createElement('script')
  foreign.src = 'http://127.0.0.1:1/x.js'
  const image = new Image()
  image.setAttribute('onerror', 'window.injected = 2')
  image.src = 'http://127.0.0.1:1/x.png'
  document.body.append(inline, foreign, image)
  while (names.length < 4) await new Promise((resolve) => setTimeout(resolve, 20))
  return { names: names.sort(), injected: window.injected }
})()`

test('the policy lets no injected script run, and no other site frame the page', async () => {
  const page = await openPage()
  const session = await client.checkoutSessions.create({ amount: 25 })
  await page.goto(session.url)
  const violated = await page.evaluate<{ names: string[]; injected: unknown }>(INJECTION)
  assert.equal(violated.injected, undefined)
  assert.deepEqual(violated.names, ['img-src', 'script-src-attr', 'script-src-elem', 'script-src-elem'])

  // A real page of the shop: Chromium takes one that a test made up for one of the internet, which reaches no loopback.
  framed = session.url
  await page.goto(`${shopUrl()}/frame`)
  const inside = page.frameLocator('iframe')
  await inside.locator('#content[data-state=framed]').waitFor()
  const said = (await inside.locator('main').innerText()).replace(/\s+/g, ' ')
  assert.match(said, /This page cannot be shown here Please open the checkout in a window of its own/)
  assert.equal(
    await inside.locator('form, input, button, [role=button]').count(),
    0,
    'nothing to be tricked into',
  )
  assert.equal(await inside.locator('main a').count(), 1, 'the way out')
  await page.context().close()
})

test('Beck ends in order while pages are open', async () => {
  const page = await openPage()
  const session = await client.checkoutSessions.create({ amount: 25 })
  await page.goto(session.url)
  await shows(page, 'choose')
  await running.stop()
  await page.context().close()
})
