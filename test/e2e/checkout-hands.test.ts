/** What people do on the checkout with their hands: the keyboard alone, copying, and paying in a dialog of the shop. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { updateAccountSettings } from '../../src/accounts/accounts.sql.ts'
import { insertPaymentLink } from '../../src/checkout/payment-links.sql.ts'
import { insertPointOfSale } from '../../src/checkout/points-of-sale.sql.ts'
import { readId, showId } from '../../src/core/ids.ts'
import { axeFindings } from '../axe.ts'
import { startBrowser } from '../browser.ts'
import { pathOf, testHosted } from '../hosted.ts'

/** Where pictures are kept when the documentation is renewed. */
const PICTURES = process.env.BECK_SCREENSHOTS
const COIN = 100_000_000n

const hosted = await testHosted()
const { story } = hosted
await hosted.app.listen({ port: 0, host: '127.0.0.1' })
const origin = `http://127.0.0.1:${(hosted.app.server.address() as AddressInfo).port}`
const browser = await startBrowser()

test('the keyboard alone leads from the coin to the receipt, with the focus always in sight', async () => {
  const id = await hosted.open()
  const page = await browser.newPage({ reducedMotion: 'reduce' })
  await page.goto(origin + pathOf(id))
  const focused = () =>
    page.evaluate<string>(
      '(() => { const e = document.activeElement; return e.id || e.textContent.trim().slice(0, 40) })()',
    )
  const outline = () =>
    page.evaluate<string>(
      "(() => { const e = document.activeElement; const box = e.matches('.coin input') ? e.nextElementSibling : e; return getComputedStyle(box).outlineStyle })()",
    )
  const tabTo = async (name: RegExp) => {
    for (let presses = 0; presses < 30; presses++) {
      await page.keyboard.press('Tab')
      assert.notEqual(await outline(), 'none', `no outline around ${await focused()}`)
      if (name.test(await focused())) return
    }
    assert.fail(`${name} can not be reached`)
  }
  await tabTo(/^coin-/)
  for (let presses = 0; (await focused()) !== 'coin-LTC'; presses++) {
    assert.ok(presses < 5, 'the arrows lead to every coin')
    await page.keyboard.press('ArrowDown')
  }
  await tabTo(/^Continue/)
  await page.keyboard.press('Enter')
  await page.locator('#content[data-state=waiting]').waitFor()
  await tabTo(/^Copy/)
  await page.keyboard.press('Enter')
  await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor({ state: 'attached' })

  const payment = await hosted.payment(id)
  await story.pay(payment, COIN)
  await story.look()
  await page.locator('#content[data-state=seen]').waitFor()
  // What had the focus is gone with its state: the heading has it, so that reading goes on from there.
  assert.equal(await focused(), 'We see your payment')
  await page.getByRole('status').filter({ hasText: 'We see your payment' }).waitFor({ state: 'attached' })
  await story.mine(6)
  await story.look()
  await page.locator('#content[data-state=paid]').waitFor()
  await page.getByRole('status').filter({ hasText: 'Payment complete' }).waitFor({ state: 'attached' })
  await page.close()
})

test('the copy buttons give exactly what the chain needs', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
  const page = await context.newPage()
  await page.goto(origin + pathOf(id))
  for (const [button, text] of [
    ['Copy amount', '1'],
    ['Copy address', payment.address],
  ] as const) {
    await page.getByRole('button', { name: button }).click()
    await page.getByRole('button', { name: button }).filter({ hasText: 'Copied' }).waitFor()
    assert.equal(await page.evaluate<string>('navigator.clipboard.readText()'), text)
  }
  await context.close()
})

test('the countdown runs on the clock of the server, and says when time grows short', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  const page = await browser.newPage()
  // This visitor's clock is a day off.
  await page.clock.install({ time: Date.now() + 86_400_000 })
  await page.goto(origin + pathOf(id))
  const time = page.locator('.countdown time')
  assert.match((await time.textContent()) ?? '', /^(30:00|29:5\d)$/)
  // Twenty minutes later the server says how much is left; the page takes it over when it is asked for again.
  await story.gateway.db.query(
    `update payments set expires_at = clock_timestamp() + interval '10 minutes 10 seconds' where id = $1`,
    [payment.id],
  )
  await page.reload()
  assert.match((await time.textContent()) ?? '', /^10:(10|0\d)$/)
  const told = page.getByRole('status').filter({ hasText: 'Time left to pay: 10 minutes' })
  for (let step = 0; step < 20 && (await told.count()) === 0; step++) {
    await page.clock.runFor(1_000)
    await setTimeout(100)
  }
  assert.equal(await told.count(), 1)
  await page.clock.runFor(3_000)
  assert.match((await time.textContent()) ?? '', /^09:[45]\d$/)
  // When it reaches zero the page asks what became of the payment.
  await story.endWindow(payment)
  await page.clock.runFor(11 * 60_000)
  await page.locator('#content[data-state=ending]').waitFor()
  await page.close()
})

test('a shop opens the checkout in a dialog and hears of its completion, from the right origin only', async () => {
  const shop = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    // As many servers are set: other sites learn nothing of the page.
    response.setHeader('referrer-policy', 'no-referrer')
    response.end(`<!doctype html><html lang="en"><title>Shop</title><script src="${origin}/checkout.js"></script>
<a id="pay" data-beck-checkout href="${origin}${linkPath}">Pay</a>
<script>
  window.heard = []
  for (const name of ['beck:state', 'beck:complete', 'beck:close'])
    addEventListener(name, (event) => window.heard.push([name, event.detail.state, event.detail.session]))
</script></html>`)
  })
  shop.listen(0, '127.0.0.1')
  await once(shop, 'listening')
  after(() => shop.close())
  const shopOrigin = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`
  const { gateway, account } = story
  const linkPath = await gateway.db.transaction(async (tx) => {
    await updateAccountSettings(tx, { ...account, frameOrigins: [shopOrigin] })
    const link = await insertPaymentLink(tx, {
      accountId: account.id,
      label: 'Consultation',
      amountMinor: 100_00n,
      currency: 'USD',
    })
    return `/pay/${showId('plink', link.id)}`
  })

  const page = await browser.newPage()
  await page.goto(shopOrigin)
  await page.locator('#pay').click()
  const dialog = page.getByRole('dialog', { name: 'Checkout' })
  await dialog.waitFor()
  const colours = await page.evaluate<string>(
    "(() => { const { color, backgroundColor } = getComputedStyle(document.querySelector('dialog button')); return color + backgroundColor })()",
  )
  assert.equal(colours, 'rgb(20, 23, 31)rgb(255, 255, 255)', 'seen on a dark checkout in a light shop')
  const frame = page.frameLocator('iframe')
  await frame.getByText('Litecoin simulated').click()
  await frame.getByRole('button', { name: 'Continue' }).click()
  await frame.locator('#content[data-state=waiting]').waitFor()
  const session = readId('cs', new URL(page.frames()[1]?.url() ?? '').pathname.split('/').at(-1) ?? '')
  assert.ok(session)
  // Another window of another origin says the same: nobody believes it.
  await page.evaluate(
    "postMessage({ type: 'beck:checkout', state: 'paid', session: 'cs_forged' }, location.origin)",
  )
  await story.pay(await hosted.payment(session), COIN)
  await story.mine(6)
  await story.look()
  await frame.locator('#content[data-state=paid]').waitFor()
  const heard = await page.waitForFunction<[string, string?, string?][]>(
    "window.heard.some(([name]) => name === 'beck:complete') && window.heard",
  )
  const told = (await heard.jsonValue()) as [string, string?, string?][]
  const shown = showId('cs', session)
  assert.deepEqual(
    told.filter(([name]) => name === 'beck:complete'),
    [['beck:complete', undefined, shown]],
  )
  assert.ok(told.some(([name, state]) => name === 'beck:state' && state === 'waiting'))
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await page.locator('#pay').click()
  await frame.locator('#content[data-state=choose]').waitFor()
  await page.close()

  // Escape hides a payment on its way, and loses nothing.
  const hasty = await browser.newPage()
  await hasty.goto(shopOrigin)
  const inside = hasty.frameLocator('iframe')
  await hasty.locator('#pay').click()
  await inside.getByText('Litecoin simulated').click()
  await inside.getByRole('button', { name: 'Continue' }).click()
  await inside.locator('#content[data-state=waiting]').waitFor()
  const address = await inside.locator('.address').textContent()
  await hasty.keyboard.press('Escape')
  await hasty.getByRole('dialog').waitFor({ state: 'hidden' })
  await hasty.locator('#pay').click()
  assert.equal(await inside.locator('.address').textContent(), address, 'the same session')
  await hasty.reload()
  await hasty.locator('#pay').click()
  await inside.locator('#content[data-state=waiting]').waitFor()
  assert.equal(await inside.locator('.address').textContent(), address, 'the shop was loaded anew')
  await hasty.keyboard.press('Escape')
  const kept = readId('cs', new URL(hasty.frames()[1]?.url() ?? '').pathname.split('/').at(-1) ?? '')
  assert.ok(kept)
  await story.payAndConfirm(await hosted.payment(kept), COIN)
  await hasty.waitForFunction("window.heard.some(([name]) => name === 'beck:complete')")
  await hasty.close()

  // Its labels are in the language that the checkout speaks to this visitor, whatever the shop's own.
  const german = await browser.newPage({ locale: 'de-DE' })
  await german.goto(shopOrigin)
  await german.locator('#pay').click()
  const bezahlen = german.getByRole('dialog', { name: 'Bezahlen' })
  await bezahlen.waitFor()
  assert.equal(await german.locator('iframe').getAttribute('title'), 'Bezahlen')
  await bezahlen.getByRole('button', { name: 'Schließen' }).click()
  await german.getByRole('dialog').waitFor({ state: 'hidden' })
  await german.close()
  // Until it has loaded, and where it never does, they are the shop's.
  const french = await browser.newPage()
  await french.route(`${origin}/pay/**`, (route) => route.abort())
  await french.goto(shopOrigin)
  await french.evaluate("document.documentElement.lang = 'fr-CA'")
  await french.locator('#pay').click()
  const paiement = french.getByRole('dialog', { name: 'Paiement' })
  await paiement.getByRole('button', { name: 'Fermer' }).click()
  await french.close()

  // A shop that the account does not name gets neither the page nor a message.
  await gateway.db.transaction((tx) =>
    updateAccountSettings(tx, { ...account, frameOrigins: ['https://another.example'] }),
  )
  const usesOf = async () =>
    (await gateway.db.query<{ uses: bigint }>('select uses from payment_links')).rows.map(({ uses }) => uses)
  const usesBefore = await usesOf()
  const other = await browser.newPage()
  await other.goto(shopOrigin)
  await other.locator('#pay').click()
  await other.getByRole('dialog').waitFor()
  // Nothing of the checkout, and a way to it.
  const refused = other.frameLocator('iframe')
  await refused.locator('#content[data-state=framed]').waitFor()
  assert.equal(
    await refused.getByRole('link', { name: 'Open the checkout' }).getAttribute('target'),
    '_blank',
  )
  assert.doesNotMatch((await refused.locator('body').textContent()) ?? '', /Consultation/)
  assert.deepEqual(await usesOf(), usesBefore, 'nobody used the link')
  await other.close()
})

test('a counter sells on a phone with one thumb, and reads "Paid" across the room', async () => {
  const point = await story.gateway.db.transaction((tx) =>
    insertPointOfSale(tx, { accountId: story.account.id, name: 'Counter', currency: 'USD' }),
  )
  const path = `/pos/${showId('pos', point.id)}`
  const context = await browser.newContext({ viewport: { width: 375, height: 667 }, locale: 'en-US' })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  const isSound = async (name: string) => {
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/pos-${name}.png` })
    complaints.push(...(await axeFindings(page)))
    for (const [width, percent] of [
      [375, 100],
      [375, 200],
      [320, 100],
    ] as const) {
      await page.setViewportSize({ width, height: 667 })
      const overflow = await page.evaluate<number>(
        `document.documentElement.style.fontSize = '${percent}%', document.documentElement.scrollWidth - innerWidth`,
      )
      if (overflow > 0) complaints.push(`${name}: ${overflow} px wider than ${width}, text at ${percent} %`)
    }
    await page.setViewportSize({ width: 375, height: 667 })
  }
  await page.goto(origin + path)
  const charge = page.getByRole('button', { name: 'Charge' })
  const box = await charge.boundingBox()
  assert.ok(box && box.y + box.height <= 667, `all of it is in sight: ${box && box.y + box.height}`)
  for (const key of ['1', '0', '0', '5']) await page.getByRole('button', { name: key, exact: true }).click()
  await page.getByRole('button', { name: 'Delete the last digit' }).click()
  assert.equal(await page.inputValue('#amount'), '100')
  await isSound('keypad')
  await charge.click()
  await page.locator('main').getByText('Scan to pay on your own phone').waitFor()
  await isSound('code')
  await page.getByRole('button', { name: 'Litecoin' }).click()
  await page.waitForSelector('#content[data-state=waiting]')
  await isSound('coin')
  const sold = readId('cs', page.url().split('/').at(-1) ?? '')
  assert.ok(sold)
  await story.payAndConfirm(await hosted.payment(sold), 100_000_000n)
  await page.getByRole('heading', { name: 'Paid', exact: true }).waitFor()
  const letters = await page.evaluate<string>("getComputedStyle(document.querySelector('h1.done')).fontSize")
  assert.ok(Number.parseFloat(letters) >= 56, letters)
  await isSound('paid')
  await page.getByRole('link', { name: 'Next customer' }).click()
  await page.getByRole('link', { name: 'Last sales' }).click()
  await page.getByRole('link', { name: '$100.00 Paid' }).waitFor()
  await isSound('sales')
  assert.deepEqual(complaints, [])
  const session = await context.newCDPSession(page)
  const { errors } = await session.send('Page.getAppManifest')
  assert.deepEqual(errors, [])
  const { installabilityErrors } = await session.send('Page.getInstallabilityErrors')
  assert.deepEqual(
    installabilityErrors.filter(({ errorId }) => errorId !== 'in-incognito'),
    [],
  )
  await context.close()
  // Without a script, by the phone's own keys.
  const plain = await browser.newPage({ javaScriptEnabled: false })
  await plain.goto(origin + path)
  await plain.fill('#amount', '25')
  await plain.getByRole('button', { name: 'Charge' }).click()
  await plain.getByRole('button', { name: 'Litecoin' }).click()
  await plain.waitForSelector('#content[data-state=waiting] .qr')
  await plain.close()
})
