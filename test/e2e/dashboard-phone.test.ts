/** The dashboard in a real Chromium on a phone: figures stay in their cells, the keyboard goes as the eye does, a refused form says where. */
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import type { Page } from 'playwright-core'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { changeAccount } from '../../src/flows/accounts/change-account.ts'
import { acceptPayment } from '../../src/flows/payments/resolve-payment.ts'
import { merchantOfAccount } from '../../src/flows/people/merchants.ts'
import { startServer } from '../../src/http/server.ts'
import { putMember } from '../../src/users/merchants.sql.ts'
import { UNLIMITED } from '../api.ts'
import { startBrowser } from '../browser.ts'
import { homeOf, signedIn } from '../dashboard.ts'
import { testAccount, testPayment } from '../gateway.ts'
import { tellPayouts } from '../payout-story.ts'

const port = await freePort()
const origin = `http://localhost:${port}`
const story = await tellPayouts('sim-ethereum')
const { account } = story
const gateway = {
  ...story.gateway,
  settings: { ...story.gateway.settings, publicUrl: origin, dashboardUrl: origin },
}
// All the decimals that ether has.
const overpaid = await testPayment(gateway, account, { asset: 'ETH', fiatMinor: 77_777n })
await story.pay(overpaid, overpaid.dueAtoms + 123_456_789_012_345_678n)
await story.mine(12)
await story.look()
await gateway.db.transaction((tx) => acceptPayment(gateway, tx, account, overpaid.id))
await testPayment(gateway, account, { asset: 'ETH', fiatMinor: 99_999_900n, reference: 'x'.repeat(200) })
const server = await startServer(gateway, { port, rateLimit: UNLIMITED })
after(() => server.close())
const browser = await startBrowser()
const home = homeOf(account)

async function open(width: number, given: Parameters<typeof signedIn>[1] = { account, role: 'owner' }) {
  const context = await browser.newContext({ viewport: { width, height: 740 } })
  const { token, userId } = await signedIn(gateway.db, given)
  await context.addCookies([{ name: 'beck', value: token, url: origin }])
  return { page: await context.newPage(), userId }
}

/** Texts of cells that reach out of them. */
const SPILLED = `[...document.querySelectorAll('td')].filter((cell) => {
  const range = document.createRange()
  range.selectNodeContents(cell)
  const text = range.getBoundingClientRect()
  return text.width > 0 && text.right > cell.getBoundingClientRect().right + 1
}).map((cell) => cell.textContent)`

for (const width of [320, 360]) {
  test(`${width} pixels wide, every figure stays in its own cell, however many decimals it has`, async () => {
    const { page } = await open(width)
    const operator = await open(width, { isOperator: true })
    for (const [of, path] of [
      [page, home],
      [page, `${home}/balance`],
      [page, `${home}/payments?columns=status,coin,reference,id,created,price,fee,asked,address`],
      [operator.page, '/dashboard/operator/money'],
    ] as const) {
      await of.goto(origin + path)
      if (!path.includes('payments')) assert.match(await of.innerText('main'), /\d\.\d{17,18}/, path)
      assert.deepEqual(await of.evaluate(SPILLED), [], path)
    }
    await page.context().close()
    await operator.page.context().close()
  })
}

test('a long reference does not push the last column out of sight', async () => {
  const { page } = await open(1280)
  await page.goto(`${origin}${home}/payments`)
  const [inner, outer] = await page.evaluate<[number, number]>(
    `(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(document.querySelector('.scroll'))`,
  )
  assert.ok(inner <= outer, `${inner} of ${outer}`)
})

const focused = (page: Page) =>
  page.evaluate<string>('document.activeElement.textContent || document.activeElement.id')

test('on a phone the keyboard comes to the menu before the search; Escape closes what it opened', async () => {
  const { page } = await open(360)
  await page.goto(origin + home)
  await page.focus('.menu-toggle summary')
  await page.keyboard.press('Tab')
  assert.equal(await focused(page), 'q', 'the search stands below the menu’s button')
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.side a:has-text("Payments")')
  const tops = await page.evaluate<number[]>(
    `['.menu-toggle', '.search', '.side', 'main'].map((each) => document.querySelector(each).getBoundingClientRect().top)`,
  )
  assert.deepEqual(
    tops,
    [...tops].sort((a, b) => a - b),
    'seen in the order in which it is gone through',
  )
  await page.keyboard.press('Tab')
  await page.keyboard.press('Escape')
  await page.waitForSelector('.side', { state: 'hidden' })
  assert.equal(await focused(page), 'Menu')
})

test('a refused form begins where the trouble is, and leads there; so do boxes', async () => {
  const { page } = await open(360)
  await page.goto(`${origin}${home}/payments/new`)
  await page.fill('#fiat_amount', '0.1')
  await page.click('text=Create the payment')
  await page.waitForSelector('.notice.bad a[href="#fiat_amount"]')
  assert.match(await page.innerText('.notice.bad'), /Amount: the least payment is 0\.5 USD, got 0\.1 USD/)
  assert.equal(await page.evaluate('document.activeElement.id'), 'fiat_amount')
  assert.equal(await page.getAttribute('#fiat_amount', 'aria-describedby'), 'fiat_amount-problem')

  await page.goto(`${origin}${home}/settings`)
  for (const box of await page.locator('[name=coins]').all()) await box.uncheck()
  await page.click('form:has([name=coins]) button')
  await page.waitForSelector('.notice.bad a[href="#coins"]')
  assert.equal(await page.evaluate('document.activeElement.name'), 'coins')
  assert.equal(await page.locator('[name=coins]').first().getAttribute('aria-describedby'), 'coins-problem')
  assert.equal((await gateway.db.transaction((tx) => changeAccount(tx, account.id, {}))).offeredAssets, null)
})

test('a status in the results of a search is as wide as its word', async () => {
  const { page } = await open(360)
  await testPayment(gateway, account, { reference: 'twice' })
  await testPayment(gateway, account, { reference: 'twice' })
  await page.goto(`${origin}${home}/search?q=twice`)
  const widths = await page.evaluate<number[]>(
    `[...document.querySelectorAll('.rows .badge')].map((each) => each.getBoundingClientRect().width)`,
  )
  assert.equal(widths.length, 2)
  assert.ok(
    widths.every((width) => width > 0 && width < 120),
    widths.join(', '),
  )
})

test('who belongs to two merchants sees that the name is a switch', async () => {
  const { page, userId } = await open(1280)
  const other = await testAccount(gateway)
  await gateway.db.transaction(async (tx) =>
    putMember(tx, (await merchantOfAccount(tx, other)).id, userId, 'viewer'),
  )
  await page.goto(origin + home)
  assert.equal(
    await page.evaluate(
      `getComputedStyle(document.querySelector('.merchant summary'), '::after').borderBottomWidth`,
    ),
    '2px',
  )
})

test('where the system chooses the colours, the view that is open is marked too', async () => {
  const { page } = await open(1280)
  await page.emulateMedia({ forcedColors: 'active' })
  await page.goto(`${origin}${home}/payments`)
  const outlines = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.views a')].map((each) => getComputedStyle(each).outlineStyle)`,
  )
  assert.deepEqual([outlines[0], new Set(outlines.slice(1))], ['solid', new Set(['none'])])
})

test('the fields of an open filter stand in line', async () => {
  const { page } = await open(1280)
  await page.goto(`${origin}${home}/payments?filter_asset=ETH`)
  const tops = await page.evaluate<number[]>(
    `[...document.querySelectorAll('.filters label')].map((each) => each.getBoundingClientRect().height)`,
  )
  assert.equal(new Set(tops).size, 1, `labels of ${tops.join(', ')} pixels`)
  const buttons = await page.evaluate<number[]>(
    `[...document.querySelectorAll('.filters .actions > *')].map((each) => each.getBoundingClientRect().top)`,
  )
  assert.equal(new Set(buttons).size, 1)
})
