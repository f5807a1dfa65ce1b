/** Payment links as they are really opened: by many people behind one address, and by programs that read along. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findLinkForVisitor, insertPaymentLink } from '../../src/checkout/payment-links.sql.ts'
import { showId } from '../../src/core/ids.ts'
import { startBrowser } from '../browser.ts'
import { testHosted } from '../hosted.ts'

/** More than a page's own allowance: what used to be refused. */
const OPENS = 81

// The limits of a gateway that is open to the world, whose proxy says who asks.
const hosted = await testHosted({ hosted: { limits: {} }, trustProxy: '127.0.0.1' })
const { gateway, account } = hosted.story
const origin = await hosted.app.listen({ port: 0, host: '127.0.0.1' })
const browser = await startBrowser()

async function makeLink() {
  const link = await gateway.db.transaction((tx) =>
    insertPaymentLink(tx, {
      accountId: account.id,
      label: 'Consultation',
      amountMinor: 120_00n,
      currency: 'USD',
    }),
  )
  return {
    url: `${origin}/pay/${showId('plink', link.id)}`,
    uses: async () => (await findLinkForVisitor(gateway.db, link.id))?.uses,
  }
}

test('a whole town behind one address opens a link, and everybody has a checkout of his own', async () => {
  const link = await makeLink()
  const context = await browser.newContext({ extraHTTPHeaders: { 'x-forwarded-for': '203.0.113.7' } })
  const page = await context.newPage()
  await page.goto(link.url)
  await page.waitForSelector('#content[data-state=choose]')
  // Without cookies each is another visitor; loaded as pages they would take half a minute.
  const opened = await page.evaluate<[status: number, url: string][]>(`(async () => {
    const opened = []
    const visit = async () => {
      const { status, url } = await fetch('${link.url}', { credentials: 'omit' })
      opened.push([status, url])
    }
    while (opened.length < ${OPENS - 1}) await Promise.all(Array.from({ length: 5 }, visit))
    return opened
  })()`)
  assert.deepEqual(
    opened.filter(([status]) => status !== 200),
    [],
  )
  const checkouts = new Set([page.url(), ...opened.map(([, url]) => url)])
  assert.equal(checkouts.size, OPENS)
  assert.equal(await link.uses(), BigInt(OPENS))
  await context.close()
})

test('what a messenger or a mail scanner reads along is no buyer; who has such a browser goes on by a button', async () => {
  const link = await makeLink()
  for (const userAgent of ['WhatsApp/2.23.20.0', 'curl/8.14.1', 'Mozilla/5.0 (compatible; Discordbot/2.0)']) {
    const context = await browser.newContext({ userAgent, locale: 'en-US' })
    const page = await context.newPage()
    await page.goto(link.url)
    await page.waitForSelector('#content[data-state=preview]')
    assert.equal(await page.title(), 'Consultation – Shop')
    assert.equal(await link.uses(), 0n, userAgent)
    await context.close()
  }
  const page = await browser.newPage({
    userAgent: 'Mozilla/5.0 (Linux; Android 12; CUBOT X18)',
    locale: 'en-US',
  })
  await page.goto(link.url)
  await page.locator('main form button').click()
  await page.waitForSelector('#content[data-state=choose]')
  assert.equal(await link.uses(), 1n)
  await page.close()
})
