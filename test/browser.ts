/**
 * A real Chromium, with a fresh profile; it ends with the test file. Without windows of its own (`chromium-headless-shell`) where
 * there is one: each page then takes a quarter of the processor's time.
 */
import { access } from 'node:fs/promises'
import { after } from 'node:test'
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core'

const PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]
const OPTIONS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

// A page's picture, taken as Playwright takes it by itself, fails one time in ten on a busy machine.
process.env.PLAYWRIGHT_LEGACY_SCREENSHOT ??= '1'

export async function startBrowser(): Promise<Browser> {
  const browser = await openBrowser()
  after(() => browser.close())
  return browser
}

/** For what is no test: whoever opens it closes it. */
export const openBrowser = async (): Promise<Browser> =>
  chromium.launch({ executablePath: await findChromium(), args: OPTIONS })

/**
 * Gives a page a passkey device that says yes at once. It goes with the session that is returned, or with any other of the page: keep
 * one.
 */
export async function giveAuthenticator(page: Page): Promise<CDPSession> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return devtools
}

async function findChromium(): Promise<string> {
  for (const path of process.env.CHROMIUM_PATH ? [process.env.CHROMIUM_PATH] : PLACES) {
    const isThere = await access(path).then(
      () => true,
      () => false,
    )
    if (isThere) return path
  }
  throw new Error(
    'the tests of the pages need Chromium: install it (on Debian: apt-get install chromium-headless-shell) or set CHROMIUM_PATH',
  )
}
