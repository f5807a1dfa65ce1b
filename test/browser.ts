/** A real Chromium, with a fresh profile; it ends with the test file. */
import { access } from 'node:fs/promises'
import { after } from 'node:test'
import { type Browser, chromium } from 'playwright-core'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const OPTIONS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export async function startBrowser(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: await findChromium(), args: OPTIONS })
  after(() => browser.close())
  return browser
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
    'the tests of the pages need Chromium: install it (on Debian: apt-get install chromium) or set CHROMIUM_PATH',
  )
}
