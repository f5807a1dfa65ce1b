/** The open page knows what happened, whatever stands between it and the gateway: each story is one that a buyer met. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { SessionId } from '../../src/core/ids.ts'
import { startBrowser } from '../browser.ts'
import { pathOf, testHosted } from '../hosted.ts'

const COIN = 100_000_000n

const hosted = await testHosted({ trustProxy: '127.0.0.1' })
const { story } = hosted
await hosted.app.listen({ port: 0, host: '127.0.0.1' })
const gatewayPort = (hosted.app.server.address() as AddressInfo).port
const browser = await startBrowser()

/** A line to the gateway that can be down, and that can keep streams to itself. */
const line = { isDown: false, buffers: false }
const sockets = new Set<Socket>()
const proxy = createServer((ask, answer) => {
  if (line.isDown) return ask.socket.destroy()
  const onward = request(
    { port: gatewayPort, method: ask.method, path: ask.url, headers: ask.headers, agent: false },
    (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      answer.flushHeaders()
      if (line.buffers && ask.url?.includes('/events')) return
      response.pipe(answer)
    },
  )
  onward.on('error', () => answer.destroy())
  answer.on('close', () => onward.destroy())
  ask.pipe(onward)
})
proxy.on('connection', (socket) => {
  sockets.add(socket)
  socket.on('close', () => sockets.delete(socket))
})
proxy.listen(0, '127.0.0.1')
await once(proxy, 'listening')
const origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
const cut = () => {
  for (const socket of sockets) socket.destroy()
}
after(() => {
  proxy.close()
  cut()
})

const shows = (page: Page, state: string, timeout = 30_000) =>
  page.waitForSelector(`#content[data-state=${state}]`, { timeout })
async function openPage(id: SessionId, context = browser.newContext({ locale: 'en-US' })): Promise<Page> {
  const page = await (await context).newPage()
  await page.goto(origin + pathOf(id))
  return page
}

test('a proxy that keeps the stream to itself freezes nothing: the page asks', async () => {
  line.buffers = true
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  const page = await openPage(id)
  // Longer than the page waits for a first sign of its stream.
  await page.waitForResponse((response) => response.url().endsWith('/version'))
  await story.pay(payment, COIN)
  await story.look()
  await shows(page, 'seen', 10_000)
  await story.mine(6)
  await story.look()
  await shows(page, 'paid', 10_000)
  line.buffers = false
  await page.context().close()
})

test('seven tabs of one origin over HTTP/1.1 load, and all of them follow', async () => {
  const context = await browser.newContext({ locale: 'en-US' })
  const tabs: { page: Page; pay(): Promise<unknown> }[] = []
  for (let count = 0; count < 7; count++) {
    const id = await hosted.open()
    const payment = await hosted.pick(id)
    tabs.push({ page: await openPage(id, Promise.resolve(context)), pay: () => story.pay(payment, COIN) })
  }
  for (const { page } of tabs) await shows(page, 'waiting')
  for (const { pay } of tabs) await pay()
  await story.look()
  await Promise.all(tabs.map(({ page }) => shows(page, 'seen')))
  await context.close()
})

test('a gateway that was away is back on the page within three seconds, and an aborted stream loses nothing', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  const page = await openPage(id)
  await shows(page, 'waiting')
  cut()
  await story.pay(payment, COIN)
  await story.look()
  await shows(page, 'seen', 5_000)

  line.isDown = true
  cut()
  await page.locator('.offline').waitFor({ state: 'visible' })
  // Long enough that a page which waits longer each time would be far from its next try.
  await page.waitForTimeout(20_000)
  await story.mine(6)
  await story.look()
  line.isDown = false
  const began = performance.now()
  await page.locator('.offline').waitFor({ state: 'hidden' })
  await shows(page, 'paid')
  const tookMs = performance.now() - began
  assert.ok(tookMs < 3_000, `the page was back after ${Math.round(tookMs)} ms`)
  await page.context().close()
})

test('a form sent while the gateway is away keeps what was typed, and is sent when it is back', async () => {
  const id = await hosted.open()
  const page = await openPage(id)
  await shows(page, 'choose')
  await page.check('#coin-LTC', { force: true })
  await page.fill('#email', 'ann@shop.example')
  line.isDown = true
  cut()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.locator('.offline').waitFor({ state: 'visible' })
  assert.equal(await page.inputValue('#email'), 'ann@shop.example')
  line.isDown = false
  await shows(page, 'waiting')
  assert.equal((await hosted.payment(id)).customerEmail, 'ann@shop.example')
  assert.equal(page.url(), origin + pathOf(id))
  await page.context().close()
})

test('an answer from before a form was sent does not come back over what the form showed', async () => {
  const id = await hosted.open()
  const page = await openPage(id)
  await shows(page, 'choose')
  await page.check('#coin-LTC', { force: true })
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const isHeld = Promise.withResolvers<void>()
  // The page asks for itself, and its answer is long on the way.
  await page.route(
    origin + pathOf(id),
    async (route) => {
      const answer = await route.fetch()
      isHeld.resolve()
      await held
      await route.fulfill({ response: answer })
    },
    { times: 1 },
  )
  await page.evaluate(`dispatchEvent(new Event('online'))`)
  await isHeld.promise
  await page.evaluate(`document.body.dataset.shown = ''; document.addEventListener('beck:content', () => {
    document.body.dataset.shown += ' ' + document.getElementById('content').dataset.state
  })`)
  await page.getByRole('button', { name: 'Continue' }).click()
  await shows(page, 'waiting')
  const late = page.waitForResponse(origin + pathOf(id))
  release()
  await late
  await page.waitForTimeout(500)
  assert.equal(await page.locator('body').getAttribute('data-shown'), ' waiting')
  await page.context().close()
})

test('an answer to a form that news overtook is followed by the news', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  const page = await openPage(id)
  await shows(page, 'waiting')
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const isHeld = Promise.withResolvers<void>()
  await page.route(
    (url) => url.searchParams.get('id') === 'a'.repeat(64),
    async (route) => {
      const answer = await route.fetch()
      isHeld.resolve()
      await held
      await route.fulfill({ response: answer })
    },
    { times: 1 },
  )
  await page.locator('main').getByText('I already paid').click()
  await page.fill('#transaction', 'a'.repeat(64))
  await page.getByRole('button', { name: 'Look it up' }).click()
  await isHeld.promise
  await story.pay(payment, COIN)
  await story.look()
  await shows(page, 'seen')
  release()
  await page.waitForTimeout(1_000)
  await shows(page, 'seen', 2_000)
  await page.context().close()
})
