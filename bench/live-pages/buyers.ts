/** Browsers with an open page each: plain sockets with a browser's headers, in a process of their own. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'

type Question = { open: string[]; port: number } | { expect: string } | { close: true }

interface Page {
  readonly socket: Socket
  /** What came since the last whole event. */
  rest: string
  /** Ids of the events since the last question about them. */
  readonly events: string[]
}

/** Connections opened at once. */
const AT_ONCE = 100
/** A shop's buyers come from many addresses, and Beck bounds the pages of each. */
const PER_ADDRESS = 250

let pages: Page[] = []
let opened = 0
let arrived = () => {}

process.on('message', async (question: Question) => {
  if ('open' in question) {
    for (let start = 0; start < question.open.length; start += AT_ONCE) {
      const batch = question.open.slice(start, start + AT_ONCE)
      pages.push(...(await Promise.all(batch.map((id) => open(question.port, id)))))
    }
    process.send?.({})
  } else if ('expect' in question) {
    await expect(question.expect)
  } else {
    for (const { socket } of pages) socket.destroy()
    pages = []
    process.send?.({})
  }
})
process.on('disconnect', () => process.exit())

async function open(port: number, id: string): Promise<Page> {
  const host = Math.floor(opened++ / PER_ADDRESS)
  const socket = connect({
    port,
    host: '127.0.0.1',
    localAddress: `127.0.${1 + (host >> 8)}.${1 + (host & 255)}`,
  })
  const page: Page = { socket, rest: '', events: [] }
  socket.write(
    [
      `GET /checkout/${id}/events HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      'Accept: text/event-stream',
      'Accept-Encoding: gzip, deflate, br, zstd',
      'Accept-Language: en-GB,en;q=0.9,de;q=0.8',
      'Cache-Control: no-cache',
      'Connection: keep-alive',
      'Sec-Fetch-Dest: empty',
      'Sec-Fetch-Mode: cors',
      'Sec-Fetch-Site: same-origin',
      'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36',
      '\r\n',
    ].join('\r\n'),
  )
  const first = Promise.withResolvers<void>()
  let isFirst = true
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const events = (page.rest + chunk).split('\n\n')
    page.rest = events.pop() ?? ''
    for (const event of events) {
      const version = /^id: (.+)$/m.exec(event)?.[1]
      if (isFirst && !version) assert.match(event, /^HTTP\/1\.1 200 |^(.*\r\n)?:$/s)
      if (!version) continue
      if (isFirst) first.resolve()
      else page.events.push(version)
      isFirst = false
    }
    arrived()
  })
  socket.once('close', () => first.reject(new Error(`the page was closed: ${page.rest}`)))
  await first.promise
  return page
}

/** Answers when the last event of every page ends so, with the moment when that was first true. */
async function expect(ending: string): Promise<void> {
  let missing = pages
  const all = Promise.withResolvers<bigint>()
  let isLooking = false
  arrived = () => {
    if (isLooking) return
    isLooking = true
    setImmediate(() => {
      isLooking = false
      const now = process.hrtime.bigint()
      missing = missing.filter(({ events }) => !events.at(-1)?.endsWith(ending))
      if (missing.length === 0) all.resolve(now)
    })
  }
  const toldAt = await all.promise
  arrived = () => {}
  for (const { events } of pages) {
    assert.equal(events.filter((version) => version.endsWith(ending)).length, 1)
    assert.ok(events.at(-1)?.endsWith(ending))
    events.length = 0
  }
  process.send?.({ toldAt: String(toldAt) })
}
