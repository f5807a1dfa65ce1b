/** The dashboard in a real Chromium on a whole Beck: from the first link to a settled payment, a key, a withdrawal. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import type { Page } from 'playwright-core'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { startBeckProcess } from '../beck-process.ts'
import { giveAuthenticator, startBrowser } from '../browser.ts'
import { codeOf } from '../dashboard.ts'
import { testDatabaseUrl } from '../database.ts'

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Where the guide's pictures go, when they are wanted. */
const pictures = process.env.BECK_SCREENSHOTS

const dataDir = await mkdtemp(join(tmpdir(), 'beck-dashboard-'))
after(() => rm(dataDir, { recursive: true, force: true }))
const port = await freePort()
const origin = `http://localhost:${port}`
const beck = startBeckProcess(['start'], {
  PORT: String(port),
  DATABASE_URL: await testDatabaseUrl(),
  BECK_SECRET_KEY: 'ab'.repeat(32),
  BECK_DATA_DIR: dataDir,
  BECK_SANDBOX_BLOCK_MS: '0',
  BECK_LOG_LEVEL: 'warn',
})
const started = await beck.hears((object) => 'url' in object)
const browser = await startBrowser()
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
const page = await context.newPage()
const troubles: string[] = []
page.on('pageerror', (error) => troubles.push(error.message))
page.on('console', (message) => {
  if (message.type() === 'error' && !/status of 40\d/.test(message.text())) troubles.push(message.text())
})
let home = ''

async function picture(name: string, of: Page = page): Promise<void> {
  if (!pictures) return
  await mkdir(pictures, { recursive: true })
  await of.screenshot({ path: join(pictures, `dashboard-${name}.png`) })
}

/** Axe's findings in a page of one's own, since the dashboard runs no script but its own. */
async function findings(of: Page): Promise<string[]> {
  const cdp = await of.context().newCDPSession(of)
  await cdp.send('Page.setBypassCSP', { enabled: true })
  await of.reload()
  await of.addScriptTag({ content: AXE })
  const found = await of.evaluate<string[]>(
    `axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) =>
      id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | ')))`,
  )
  await cdp.send('Page.setBypassCSP', { enabled: false })
  await cdp.detach()
  return found
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

test('a withdrawal says what will happen in figures, and goes out by a touch of the passkey', async () => {
  await page.goto(`${origin}${home}/withdrawals/new`)
  await page.selectOption('#asset', 'LTC')
  await page.fill('#amount', '0.5')
  await page.fill('#destination_address', 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0')
  await page.click('button:has-text("Go on")')
  await page.waitForSelector('text=It cannot be taken back')
  assert.match(await page.innerText('main'), /Taken from the balance\s+0\.5 LTC/)
  await picture('withdraw')
  await page.click('button:has-text("Confirm with a passkey")')
  await page.waitForSelector('.badge:has-text("broadcast")')
  assert.match(await page.innerText('main'), /tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0/)
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
  await page.fill('#code', codeOf(secret))
  await page.click('button:has-text("Confirm")')
  await page.waitForSelector('text=Saved.')
})

const PAGES = [
  '',
  '/payments',
  '/payments/new',
  '/customers',
  '/links',
  '/balance',
  '/withdrawals',
  '/withdrawals/new',
  '/keys',
  '/keys/new',
  '/webhooks',
  '/webhooks/new',
  '/requests',
  '/events',
  '/quickstart',
  '/settings',
  '/team',
  '/audit',
  '/search?q=order-1001',
]

for (const [name, viewport, colorScheme] of [
  ['desktop, light', { width: 1280, height: 800 }, 'light'],
  ['phone, dark', { width: 320, height: 640 }, 'dark'],
] as const) {
  test(`every page on a ${name}: axe finds nothing, and nothing is wider than the screen`, async () => {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme })
    const paths = [...PAGES.map((path) => home + path), '/dashboard/me']
    const operator = ['merchants', 'health', 'money', 'alerts'].map((each) => `/dashboard/operator/${each}`)
    for (const path of [...paths, ...operator]) {
      const answer = await page.goto(origin + path)
      assert.ok(answer && answer.status() < 400, `${path}: ${answer?.status()}`)
      const width = await page.evaluate<number>('document.documentElement.scrollWidth')
      assert.ok(width <= viewport.width, `${path} is ${width} wide`)
      assert.deepEqual(await findings(page), [], path)
    }
    await page.goto(`${origin}${home}/payments`)
    await picture(`payments-${colorScheme}`)
  })
}

test('the keyboard alone gets from the top to the content and to the search', async () => {
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(`${origin}${home}/payments`)
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

test('nothing was complained of by the browser', () => {
  assert.deepEqual(troubles, [])
})
