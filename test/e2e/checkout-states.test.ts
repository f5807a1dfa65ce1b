/** Every state of the checkout in a real browser: readable, reachable, nothing overflowing, in every size and theme. */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { insertPaymentLink, setPaymentLinkActive } from '../../src/checkout/payment-links.sql.ts'
import { insertPointOfSale } from '../../src/checkout/points-of-sale.sql.ts'
import { readId, type SessionId, showId } from '../../src/core/ids.ts'
import type { SessionRequest } from '../../src/flows/checkout/checkout.ts'
import { LANGUAGES } from '../../src/http/hosted/language.ts'
import type { Payment } from '../../src/payments/payment.ts'
import { axeFindings, LOOKS } from '../axe.ts'
import { startBrowser } from '../browser.ts'
import { testAccount, testSession } from '../gateway.ts'
import { pathOf, testHosted } from '../hosted.ts'

const COIN = 100_000_000n
/** Where pictures are put, to be looked at, and for the guides; nowhere in a test run. */
const PICTURES = process.env.BECK_SCREENSHOTS
const PHONE = { name: 'phone', width: 375, height: 812 } as const
const DESKTOP = { name: 'desktop', width: 1280, height: 900 } as const
const SIZES = [
  PHONE,
  DESKTOP,
  { name: 'small', width: 320, height: 568 },
  { name: 'tablet', width: 768, height: 1024 },
  { name: 'wide', width: 2560, height: 1440 },
] as const
/** From one state to the next the card keeps its width. */
const WIDE_PX = 768
const CARD_PX = 592
/** Of the height of a page, when its letters grow to twice their size. */
const LARGE_GROWTH_MAX = 4
const THEMES = ['light', 'dark'] as const
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** Colours are those of the direction, not of the language, and looking at them is half of axe's time. */
const COLOURS_IN = ['en', 'ar']

const hosted = await testHosted({ freshPerChain: 80 })
await hosted.app.listen({ port: 0, host: '127.0.0.1' })
const origin = `http://127.0.0.1:${(hosted.app.server.address() as AddressInfo).port}`
const browser = await startBrowser()
if (PICTURES) await mkdir(PICTURES, { recursive: true })

/** Each way to a state: what is opened, and what happened before. */
const STATES: Readonly<Record<string, () => Promise<string>>> = {
  amount: async () => pathOf(await hosted.open({ amountMinor: null })),
  choose: async () => pathOf(await hosted.open({ customerEmail: 'ann@example.com' })),
  waiting: async () => pathOf((await picked()).id),
  waiting_token: async () => {
    const id = await hosted.open()
    await hosted.pick(id, 'USDC')
    return pathOf(id)
  },
  withdrawn: async () => {
    const { id, payment } = await picked()
    const txid = await hosted.story.pay(payment, COIN)
    await hosted.story.look()
    await hosted.story.replace(txid)
    await hosted.story.look()
    return pathOf(id)
  },
  sent: async () => {
    const { id, payment } = await picked()
    await hosted.post(`${pathOf(id)}/sent`, { payment: showId('pay', payment.id), hash: 'ab'.repeat(32) })
    return pathOf(id)
  },
  seen: async () => pathOf(await paid(COIN)),
  confirming: async () => pathOf(await paid(COIN, 2)),
  paid: async () => pathOf(await paid(COIN, 6, { successUrl: 'https://shop.example/thanks' })),
  lower: async () => pathOf(await paid(30_000_000n)),
  lower_over: async () => {
    const { id, payment } = await picked()
    await hosted.story.pay(payment, 30_000_000n)
    await hosted.story.look()
    await hosted.story.endWindow(payment)
    return pathOf(id)
  },
  higher: async () => pathOf(await paid(COIN + 50_000_000n, 6)),
  higher_refunded: async () => {
    const id = await paid(COIN + 50_000_000n, 6, { successUrl: 'https://shop.example/thanks' })
    await hosted.refund(await hosted.payment(id))
    return pathOf(id)
  },
  ending: async () => {
    const { id, payment } = await picked()
    await hosted.story.endWindow(payment)
    return pathOf(id)
  },
  expired: async () => pathOf((await expired()).id),
  expired_unknown: async () => `${pathOf((await expired()).id)}/transaction?id=${'ab'.repeat(32)}`,
  late: async () => {
    const { id, payment } = await expired()
    await hosted.story.pay(payment, COIN)
    await hosted.story.look()
    return pathOf(id)
  },
  replaced: async () => {
    const { id, payment } = await picked()
    const txid = await hosted.story.pay(payment, COIN)
    await hosted.story.look()
    await hosted.story.endWindow(payment)
    await hosted.story.replace(txid)
    await hosted.story.look()
    return pathOf(id)
  },
  cancelling: async () => `${pathOf((await picked()).id)}/cancel`,
  asked: async () => `${pathOf((await picked()).id)}/transaction`,
  cancelled: async () => {
    const { id } = await picked({ cancelUrl: 'https://shop.example/cart' })
    await hosted.post(`${pathOf(id)}/cancel`, {})
    return pathOf(id)
  },
  refunded: async () => {
    const { id, payment } = await expired()
    await hosted.story.payAndConfirm(payment, COIN)
    await hosted.refund(payment)
    return pathOf(id)
  },
  ended: async () => {
    const { id } = await expired()
    await hosted.story.gateway.db.query('update checkout_sessions set expires_at = now() where id = $1', [id])
    return pathOf(id)
  },
  earlier: async () => {
    const { id, payment } = await picked()
    await hosted.story.pay(payment, COIN / 2n)
    await hosted.pick(id, 'ETH')
    await hosted.story.look()
    return pathOf(id)
  },
  no_coin: async () => pathOf((await live()).id),
  blind: async () => {
    const { id, see } = await live()
    await see(0)
    await hosted.pick(id)
    await see(60)
    return pathOf(id)
  },
  unavailable: async () => {
    const { id, payment } = await picked()
    // What was tampered with is never shown.
    await hosted.story.gateway.db.query("update payments set address = 'x' where id = $1", [payment.id])
    return pathOf(id)
  },
  preview: async () => `/pay/${await makeLink(true)}`,
  link_disabled: async () => `/pay/${await makeLink(false)}`,
  unknown: async () => '/checkout/cs_nothing',
  pos_keypad: openCounter,
  pos_code: sell,
  pos_coin: async () => {
    const sale = await sell()
    await hosted.post(`${sale}/coin`, { asset: 'USDC' })
    return sale
  },
  pos_sales: async () => {
    const sale = await sell()
    await hosted.post(`${sale}/coin`, { asset: 'LTC' })
    const payment = await hosted.payment(readId('cs', sale.split('/').at(-1) ?? '') ?? assert.fail(sale))
    await hosted.expire(payment)
    await hosted.story.pay(payment, COIN)
    await hosted.story.look()
    return sale.replace(/\/sales\/.*/, '/sales')
  },
}

async function openCounter(): Promise<string> {
  const { gateway, account } = hosted.story
  const { id } = await gateway.db.transaction((tx) =>
    insertPointOfSale(tx, { accountId: account.id, name: 'Counter', currency: 'USD' }),
  )
  return `/pos/${showId('pos', id)}`
}

/** @returns The path of a sale that waits for its buyer. */
async function sell(): Promise<string> {
  return (await hosted.post(await openCounter(), { amount: '1234.50', note: 'Two teas' })).location ?? ''
}

/** Where the page of a way is not named like the way. */
const IS_SHOWN_AS: Readonly<Record<string, string>> = {
  waiting_token: 'waiting',
  expired_unknown: 'expired',
  higher_refunded: 'higher',
  earlier: 'waiting',
  withdrawn: 'waiting',
  asked: 'waiting',
  blind: 'waiting',
  no_coin: 'choose',
  pos_keypad: 'keypad',
  pos_code: 'choose',
  pos_coin: 'waiting',
  pos_sales: 'sales',
}

/** A session of a live account, whose Litecoin node is seen so many seconds ago; never before. */
async function live(): Promise<{ id: SessionId; see(secondsAgo: number): Promise<unknown> }> {
  const { gateway } = hosted.story
  const account = await testAccount(gateway, 'live')
  await gateway.db.query("delete from chains where chain = 'litecoin'")
  const { id } = await testSession(gateway, account)
  const see = (secondsAgo: number) =>
    gateway.db.query(
      `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time, polled_at)
       values ('litecoin', 'LTC', 'x', 1, 'x', now(), now() - $1::integer * interval '1 second')
       on conflict (chain) do update set polled_at = excluded.polled_at`,
      [secondsAgo],
    )
  return { id, see }
}

interface Picked {
  readonly id: SessionId
  readonly payment: Payment
}

async function picked(request: Partial<SessionRequest> = {}): Promise<Picked> {
  const id = await hosted.open(request)
  return { id, payment: await hosted.pick(id) }
}

async function paid(atoms: bigint, blocks = 0, request: Partial<SessionRequest> = {}): Promise<SessionId> {
  const { id, payment } = await picked(request)
  await hosted.story.pay(payment, atoms)
  await hosted.story.look()
  if (blocks > 0) await hosted.story.mine(blocks)
  await hosted.story.look()
  return id
}

async function expired(): Promise<Picked> {
  const { id, payment } = await picked()
  await hosted.expire(payment)
  return { id, payment }
}

async function makeLink(isActive: boolean): Promise<string> {
  const { gateway, account } = hosted.story
  return gateway.db.transaction(async (tx) => {
    const link = await insertPaymentLink(tx, {
      accountId: account.id,
      label: 'Consultation',
      amountMinor: 120_00n,
      currency: 'USD',
    })
    await setPaymentLinkActive(tx, account.id, link.id, isActive)
    return showId('plink', link.id)
  })
}

/** Pixels. */
const overflowOf = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')

/** With letters of either size: pixels by per cent. */
const OVERFLOWS = `[100, 200].map((percent) => {
  document.documentElement.style.fontSize = percent + '%'
  return [percent, document.documentElement.scrollWidth - innerWidth]
})`

/** All of a page, on a screen as long as it: what sticks to the end of a screen would stand in the middle. */
async function picture(page: Page, name: string): Promise<void> {
  const size = page.viewportSize()
  if (!PICTURES || !size) return
  const height = await page.evaluate<number>('document.documentElement.scrollHeight')
  await page.setViewportSize({ ...size, height: Math.max(height, size.height) })
  await page.screenshot({ path: `${PICTURES}/${name}.png` })
  await page.setViewportSize(size)
}

/**
 * What can be pressed or typed into and is not come to by Tab, or has no outline then. Of coins one is enough: the arrows lead on.
 *
 * The languages below are the same on every page: the first of them ends the walk.
 */
async function unreachable(page: Page): Promise<string[]> {
  await page.evaluate(`(() => {
    // Tab goes on from where the focus was last: from the beginning.
    document.body.tabIndex = -1
    document.body.focus()
    document.body.removeAttribute('tabindex')
    const isThere = (each) => !each.disabled && each.checkVisibility({ visibilityProperty: true })
    const all = [...document.querySelectorAll('main :is(a[href], button, input:not([type=radio]), summary, select, textarea)')]
    window.awaited = new Set(all.filter(isThere))
    const coin = [...document.querySelectorAll('.coin input')].find(isThere)
    if (coin) window.awaited.add(coin)
    window.look = () => {
      const focused = document.activeElement
      const isCoin = focused.matches('.coin input')
      if (getComputedStyle(isCoin ? focused.nextElementSibling : focused).outlineStyle !== 'none')
        for (const each of awaited) if (each === focused || (isCoin && each.name === focused.name)) awaited.delete(each)
      return focused.closest('footer nav') !== null
    }
  })()`)
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab')
    if (await page.evaluate<boolean>('look()')) break
  }
  return page.evaluate<string[]>('[...awaited].map((each) => each.outerHTML.slice(0, 120))')
}

const complaints: string[] = []
/** The page itself may be refused or fail; what it is made of may not. */
let ofThePage = ''

/** For one state after the other: a browser that has just begun takes a second over what axe does in a tenth of it. */
async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.newPage({ reducedMotion: 'reduce', locale: 'en-GB', ...options })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    const isOfThePage = message.location().url === ofThePage
    if (message.type() === 'error' && !(isOfThePage && message.text().match(/status of [45]/)))
      complaints.push(message.text())
  })
  return page
}

const looked = openPage()
const previewed = openPage({ userAgent: 'Examplebot/1.0' })

for (const [state, arrange] of Object.entries(STATES)) {
  test(`the page of ${state}: nothing to axe, all by the keyboard, nothing wider than the screen, at 200 % neither`, async () => {
    const page = await (state === 'preview' ? previewed : looked)
    // What the state before left open is no longer asked for.
    await page.goto('about:blank')
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize(DESKTOP)
    complaints.length = 0
    ofThePage = origin + (await arrange())
    await page.goto(ofThePage)
    const shown = await page.locator('#content').getAttribute('data-state')
    assert.equal(shown, IS_SHOWN_AS[state] ?? state)
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme })
      // In the dark there is nothing of another size; pictures are of both.
      for (const { name, width, height } of colorScheme === 'light' || PICTURES ? SIZES : [PHONE]) {
        await page.setViewportSize({ width, height })
        const overflow = await overflowOf(page)
        assert.ok(overflow <= 0, `${width}: ${overflow} px wider than the screen`)
        if (width >= WIDE_PX)
          assert.equal(
            await page.locator('main').evaluate((card) => (card as { offsetWidth?: number }).offsetWidth),
            CARD_PX,
          )
        await picture(page, `${state}-${colorScheme}-${name}`)
      }
      assert.deepEqual(
        await axeFindings(page, { only: colorScheme === 'light' ? RULES : LOOKS }),
        [],
        colorScheme,
      )
    }
    for (const size of [DESKTOP, PHONE]) {
      await page.setViewportSize(size)
      assert.deepEqual(await unreachable(page), [], `by the keyboard alone, ${size.width} px wide`)
    }
    // Letters of twice the size, on a phone: lines twice as high and half as long, and not a word a letter long.
    const height = () => page.evaluate<number>('document.body.scrollHeight')
    const before = await height()
    await page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert.ok((await overflowOf(page)) <= 0, `${await overflowOf(page)} px wider than the screen at 200 %`)
    assert.ok((await height()) <= LARGE_GROWTH_MAX * before, `${before} px high, ${await height()} at 200 %`)
    assert.deepEqual(complaints, [])
  })
}

test('every language fits on a small phone, from either side', async () => {
  const paths = [await STATES.choose?.(), await STATES.waiting_token?.(), await STATES.lower_over?.()]
  const context = await browser.newContext({ viewport: { width: 320, height: 640 }, reducedMotion: 'reduce' })
  const page = await context.newPage()
  for (const { tag, direction } of LANGUAGES) {
    for (const path of paths) {
      await page.goto(`${origin}${path}?lang=${tag}`)
      assert.equal(await page.locator('html').getAttribute('dir'), direction)
      const overflow = await overflowOf(page)
      assert.ok(overflow <= 0, `${tag} ${path}: ${overflow} px wider than the screen`)
      const state = await page.locator('#content').getAttribute('data-state')
      if (tag !== 'en') await picture(page, `${state}-${tag}`)
    }
    assert.deepEqual(await axeFindings(page, { only: RULES }), [], tag)
  }
  await context.close()
})

/** All are drawn into one: a browser that loads each anew takes minutes. What scripts add is looked at above. */
const drawn = browser.newPage({ viewport: PHONE, reducedMotion: 'reduce' })

for (const [state, arrange] of Object.entries(STATES)) {
  test(`the page of ${state} in every language: nothing at all to axe, and a phone has room for it, at 200 % too`, async () => {
    const path = await arrange()
    const headers = state === 'preview' ? { 'user-agent': 'Examplebot/1.0' } : {}
    const page = await drawn
    const found: string[] = []
    for (const { tag, direction } of LANGUAGES) {
      const { html, state: shown } = await hosted.get(
        `${path}${path.includes('?') ? '&' : '?'}lang=${tag}`,
        headers,
      )
      assert.equal(shown, IS_SHOWN_AS[state] ?? state)
      await page.setContent(html)
      assert.deepEqual(await page.evaluate('[document.documentElement.lang, document.documentElement.dir]'), [
        tag,
        direction,
      ])
      const findings = await axeFindings(page, { not: COLOURS_IN.includes(tag) ? [] : ['color-contrast'] })
      found.push(...findings.map((finding) => `in ${tag}: ${finding}`))
      for (const [percent, overflow] of await page.evaluate<[number, number][]>(OVERFLOWS))
        if (overflow > 0) found.push(`in ${tag}: ${overflow} px wider than the screen, text at ${percent} %`)
    }
    assert.deepEqual(found, [])
  })
}
