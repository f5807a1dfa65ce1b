/** The dashboard in a real Chromium on a whole Beck: from the first link to a settled payment, a key, a withdrawal. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { TOTP, URI } from 'otpauth'
import type { Page, Route } from 'playwright-core'
import { findAccount } from '../../src/accounts/accounts.sql.ts'
import { readId } from '../../src/core/ids.ts'
import { openDatabase } from '../../src/db/database.ts'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { dashboardRows } from '../../src/http/dashboard/rows.ts'
import { accentOf } from '../../src/http/hosted/colour.ts'
import { ROLES } from '../../src/users/permissions.ts'
import { axeFindings, LOOKS } from '../axe.ts'
import { startBeckProcess } from '../beck-process.ts'
import { giveAuthenticator, startBrowser } from '../browser.ts'
import { signedIn } from '../dashboard.ts'
import { testDatabaseUrl } from '../database.ts'
import { openQrReader } from '../qr-reader.ts'

/** Where the guide's pictures go, when they are wanted. */
const pictures = process.env.BECK_SCREENSHOTS

const dataDir = await mkdtemp(join(tmpdir(), 'beck-dashboard-'))
after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
const port = await freePort()
const origin = `http://localhost:${port}`
const databaseUrl = await testDatabaseUrl()
const beck = startBeckProcess(['start'], {
  PORT: String(port),
  DATABASE_URL: databaseUrl,
  BECK_SECRET_KEY: 'ab'.repeat(32),
  BECK_DATA_DIR: dataDir,
  BECK_SANDBOX_BLOCK_MS: '0',
  BECK_LOG_LEVEL: 'warn',
})
const started = await beck.hears((object) => 'url' in object)
const browser = await startBrowser()
const codes = await openQrReader(browser)
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
const troubles: string[] = []
const page = listen(await context.newPage())
let home = ''

async function picture(name: string, of: Page = page): Promise<void> {
  if (!pictures) return
  await mkdir(pictures, { recursive: true })
  await of.screenshot({ path: join(pictures, `dashboard-${name}.png`) })
}

/** All of a page, to be looked at: the menu at the side is as long as the screen. */
async function wholePicture(of: Page, name: string, size: { width: number; height: number }): Promise<void> {
  if (!pictures) return
  const height = await of.evaluate<number>('document.documentElement.scrollHeight')
  await of.setViewportSize({ ...size, height: Math.max(height, size.height) })
  await picture(`page${name.replace(/[/:]+/g, '-')}`, of)
  await of.setViewportSize(size)
}

function listen(to: Page): Page {
  to.on('pageerror', (error) => troubles.push(`${to.url()}: ${error.message}`))
  to.on('console', (message) => {
    if (message.type() === 'error' && !/status of 40\d/.test(message.text()))
      troubles.push(`${to.url()}: ${message.text()}`)
  })
  return to
}

test('the printed link and a passkey make the first person; recovery codes are shown once', async () => {
  await giveAuthenticator(page)
  await page.goto(String(started.first_person_link))
  await page.fill('#name', 'Ada Lovelace')
  await page.fill('#email', 'ada@example.com')
  await picture('welcome')
  await page.click('text=Continue with a passkey')
  await page.waitForSelector('ol.codes')
  assert.equal(await page.locator('ol.codes li').count(), 10)
  await page.click('text=I have kept them')
  await page.waitForSelector('h1:has-text("Overview")')
  home = new URL(page.url()).pathname
  assert.match(home, /^\/dashboard\/acct_/)
})

test('a sandbox payment is made, paid and mined by buttons, and is seen settling on the open page', async () => {
  await page.click('text=New test payment')
  await page.fill('#email', 'buyer@example.com')
  await page.click('text=Create the payment')
  await page.waitForSelector('h1 .badge:has-text("pending")')
  await page.click('button:has-text("Pay 0.")')
  await page.waitForSelector('h1 .badge:has-text("detected")')
  await page.click('button:has-text("Mine 6")')
  await page.waitForSelector('h1 .badge:has-text("completed")')
  // 49.99 dollars at 80 are 0.624875 LTC, less one hundredth.
  assert.equal(await page.locator('text=Settled: 0.618625 LTC credited').count(), 1)
  await picture('payment')
  await page.goto(origin + home)
  await page.waitForSelector('.tile .figure:has-text("$49.49")')
  await picture('overview')
})

test('a key is made after a confirmation, shown once, and lets a program in', async () => {
  await page.goto(`${origin}${home}/keys/new`)
  await page.fill('#name', 'Shop server')
  await page.click('button:has-text("Create the key")')
  await page.waitForSelector('.secret code, form.passkey')
  if (await page.locator('form.passkey').count()) await page.click('form.passkey button')
  const key = await page.locator('.secret code').innerText()
  assert.match(key, /^bk_test_/)
  await picture('key')
  const answer = await fetch(`${origin}/v1/payments`, { headers: { 'x-api-key': key } })
  assert.equal(answer.status, 200)
  await page.goto(`${origin}${home}/keys`)
  assert.ok(!(await page.content()).includes(key))
})

test('the codes of a payment, a link and a point of sale hold what stands beside them', async () => {
  const form = { asset: 'LTC', fiat_amount: '25', currency: 'USD' }
  const made = async (path: string, fields: Record<string, string>) => {
    const answer = await context.request.post(`${origin}${home}${path}`, {
      form: fields,
      headers: { origin },
    })
    assert.equal(answer.status(), 200, path)
    await page.goto(answer.url())
    return codes.read(page)
  }
  const text = await made('/payments/new', form)
  const address = await page.locator('[data-copy^=tltc1]').first().getAttribute('data-copy')
  assert.equal(
    text,
    `litecoin:${address}?amount=${/Asked\s+([\d.]+) LTC/.exec(await page.innerText('main'))?.[1]}`,
  )
  const link = await made('/links', { label: 'Coffee', amount: '4', currency: 'USD' })
  assert.match(link, new RegExp(`^${origin}/pay/plink_`))
  assert.equal(link, await page.locator('main dl a').first().getAttribute('href'))
  const counter = await made('/points-of-sale', { name: 'Bar', currency: 'USD' })
  assert.match(counter, new RegExp(`^${origin}/pos/pos_`))
  assert.equal(counter, await page.locator('[data-copy*="/pos/"]').getAttribute('data-copy'))
})

test('a withdrawal says what will happen in figures, and goes out by a touch of the passkey', async () => {
  await page.goto(`${origin}${home}/withdrawals/new`)
  await page.selectOption('#asset', 'LTC')
  await page.fill('#amount', '0.5')
  await page.fill('#destination_address', 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0')
  await page.waitForSelector('[data-quoted]:has-text("LTC would arrive; fees take")')
  await page.click('button:has-text("Go on")')
  await page.waitForSelector('text=It cannot be taken back')
  assert.match(await page.innerText('main'), /Taken from the balance\s+0\.5 LTC/)
  await picture('withdraw')
  await page.click('button:has-text("Confirm with a passkey")')
  await page.waitForSelector('.badge:has-text("broadcast")')
  assert.match(await page.innerText('main'), /tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0/)
})

test('the checkout in small has the name and the colours that the checkout will have', async () => {
  await page.goto(`${origin}${home}/settings`)
  await page.fill('#brand_name', 'Tea & Co')
  await page.fill('#brand_color', '#FFE94D')
  const { fill, on } = accentOf('#ffe94d').light
  const look = `((style) => [style.getPropertyValue('--accent'), style.getPropertyValue('--on-accent')])(document.querySelector('[data-preview]').style)`
  assert.deepEqual(await page.evaluate<string[]>(look), [fill, on])
  assert.equal(await page.innerText('[data-preview-name]'), 'Tea & Co')
})

test('signed out, the passkey alone signs in again, and leads to where one wanted to go', async () => {
  await page.click('text=Sign out')
  await page.goto(`${origin}${home}/payments`)
  await page.waitForSelector('h1:has-text("Sign in")')
  await picture('sign-in')
  await page.click('text=Sign in with a passkey')
  await page.waitForSelector('h1:has-text("Payments")')
  assert.equal(new URL(page.url()).pathname, `${home}/payments`)
})

test('an authenticator app is set up from its page, and its next code confirms', async () => {
  await page.goto(`${origin}/dashboard/me/totp`)
  if (await page.locator('form.passkey').count()) await page.click('form.passkey button')
  await page.waitForSelector('.qr')
  const secret = (await page.locator('ol.steps code').first().innerText()).trim()
  // As the app does it: from the picture alone.
  const read = await codes.read(page)
  const app = URI.parse(read)
  assert.ok(app instanceof TOTP, read)
  assert.deepEqual([app.secret.base32, app.issuer, app.label], [secret, 'Beck', 'ada@example.com'])
  assert.equal(read, app.toString())
  await page.fill('#code', app.generate())
  await page.click('button:has-text("Confirm")')
  await page.waitForSelector('text=Saved.')
})

test('the keyboard alone gets from the top to the content and to the search', async () => {
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(`${origin}${home}/payments`)
  await picture('payments-light')
  await page.emulateMedia({ colorScheme: 'dark' })
  await picture('payments-dark')
  await page.emulateMedia({ colorScheme: 'light' })
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to content')
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate('document.activeElement.id'), 'content')
  await page.keyboard.press('Control+k')
  assert.equal(await page.evaluate('document.activeElement.id'), 'q')
  await page.keyboard.type('order-1001')
  await page.keyboard.press('Enter')
  await page.waitForSelector('h1.big')
})

test('without a script the same pages work', async () => {
  const plain = await browser.newContext({
    javaScriptEnabled: false,
    storageState: await context.storageState(),
  })
  const bare = await plain.newPage()
  await bare.goto(`${origin}${home}/payments/new`)
  await bare.click('button:has-text("Create the payment")')
  await bare.waitForSelector('h1 .badge:has-text("pending")')
  await bare.click('button:has-text("Cancel the payment")')
  await bare.waitForSelector('h1 .badge:has-text("cancelled")')
  await plain.close()
})

/** A page's kind: its path without what differs from row to row. */
const kindOf = (path: string): string =>
  path.replace(home, '/dashboard/:account').replace(/\/[a-z]+_[0-9a-z]{20,}/g, '/:id')

/**
 * Every kind of page that somebody comes to by links, wide and narrow; axe looks at each that it has not seen alike.
 *
 * @param from - Paths to begin with. Those with a query are pages of their own, and show what they were asked.
 */
async function walk(of: Page, from: readonly string[]): Promise<Set<string>> {
  const kinds = new Set<string>()
  const todo = [...from]
  // A page that shows its news anew goes away under the hand that looks at it: here none hears of any.
  const hearsNothing = (route: Route) =>
    'x-look' in route.request().headers() ? route.fulfill({ status: 404 }) : route.continue()
  await of.route(`${origin}/dashboard/**`, hearsNothing)
  for (let path = todo.shift(); path !== undefined; path = todo.shift()) {
    const kind = kindOf(path)
    if (kinds.has(kind)) continue
    kinds.add(kind)
    await of.setViewportSize(WIDE)
    const answer = await of.goto(origin + path, { waitUntil: 'domcontentloaded' })
    assert.ok(answer && answer.status() < 400, `${path}: ${answer?.status()}`)
    if (path.includes('?')) assert.equal(of.url(), origin + path)
    const seen: { shape: string; links: string[]; wide: number } = await of.evaluate(LOOK)
    assert.ok(seen.wide <= WIDE.width, `${path} is ${seen.wide} wide`)
    todo.push(...seen.links.map((link) => new URL(link).pathname).filter((link) => !/\/export$/.test(link)))
    const isNew = !inspected.has(`${kind} ${seen.shape}`)
    inspected.add(`${kind} ${seen.shape}`)
    if (isNew) assert.deepEqual(await axeFindings(of), [], path)
    if (isNew && of === page) await wholePicture(of, `${kind}-light-desktop`, WIDE)
    await of.setViewportSize(NARROW)
    const narrow = await of.evaluate<number>('document.documentElement.scrollWidth')
    assert.ok(narrow <= NARROW.width, `${path} is ${narrow} wide on a phone`)
    if (isNew && of === page) {
      await of.emulateMedia({ colorScheme: 'dark' })
      assert.deepEqual(await axeFindings(of, { only: LOOKS }), [], `${path}, narrow and dark`)
      await wholePicture(of, `${kind}-dark-phone`, NARROW)
      await of.emulateMedia({ colorScheme: 'light' })
    }
  }
  for (const kind of kinds) cameTo.add(kind.split('?')[0] ?? kind)
  return kinds
}

/** Kinds of pages that anybody came to. */
const cameTo = new Set<string>()
/** Kinds of pages, each in one of its shapes, that axe looked at. */
const inspected = new Set<string>()

const WIDE = { width: 1280, height: 800 }
const NARROW = { width: 320, height: 640 }
/** What somebody may do here makes the page another one for axe. */
const LOOK = `({
  shape: [...document.querySelectorAll('main form, main h1, main h2')].map((each) => each.tagName + each.className).join(' '),
  links: [...document.querySelectorAll('a[href^="/dashboard"]')].map((each) => each.href),
  wide: document.documentElement.scrollWidth,
})`

/** Rows that nobody comes to by a link from here. */
const ELSEWHERE = [
  // Before the sign-in, and a confirmation: other tests here.
  /^\/(sign-in|forgotten|join|step-up)/,
  // Where something was asked of others, or paid in bulk: test/e2e/approval-pages.test.ts.
  /^\/:account\/(approvals|withdrawals\/batches)\/:id$/,
  /\/export$/,
  // Leads to the first account.
  /^$/,
]

const FINDS_NOTHING =
  'of every page, wide and narrow, axe finds nothing, and nothing is wider than the screen'

test(`who owns the account: ${FINDS_NOTHING}`, async () => {
  const made = async (path: string, form: Record<string, string>) => {
    const answer = await context.request.post(`${origin}${home}${path}`, { form, headers: { origin } })
    assert.equal(answer.status(), 200, path)
  }
  await made('/links', { label: 'Tea', amount: '5', currency: 'USD' })
  await made('/points-of-sale', { name: 'Counter', currency: 'USD' })
  await made('/webhooks', { url: 'https://shop.example/hook', events: 'payment.refunded' })
  const [payment = ''] = await page
    .goto(`${origin}${home}/payments`)
    .then(() =>
      page.evaluate<string[]>(`[...document.querySelectorAll('td a')].map((each) => each.pathname)`),
    )
  const asked = [
    '/search?q=order-1001',
    '/payments?filter_status=pending&sort=total',
    '/customers?filter_email=nobody',
  ].map((path) => home + path)
  await walk(page, [home, `${payment}/refund`, `${home}/go-live`, ...asked])
})

for (const role of [...ROLES, null]) {
  test(`${role ?? 'the operator'}: ${FINDS_NOTHING}`, async (t) => {
    const db = openDatabase({ url: databaseUrl, connectionsMax: 1 })
    t.after(() => db.close())
    const accountId = readId('acct', home.split('/').at(-1) ?? '')
    const account = accountId && (await findAccount(db, accountId))
    assert.ok(account)
    const { token } = await signedIn(db, role ? { account, role } : { isOperator: true })
    const own = await browser.newContext()
    await own.addCookies([{ name: 'beck', value: token, url: origin }])
    const kinds = await walk(listen(await own.newPage()), role ? [home] : ['/dashboard/operator/merchants'])
    assert.ok(kinds.size >= (role ? 8 : 5), `came to ${kinds.size} pages`)
    await own.close()
  })
}

test('one of them came to every page', () => {
  const pages = dashboardRows
    .filter(({ method, path }) => method === 'GET' && !ELSEWHERE.some((each) => each.test(path)))
    .map(({ path }) => `/dashboard${path}`)
  assert.deepEqual(
    pages.filter((path) => !cameTo.has(path)),
    [],
    'pages that nobody came to',
  )
})

test('nothing was complained of by the browser', () => {
  assert.deepEqual(troubles, [])
})
