/** Reads QR codes from pictures of a page, as a phone's camera would: with jsQR, which shares nothing with the encoder. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'

const require = createRequire(import.meta.url)
/** Around the code the picture shows the page, in its colours: without its quiet zone a code on a dark page is not found. */
const MARGIN_PX = 24
const PATIENCE_MS = 5000
const LOOKS = [
  { what: 'a phone, light', size: { width: 375, height: 812 }, colorScheme: 'light' },
  { what: 'a phone, dark', size: { width: 375, height: 812 }, colorScheme: 'dark' },
  { what: 'a desktop, light', size: { width: 1280, height: 900 }, colorScheme: 'light' },
  { what: 'a desktop, dark', size: { width: 1280, height: 900 }, colorScheme: 'dark' },
] as const

export interface QrReader {
  /** What is read from one code of a page, the same on a phone and a desktop, in light and in dark. */
  read(page: Page, selector?: string): Promise<string>
}

export async function openQrReader(browser: Browser): Promise<QrReader> {
  const source = await readFile(require.resolve('jsqr/dist/jsQR.js'), 'utf8')
  const eye = await browser.newPage()
  await eye.evaluate(source)
  await eye.evaluate(`window.readCode = async (png) => {
    const image = await createImageBitmap(await (await fetch('data:image/png;base64,' + png)).blob())
    const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d')
    canvas.drawImage(image, 0, 0)
    const { data, width, height } = canvas.getImageData(0, 0, image.width, image.height)
    return jsQR(data, width, height, { inversionAttempts: 'dontInvert' })?.data ?? null
  }`)
  /** Null when no code is seen: also while the page draws it anew. */
  const readOnce = async (page: Page, selector: string): Promise<string | null> => {
    const code = page.locator(selector)
    await code.evaluate((element) => element.scrollIntoView({ block: 'center' }))
    const [box, size] = [await code.boundingBox(), page.viewportSize()]
    if (!(box && size)) return null
    const [x, y] = [Math.max(0, box.x - MARGIN_PX), Math.max(0, box.y - MARGIN_PX)]
    const clip = {
      x,
      y,
      width: Math.min(size.width, box.x + box.width + MARGIN_PX) - x,
      height: Math.min(size.height, box.y + box.height + MARGIN_PX) - y,
    }
    const picture = await page.screenshot({ clip })
    return eye.evaluate<string | null>(`readCode('${picture.toString('base64')}')`)
  }
  /** A phone's camera looks until it sees a code, for a while. */
  const readInTime = async (page: Page, selector: string): Promise<string | null> => {
    const last = Date.now() + PATIENCE_MS
    for (;;) {
      const text = await readOnce(page, selector)
      if (text !== null || Date.now() > last) return text
    }
  }
  return {
    async read(page, selector = '.qr') {
      const before = page.viewportSize()
      const texts = new Map<string | null, string>()
      for (const { what, size, colorScheme } of LOOKS) {
        await page.setViewportSize(size)
        await page.emulateMedia({ colorScheme })
        texts.set(await readInTime(page, selector), what)
      }
      await page.emulateMedia({ colorScheme: null })
      if (before) await page.setViewportSize(before)
      assert.ok(!texts.has(null), `no code can be read on ${texts.get(null)}`)
      assert.equal(texts.size, 1, `different codes: ${JSON.stringify([...texts])}`)
      return [...texts.keys()][0] ?? ''
    },
  }
}
