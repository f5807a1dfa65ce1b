/** A passkey is added in a real Chromium: once, and after a confirmation that ran out too. */
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { startServer } from '../../src/http/server.ts'
import { UNLIMITED } from '../api.ts'
import { giveAuthenticator, startBrowser } from '../browser.ts'
import { signedIn } from '../dashboard.ts'
import { testGateway } from '../gateway.ts'

const port = await freePort()
const origin = `http://localhost:${port}`
const made = await testGateway()
const gateway = { ...made, settings: { ...made.settings, publicUrl: origin, dashboardUrl: origin } }
const server = await startServer(gateway, { port, rateLimit: UNLIMITED })
after(() => server.close())
const browser = await startBrowser()
const ADD = 'button:has-text("Add a passkey")'

/** The page that adds one, of somebody who just confirmed. */
async function open() {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } })
  const { token, userId } = await signedIn(gateway.db)
  await context.addCookies([{ name: 'beck', value: token, url: origin }])
  const page = await context.newPage()
  const device = await giveAuthenticator(page)
  await page.goto(`${origin}/dashboard/me/passkeys`)
  const waitTooLong = () =>
    gateway.db.query("update sessions set stepped_up_at = now() - interval '6 minutes' where user_id = $1", [
      userId,
    ])
  return { page, device, waitTooLong }
}

test('a confirmation that ran out before the button is asked for again', async () => {
  const { page, waitTooLong } = await open()
  await waitTooLong()
  await page.click(ADD)
  await page.waitForSelector('h1:has-text("Confirm that it is you")')
  assert.equal(new URL(page.url()).searchParams.get('next'), '/dashboard/me/passkeys')
  await page.context().close()
})

test('and so is one that ran out while the device was looked for', async () => {
  const { page, waitTooLong } = await open()
  await page.route('**/me/passkeys', async (route) => {
    if (route.request().method() === 'POST') await waitTooLong()
    await route.continue()
  })
  await page.click(ADD)
  await page.waitForSelector('h1:has-text("Confirm that it is you")')
  assert.equal(new URL(page.url()).searchParams.get('next'), '/dashboard/me/passkeys')
  await page.context().close()
})

test('it is sent once, however often its button is pressed, and anew when the page comes back', async () => {
  const { page } = await open()
  let sent = 0
  await page.route('**/me/passkeys', (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    sent += 1
    // An answer that leaves the page where it is.
    return route.fulfill({ status: 204 })
  })
  await page.click(ADD)
  await page.waitForSelector(`${ADD}:disabled`)
  const field = page.locator('input[name=passkey]')
  assert.match(await field.inputValue(), /^\{/)
  await page.evaluate("document.querySelector('[data-create-from] button').click()")
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
  assert.equal(await field.inputValue(), '')
  await page.waitForSelector(`${ADD}:enabled`)
  assert.equal(sent, 1)
  await page.context().close()
})
