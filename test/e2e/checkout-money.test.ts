/** Where money went wrong on the page: each story is one that a buyer met in a browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import type { SessionId } from '../../src/core/ids.ts'
import { acceptPayment } from '../../src/flows/payments/resolve-payment.ts'
import { startBrowser } from '../browser.ts'
import { testAccount, testSession } from '../gateway.ts'
import { pathOf, testHosted } from '../hosted.ts'

const COIN = 100_000_000n
const HASH = `0x${'5a'.repeat(32)}`

const hosted = await testHosted()
const { story } = hosted
const origin = await hosted.app.listen({ port: 0, host: '127.0.0.1' })
const browser = await startBrowser()

async function openPage(id: SessionId, context?: BrowserContext): Promise<Page> {
  const page = await (context ?? (await browser.newContext({ locale: 'en-US' }))).newPage()
  await page.goto(origin + pathOf(id))
  return page
}
const shows = (page: Page, state: string) => page.waitForSelector(`#content[data-state=${state}]`)
const textOf = async (page: Page) => (await page.textContent('main')) ?? ''

test('what is missing below the dust of the coin is not asked for: it counts as paid, and the receipt says so', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  const page = await openPage(id)
  await story.pay(payment, COIN - 2_939n)
  await story.look()
  await shows(page, 'seen')
  await story.mine(6)
  await story.look()
  await shows(page, 'paid')
  assert.match(await textOf(page), /0\.00002939 LTC less arrived\..*counts as paid/)
  await page.context().close()
})

test("what is missing within the merchant's tolerance is not asked for either", async () => {
  const { gateway, account } = story
  const tolerate = (bps: number) =>
    gateway.db.query('update accounts set tolerance_bps = $2 where id = $1', [account.id, bps])
  await tolerate(200)
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  await tolerate(0)
  const page = await openPage(id)
  await story.pay(payment, COIN - 2_000_000n)
  await story.look()
  await shows(page, 'seen')
  await story.mine(6)
  await story.look()
  await shows(page, 'paid')
  assert.match(await textOf(page), /0\.02 LTC less arrived/)
  await page.context().close()
})

test('coins sent for the coin that was left, exact and in time, pay the session by themselves', async () => {
  const id = await hosted.open()
  const left = await hosted.pick(id)
  const page = await openPage(id)
  await page.click('text=Choose another coin')
  await shows(page, 'choose')
  await page.check('#coin-BTC', { force: true })
  await page.click('form[action$="/coin"] button[type=submit]')
  await shows(page, 'waiting')
  const looked = await hosted.payment(id)
  assert.equal(looked.asset, 'BTC')
  await story.pay(left, COIN)
  await story.look()
  await shows(page, 'seen')
  assert.equal((await story.read(looked)).status, 'cancelled', 'nobody waits for the second coin any more')
  await story.mine(6)
  await story.look()
  await shows(page, 'paid')
  assert.deepEqual(
    [(await story.read(left)).status, (await story.read(looked)).status],
    ['completed', 'cancelled'],
  )
  await page.context().close()
})

test('a session whose left payment the merchant accepted shows a receipt, and no second code', async () => {
  const id = await hosted.open()
  const left = await hosted.pick(id)
  const looked = await hosted.pick(id, 'BTC')
  const page = await openPage(id)
  // Not exact: it waits for the merchant.
  await story.payAndConfirm(left, COIN / 2n)
  await page.locator('main').getByText('0.5 LTC arrived for an earlier price').waitFor()
  await story.gateway.db.transaction((tx) => acceptPayment(story.gateway, tx, story.account, left.id))
  await shows(page, 'paid')
  assert.equal(await page.locator('.qr').count(), 0)
  assert.equal((await story.read(looked)).status, 'cancelled')
  await page.context().close()
})

test('coins for two of its coins pay a session once: the later ones are held', async () => {
  const id = await hosted.open()
  const left = await hosted.pick(id)
  // In the same block of the same chain: nothing else decides which is first.
  await hosted.post(`${pathOf(id)}/cancel`, {})
  const other = await hosted.open()
  const [first, second] = [
    await hosted.pick(other),
    await hosted.pick(other, 'LTC', { email: 'a@b.example' }),
  ]
  await story.pay(second, COIN)
  await story.look()
  await story.payAndConfirm(first, COIN)
  assert.deepEqual(
    [(await story.read(first)).status, (await story.read(second)).status],
    ['cancelled', 'completed'],
  )
  // And one that its buyer gave up is not taken without him.
  await story.payAndConfirm(left, COIN)
  assert.equal((await story.read(left)).status, 'cancelled')
  assert.equal(await hosted.stateOf(id), 'late')
  await story.proveBooks()
})

/** A wallet in the browser that answers what it is told to, and counts what it sends. */
const WALLET = `
  window.sent = 0
  const provider = { request: async ({ method }) => {
    if (method === 'eth_requestAccounts') return ['0x' + '11'.repeat(20)]
    if (method === 'eth_chainId') return window.chain ?? '0x7a69'
    if (method === 'wallet_switchEthereumChain') { if (window.stays) return null; window.chain = '0x7a69'; return null }
    if (window.declines) throw Object.assign(new Error('declined'), { code: 4001 })
    window.sent += 1
    return '${HASH}'
  } }
  const detail = { info: { uuid: 'a', name: 'Test Wallet', icon: '' }, provider }
  const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
  addEventListener('eip6963:requestProvider', announce)
`

/** A live account on an Ethereum that wallets know, with ether picked. */
async function openLive(asset = 'ETH'): Promise<{ id: SessionId; page: Page }> {
  const { gateway } = story
  await gateway.db.query(
    `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time, polled_at)
     values ('ethereum', 'ETH', '31337:x', 1, 'x', now(), now() + interval '1 hour') on conflict (chain) do nothing`,
  )
  const account = await testAccount(gateway, 'live')
  const { id } = await testSession(gateway, account)
  await hosted.pick(id, asset)
  const context = await browser.newContext({ locale: 'en-US' })
  await context.addInitScript(WALLET)
  return { id, page: await openPage(id, context) }
}
const payButton = (page: Page) => page.getByRole('button', { name: 'Pay with Test Wallet' })

test('what a wallet sent is kept: no reload, second tab or cancel asks again', async () => {
  const { id, page } = await openLive()
  await payButton(page).click()
  await shows(page, 'sent')
  assert.ok((await textOf(page)).includes(HASH))
  const explorer = page.getByRole('link', { name: 'View transaction' })
  assert.equal(await explorer.getAttribute('href'), `https://etherscan.io/tx/${HASH}`)
  await page.reload()
  await shows(page, 'sent')
  const second = await openPage(id, page.context())
  await shows(second, 'sent')
  assert.equal(await second.locator('.qr, .wallets button').count(), 0, 'nothing here asks to pay')
  assert.equal(await second.getByRole('button', { name: /Cancel/ }).count(), 0)
  // A page from before the wallet was used still has its form.
  await hosted.post(`${pathOf(id)}/cancel`, {})
  await hosted.post(`${pathOf(id)}/coin`, { asset: 'LTC' })
  assert.equal(await hosted.stateOf(id), 'sent')

  // Only the buyer himself can say that it will not come.
  await second.click('text=It did not go through?')
  await second.getByRole('button', { name: 'Show me how to pay again' }).click()
  await shows(second, 'waiting')
  await shows(page, 'waiting')
  await page.context().close()
})

test('the hash of a transaction sent while the gateway was away is told when it is back', async () => {
  const { page } = await openLive()
  await page.route('**/sent', (route) => route.abort())
  await payButton(page).click()
  await page.locator('main').getByText('Sent from your wallet').first().waitFor()
  await page.unroute('**/sent')
  await page.reload()
  await shows(page, 'sent')
  await page.context().close()
})

test('a wallet that declines, stays on another network or never answers says so, and can be asked again', async () => {
  const { page } = await openLive()
  await page.evaluate('window.declines = true')
  await payButton(page).click()
  await page.locator('.wallets p', { hasText: 'You declined in your wallet' }).waitFor()
  await page.evaluate("window.declines = false; window.chain = '0x1'; window.stays = true")
  await payButton(page).click()
  await page.locator('.wallets p', { hasText: 'Switch it to Ethereum mainnet' }).waitFor()
  assert.equal(await page.evaluate('window.sent'), 0)
  await page.evaluate('window.stays = false')
  await payButton(page).click()
  await shows(page, 'sent')
  await page.context().close()

  const { page: silent } = await openLive()
  await silent.clock.install()
  await silent.reload()
  await silent.evaluate('void (window.chain = new Promise(() => {}))')
  await payButton(silent).click()
  assert.equal(await payButton(silent).isDisabled(), true)
  await silent.clock.runFor(61_000)
  await silent.locator('.wallets p', { hasText: 'has not answered' }).waitFor()
  assert.equal(await payButton(silent).isEnabled(), true)
  // After a reload the buyer is told to look in the wallet first.
  await silent.reload()
  await silent.locator('.wallets p', { hasText: 'has not answered' }).waitFor()
  await silent.context().close()
})

test('a double spend is told at once, while the window is open', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  const page = await openPage(id)
  const txid = await story.pay(payment, COIN)
  await story.look()
  await shows(page, 'seen')
  await story.replace(txid)
  // Seen first and decided after it: the page may show both, one after the other.
  await story.watch()
  await shows(page, 'waiting')
  await story.look()
  await page.getByRole('alert').filter({ hasText: 'was replaced by another one' }).waitFor()
  await page
    .getByRole('status')
    .filter({ hasText: 'was replaced by another one' })
    .waitFor({ state: 'attached' })
  // Over, it is no page that says that nothing came.
  await hosted.expire(payment)
  await shows(page, 'replaced')
  await page.context().close()
})
