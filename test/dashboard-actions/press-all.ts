/**
 * Every action of the dashboard, pressed in a real Chromium by everybody who may do it: by the keyboard alone, with a mouse, and
 * on a phone without a script. Whoever may not do it is shown no button, and is refused in words that name the permission.
 */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import type { DashboardRow } from '../../src/http/dashboard/row.ts'
import { dashboardRows } from '../../src/http/dashboard/rows.ts'
import { may, type Permission, ROLES, type Role } from '../../src/users/permissions.ts'
import { giveAuthenticator, startBrowser } from '../browser.ts'
import type { Actor } from './actor.ts'
import { PAYMENT_STORIES } from './payments.ts'
import { PERSON_STORIES } from './people.ts'
import { doPress, LOADED } from './press.ts'
import { openScene } from './scene.ts'
import { GROUPS } from './stories.ts'
import { isHeard, type Story, type WayName } from './story.ts'

const WAYS = {
  keyboard: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  phone: {
    viewport: { width: 390, height: 844 },
    colorScheme: 'dark',
    javaScriptEnabled: false,
    hasTouch: true,
    isMobile: true,
  },
  mouse: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
} as const satisfies Readonly<Record<WayName, object>>
const TURNS = ['keyboard', 'phone', 'mouse'] as const

const scene = await openScene()
const { origin } = scene
const browser = await startBrowser()
const troubles: string[] = []
/** `POST /:account/keys owner`, as the browser sent it and the server did it. */
const pressed = new Set<string>()

const actions = dashboardRows.filter(({ method }) => method === 'POST')
const nameOf = ({ path }: DashboardRow) => `POST ${path}`
const matchers = actions
  .map((row) => ({ row, matches: new RegExp(`^/dashboard${row.path.replace(/:\w+/g, '[^/?]+')}$`) }))
  // The more literal one: `/payments/new` before `/payments/:id`.
  .sort((a, b) => a.row.path.split(':').length - b.row.path.split(':').length)
const rowAt = (url: string) => matchers.find(({ matches }) => matches.test(new URL(url).pathname))?.row

type Somebody = Actor & { readonly token: string }

interface Seat {
  readonly who: Somebody
  readonly context: BrowserContext
  readonly page: Page
}

/** Somebody at a browser of his own. */
async function seat(who: Somebody, way: WayName, story?: Story): Promise<Seat> {
  const context = await browser.newContext(WAYS[way])
  await context.addCookies([{ name: 'beck', value: who.token, url: origin }])
  const page = await context.newPage()
  page.on('pageerror', (error) => {
    // The browser's own fade from page to page, which it gives up where the next one comes too soon: no script of ours asks for it.
    if (!/^Transition was (skipped|aborted)/.test(error.message))
      troubles.push(`${page.url()}: ${error.message}`)
  })
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 40\d/.test(message.text()))
      troubles.push(`${page.url()}: ${message.text()}`)
  })
  page.on('response', (answer) => {
    const row = answer.request().method() === 'POST' ? rowAt(answer.url()) : undefined
    if (row && answer.status() < 400) pressed.add(`${nameOf(row)} ${who.role ?? ''}`.trim())
  })
  if (story?.hasPasskey) {
    await giveAuthenticator(page)
    const own = PERSON_STORIES['POST /me/passkeys']
    if (own && !isHeard(own) && own !== story)
      await doPress(page, origin, 'mouse', await own.open(scene, who, way))
  }
  return { who, context, page }
}

const seats = new Map<string, Promise<Seat>>()

/** Of a role at the merchant with funds; the same each time. */
function seatOf(role: Role, way: WayName): Promise<Seat> {
  const key = `${role} ${way}`
  const known = seats.get(key) ?? scene.person(role, scene.main.account).then((who) => seat(who, way))
  seats.set(key, known)
  return known
}

async function pressAs(row: DashboardRow, story: Story, role: Role | null, way: WayName): Promise<void> {
  const isShared = role !== null && !story.isAlone
  const at = isShared
    ? await seatOf(role, way)
    : await seat(await scene.person(role, scene.main.account, row.access === 'operator'), way, story)
  const { page, context, who } = at
  const press = await story.open(scene, who, way)
  if (story.isSignedOut) await context.clearCookies()
  try {
    await doPress(page, origin, way, press)
  } catch (error) {
    throw new Error(`${nameOf(row)} by ${role ?? 'somebody'}, ${way}`, { cause: error })
  }
  const { width } = WAYS[way].viewport
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
  assert.ok(wide <= width, `${page.url()} is ${wide} wide`)
  if (isShared) await rest(page)
  else await context.close()
}

/** A page that was left open would look again and again by itself, and go on to its next self while another one is asked for. */
const rest = (page: Page) => page.goto('about:blank')

const needsOf = (row: DashboardRow): readonly Permission[] =>
  row.path.startsWith('/:account') ? [row.access as Permission] : []
const isFor = (row: DashboardRow, role: Role): boolean => needsOf(row).every((each) => may(role, each))

/** No button, and a refusal that says what he lacks. */
async function missAs(row: DashboardRow, story: Story, role: Role, way: WayName): Promise<void> {
  const { page, context, who } = await seatOf(role, way)
  const press = await story.open(scene, who, way)
  const what = `${nameOf(row)} by ${role}, ${way}`
  const answer = await page.goto(origin + press.page, LOADED)
  const text = await page.locator('main').innerText()
  if (answer?.status() === 403)
    assert.match(text, /needs the permission [a-z_]+(:[a-z]+)?, which your role does not have/, what)
  else {
    assert.equal(answer?.status(), 200, what)
    const shown = page.locator(`[method=post][action="${press.action}"], [data-quote="${press.action}"]`)
    assert.equal(await shown.count(), 0, `${what}: it is shown`)
  }
  const refused = await context.request.post(origin + press.action, { headers: { origin }, form: {} })
  assert.equal(refused.status(), 403, what)
  await rest(page)
  assert.match(
    await refused.text(),
    new RegExp(`needs the permission ${row.access}, which your role does not have`),
    what,
  )
}

let turn = 0
for (const [group, stories] of Object.entries(GROUPS)) {
  test(`${group}: pressed by everybody who may, and by nobody else`, async () => {
    for (const [name, story] of Object.entries(stories)) {
      const row = actions.find((each) => nameOf(each) === name)
      if (!row || isHeard(story)) continue
      turn += 1
      const isPlace = row.path.startsWith('/:account')
      const allowed = isPlace ? ROLES.filter((role) => isFor(row, role)) : [null, null]
      const others = isPlace
        ? ROLES.filter((role) => !isFor(row, role))
        : row.access === 'operator'
          ? (['owner'] as const)
          : []
      // Each action begins with another role, so that every role comes to press in every way.
      const first = turn % allowed.length
      const inTurn = [...allowed.slice(first), ...allowed.slice(0, first)]
      const presses = [
        ...inTurn.map((role, place) => () => {
          const way = TURNS[place % TURNS.length] ?? 'mouse'
          return pressAs(row, story, role, story.hasPasskey && way === 'phone' ? 'mouse' : way)
        }),
        ...others.map(
          (role, place) => () => missAs(row, story, role, (turn + place) % 2 ? 'phone' : 'mouse'),
        ),
      ]
      // What one operator does is news on the page of the other, which would show itself anew in his hands.
      if (row.access === 'operator') for (const press of presses.splice(0)) await press()
      // Side by side: one waits for the page while another types.
      await Promise.all(presses.map((press) => press()))
    }
  })
}

test('each was sent by a browser and done by the server, as each role that may', () => {
  const heard = Object.values(GROUPS).flatMap((group) =>
    Object.entries(group).flatMap(([name, story]) => (isHeard(story) ? [name] : [])),
  )
  const expected = actions.flatMap((row) =>
    heard.includes(nameOf(row)) || needsOf(row).length === 0
      ? []
      : ROLES.filter((role) => isFor(row, role)).map((role) => `${nameOf(row)} ${role}`),
  )
  assert.deepEqual(
    expected.filter((each) => !pressed.has(each)),
    [],
  )
  const names = new Set([...pressed].map((each) => each.split(' ').slice(0, 2).join(' ')))
  assert.deepEqual(
    actions.map(nameOf).filter((each) => !names.has(each)),
    [],
    'nobody sent these',
  )
})

test('a page that looks again by itself waits for the answer of a form that is under way', async () => {
  const story = PAYMENT_STORIES['POST /:account/payments/:id/sandbox/pay']
  assert.ok(story && !isHeard(story))
  const { page, who } = await seatOf('owner', 'mouse')
  const press = await story.open(scene, who, 'mouse')
  const looks = () => page.waitForRequest((request) => request.headers()['x-look'] !== undefined)
  await page.route(origin + press.action, async (route) => {
    const answer = await route.fetch({ maxRedirects: 0 })
    // It has news from here on. Once it asks again it has read the answer of the time before.
    await looks()
    await looks()
    await route.fulfill({ response: answer })
  })
  await doPress(page, origin, 'mouse', press)
})

test('nothing was complained of by the browser', () => {
  assert.deepEqual(troubles, [])
})
