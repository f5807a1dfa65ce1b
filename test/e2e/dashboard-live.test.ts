/** A page on which something is under way, in a real Chromium: news comes by itself, and never under somebody's hands. */
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import type { Page } from 'playwright-core'
import { type PaymentId, showId, type UserId } from '../../src/core/ids.ts'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { announce } from '../../src/events/announce.sql.ts'
import { createWebhookEndpoint } from '../../src/events/webhook-endpoints.sql.ts'
import { cancelPayment } from '../../src/flows/payments/cancel-payment.ts'
import { startServer } from '../../src/http/server.ts'
import { UNLIMITED } from '../api.ts'
import { startBrowser } from '../browser.ts'
import { homeOf, signedIn } from '../dashboard.ts'
import { testAccount, testGateway, testPayment } from '../gateway.ts'

const port = await freePort()
const origin = `http://localhost:${port}`
const made = await testGateway()
const gateway = { ...made, settings: { ...made.settings, publicUrl: origin, dashboardUrl: origin } }
const account = await testAccount(gateway)
const server = await startServer(gateway, { port, rateLimit: UNLIMITED })
after(() => server.close())
const { token } = await signedIn(gateway.db, { account, role: 'owner' })
const browser = await startBrowser()

/** A payment's page while it waits, and what happens to it meanwhile. */
async function open(): Promise<{ page: Page; userId: UserId; happen: () => Promise<void> }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 500 } })
  const { token, userId } = await signedIn(gateway.db, { account, role: 'owner' })
  await context.addCookies([{ name: 'beck', value: token, url: origin }])
  const page = await context.newPage()
  const { id } = await testPayment(gateway, account)
  await page.goto(`${origin}${homeOf(account)}/payments/${showId('pay', id)}`)
  return { page, userId, happen: () => cancel(id) }
}

const cancel = (id: PaymentId): Promise<void> =>
  gateway.db.transaction(async (tx) => {
    await cancelPayment(tx, account.id, id)
  })

const isCancelled = 'h1 .badge:has-text("cancelled")'
const focused = (page: Page) => page.evaluate<string>('document.activeElement.textContent')

test('nobody’s hands are on the page: it shows itself anew, where it was scrolled to', async () => {
  const { page, happen } = await open()
  await page.evaluate('scrollTo(0, 200)')
  await happen()
  await page.waitForSelector(isCancelled)
  assert.equal(await page.evaluate('scrollY'), 200)
  await page.context().close()
})

test('the keyboard is somewhere: its place stays, a line says that there is something new, and shows it', async () => {
  const { page, happen } = await open()
  await page.focus('main .copyable button')
  await page.keyboard.press('Tab')
  const before = await focused(page)
  await happen()
  await page.waitForSelector('.news')
  assert.match(await page.innerText('#announcement'), /There is something new/)
  assert.equal(await focused(page), before)
  assert.equal(await page.locator('.news').count(), 1)
  await page.focus('.news button')
  await page.keyboard.press('Enter')
  await page.waitForSelector(isCancelled)
  assert.equal(await page.locator('.news').count(), 0)
  await page.context().close()
})

test('marked text waits too; once nobody needs the page as it is, it goes on by itself', async () => {
  const { page, happen } = await open()
  await page.click('main .copyable code')
  const marked = await page.evaluate<string>('String(getSelection())')
  assert.match(marked, /^pay_/, 'one press marks all of an id')
  await happen()
  await page.waitForSelector('.news')
  assert.equal(await page.evaluate('String(getSelection())'), marked)
  await page.evaluate('getSelection().removeAllRanges()')
  await page.waitForSelector(isCancelled)
  await page.context().close()
})

test('what is filled in waits too: a note typed, a choice made, a column ticked off, each left with the mouse', async () => {
  const { page, happen } = await open()
  await page.fill('#note', 'Asked by phone, twice')
  await page.click('h1')
  await happen()
  await page.waitForSelector('.news')
  assert.equal(await page.inputValue('#note'), 'Asked by phone, twice')
  await page.fill('#note', '')
  await page.click('h1')
  await page.waitForSelector(isCancelled)

  const { path, deliver } = await endpoint()
  await page.goto(`${path}?filter_status=pending`)
  assert.equal(await page.inputValue('#filter_status'), 'pending')
  await page.selectOption('#filter_status', 'failed')
  await page.click('h2')
  await deliver()
  await page.waitForSelector('.news')
  assert.equal(await page.inputValue('#filter_status'), 'failed')
  await page.selectOption('#filter_status', 'pending')
  await page.click('h2')
  await page.waitForSelector('.news', { state: 'detached' })
  assert.equal(await page.locator('tbody tr').count(), 2)

  // Of a list in which nothing is marked the first is what was drawn.
  await page.goto(`${path}?from=2020-01-01`)
  await deliver()
  await page.waitForSelector('tbody tr:nth-child(3)')
  await page.selectOption('#filter_status', 'failed')
  await page.click('h2')
  await deliver()
  await page.waitForSelector('.news')
  assert.equal(await page.inputValue('#filter_status'), 'failed')

  await page.goto(path)
  const columns = page.locator('summary', { hasText: 'Columns' })
  const first = page.locator('input[name=columns]').first()
  await columns.click()
  await first.uncheck()
  await columns.click()
  await page.click('h2')
  await deliver()
  await page.waitForSelector('.news')
  assert.equal(await first.isChecked(), false)
  await page.context().close()
})

/** A webhook endpoint's page with a delivery under way, and how another one comes. */
async function endpoint(): Promise<{ path: string; deliver: () => Promise<void> }> {
  const { db, secrets } = gateway
  const draft = {
    accountId: account.id,
    url: 'https://shop.example/hooks',
    events: ['payment.completed'] as const,
  }
  const made = await db.transaction((tx) => createWebhookEndpoint(tx, secrets, draft))
  let delivered = 0
  const deliver = async () => {
    delivered += 1
    const event = {
      accountId: account.id,
      type: 'payment.completed',
      cause: `test:${delivered}`,
      data: {},
    } as const
    await db.transaction((tx) => announce(tx, event))
  }
  await deliver()
  return { path: `${origin}${homeOf(account)}/webhooks/${showId('whk', made.endpoint.id)}`, deliver }
}

test('a server that is away or asks for patience is asked again; one redirect is looked after once more', async () => {
  const { page, happen } = await open()
  const answers = [502, 503, 429, 303]
  await page.route(page.url(), (route) => {
    const status = 'x-look' in route.request().headers() ? answers.shift() : undefined
    if (status === undefined) return route.continue()
    const headers = { location: `${origin}/dashboard/sign-in` }
    return route.fulfill({ status, ...(status === 303 ? { headers } : {}) })
  })
  await happen()
  await page.waitForSelector(isCancelled, { timeout: 90_000 })
  assert.deepEqual(answers, [])
  await page.context().close()
})

test('one who is signed out reads that the page no longer refreshes; his session grew idle beneath it', async () => {
  const { page, userId } = await open()
  const seenAt = async () =>
    (await gateway.db.query<{ at: Date }>('select seen_at as at from sessions where user_id = $1', [userId]))
      .rows[0]?.at
  await gateway.db.query("update sessions set seen_at = now() - interval '7 hours' where user_id = $1", [
    userId,
  ])
  const before = await seenAt()
  const looks = () => page.waitForResponse((answer) => 'x-look' in answer.request().headers())
  await looks()
  await looks()
  assert.deepEqual(await seenAt(), before)
  await gateway.db.query('delete from sessions where user_id = $1', [userId])
  await page.waitForSelector('.news:has-text("This page no longer refreshes.")')
  assert.match(await page.innerText('#announcement'), /no longer refreshes/)
  await page.click('.news button')
  await page.waitForSelector('h1:has-text("Sign in")')
  await page.context().close()
})

test('what was done is said to who does not see it', async () => {
  const { page } = await open()
  await page.click('button:has-text("Cancel the payment")')
  await page.waitForSelector(isCancelled)
  await page.waitForSelector('#announcement:has-text("The payment is cancelled.")', { state: 'attached' })
  await page.context().close()
})

test('without a script nothing moves by itself: a link shows what is new', async () => {
  const { id } = await testPayment(gateway, account)
  const path = `${homeOf(account)}/payments/${showId('pay', id)}`
  const read = async () => (await fetch(origin + path, { headers: { cookie: `beck=${token}` } })).text()
  const waiting = await read()
  assert.match(waiting, new RegExp(`<noscript><p class="hint">[^<]*<a href="${path}">Look again</a>`))
  assert.doesNotMatch(waiting, /http-equiv="refresh"/)
  await cancel(id)
  assert.doesNotMatch(await read(), /Look again/)
})

test('a browser without a script is shown the link, and by it what is new', async () => {
  const { page, id } = await openPlain()
  assert.equal(await page.locator('h1 .badge').innerText(), 'pending')
  await cancel(id)
  const look = page.getByRole('link', { name: 'Look again' })
  assert.equal(await page.locator('h1 .badge').innerText(), 'pending', 'nothing moves by itself')
  await look.click()
  await page.waitForSelector(isCancelled)
  assert.equal(await look.count(), 0, 'nothing is under way any more')
  await page.context().close()
})

/** A payment's page on a phone that runs no script. */
async function openPlain(): Promise<{ page: Page; id: PaymentId }> {
  const context = await browser.newContext({
    viewport: { width: 390, height: 844 },
    javaScriptEnabled: false,
  })
  await context.addCookies([{ name: 'beck', value: token, url: origin }])
  const page = await context.newPage()
  const { id } = await testPayment(gateway, account)
  await page.goto(`${origin}${homeOf(account)}/payments/${showId('pay', id)}`)
  return { page, id }
}
