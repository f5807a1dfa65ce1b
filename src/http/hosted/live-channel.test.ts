import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import test, { after, mock } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { pathOf, testHosted } from '../../../test/hosted.ts'
import { waitFor } from '../../../test/wait-for.ts'
import type { SessionId } from '../../core/ids.ts'

const { story, open, pick, app, show } = await testHosted({
  hosted: { limits: { streams: 3 } },
  trustProxy: 'loopback',
})
const origin = await app.listen({ port: 0, host: '127.0.0.1' })

interface Stream {
  readonly status: number
  /** The version of the next news. */
  next(): Promise<string>
  close(): void
}

const opened: Stream[] = []
after(() => {
  for (const stream of opened) stream.close()
})

async function listen(id: SessionId, version: string, headers: Record<string, string> = {}): Promise<Stream> {
  const aborted = new AbortController()
  const answer = await fetch(`${origin}${pathOf(id)}/events?version=${version}`, {
    headers,
    signal: aborted.signal,
  })
  const isOpen = answer.status === 200
  if (!isOpen) await answer.text()
  const reader = isOpen ? answer.body?.pipeThrough(new TextDecoderStream()).getReader() : undefined
  let text = ''
  const stream = {
    status: answer.status,
    async next() {
      for (;;) {
        const news = /id: (\S+)\nevent: news\ndata: \d+\n\n/.exec(text)
        if (news?.[1]) {
          text = text.slice(news.index + news[0].length)
          return news[1]
        }
        const chunk = await reader?.read()
        assert.ok(chunk && !chunk.done, 'the stream goes on')
        text += chunk.value
      }
    },
    close: () => aborted.abort(),
  }
  opened.push(stream)
  return stream
}

const versionOf = async (id: SessionId) => /data-version="([^"]+)"/.exec((await show(id)).html)?.[1] ?? ''

test('an open page hears of every step, and only of its own', async () => {
  const id = await open()
  const other = await open()
  const stream = await listen(id, await versionOf(id))
  const quiet = await listen(other, await versionOf(other))
  // What is written step by step may be told step by step; the last news is what the page shows now.
  const hears = async (): Promise<string> => {
    const now = await versionOf(id)
    while ((await stream.next()) !== now);
    return now
  }
  const payment = await pick(id)
  await hears()
  await story.pay(payment, 100_000_000n)
  await story.look()
  assert.match(await hears(), /-0$/)
  const confirming: string[] = []
  for (let block = 1; block <= 3; block++) {
    await story.mine(1)
    await story.look()
    confirming.push(await hears())
  }
  // Nothing but the confirmations changes, so the page need not ask for itself again.
  assert.equal(new Set(confirming.map((version) => version.split('-')[0])).size, 1)
  assert.deepEqual(
    confirming.map((version) => version.split('-')[1]),
    ['1', '2', '3'],
  )
  await pick(other)
  assert.equal(await quiet.next(), await versionOf(other))
  stream.close()
  quiet.close()
})

test('the end of the window is news, though nothing is written', async () => {
  const id = await open()
  const payment = await pick(id)
  const stream = await listen(id, await versionOf(id))
  await story.endWindow(payment)
  await stream.next()
  assert.equal((await show(id)).state, 'ending')
  stream.close()
})

test('a page that was away hears at once what it missed, by its own version or by the last event', async () => {
  const id = await open()
  const before = await versionOf(id)
  await pick(id)
  const now = await versionOf(id)
  const stream = await listen(id, before)
  assert.equal(await stream.next(), now)
  stream.close()
  const resumed = await listen(id, now, { 'last-event-id': before })
  assert.equal(await resumed.next(), now)
  resumed.close()
})

test('one address keeps so many pages live and no more; a closed one makes room', async () => {
  const id = await open()
  const version = await versionOf(id)
  const from = (address: string) => listen(id, version, { 'x-forwarded-for': address })
  const addresses = [7, 7, 7, 7, 8].map((host) => `203.0.113.${host}`)
  const six: Stream[] = []
  for (const address of [...addresses, '127.0.0.1']) six.push(await from(address))
  assert.deepEqual(
    six.map(({ status }) => status),
    [200, 200, 200, 429, 200, 200],
  )
  six[0]?.close()
  await waitFor('room', async () => ((await from('203.0.113.7')).status === 200 ? true : null))
})

test('who leaves before he is answered takes up no room', async () => {
  const id = await open()
  const address = { 'x-forwarded-for': '203.0.113.9' }
  const { db } = story.gateway
  const query = db.query.bind(db)
  const asked: (() => void)[] = []
  const slow = mock.method(db, 'query', async (...args: Parameters<typeof query>) => {
    if (args[0].includes('checkout_sessions')) await new Promise<void>((resolve) => asked.push(resolve))
    return query(...args)
  })
  const leaving = new AbortController()
  const left = [1, 2, 3].map(() =>
    fetch(`${origin}${pathOf(id)}/events`, { headers: address, signal: leaving.signal }).catch(() => 'left'),
  )
  // One question for the first, and one for those that come while it is answered.
  await waitFor('a question', async () => (asked.length > 0 ? true : null))
  await setTimeout(200)
  leaving.abort()
  assert.deepEqual(await Promise.all(left), ['left', 'left', 'left'])
  // Until the server has seen them go.
  await setTimeout(200)
  slow.mock.restore()
  for (const answer of asked) answer()
  await setTimeout(200)
  const here = [await listen(id, '', address), await listen(id, '', address), await listen(id, '', address)]
  assert.deepEqual(
    here.map(({ status }) => status),
    [200, 200, 200],
  )
  for (const stream of here) stream.close()
})

/** The next stream that is asked for waits for the database until it is released. */
function holdFirstLook(): { held: Promise<void>; release: () => void } {
  const { db } = story.gateway
  const query = db.query.bind(db)
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const mocked = mock.method(db, 'query', async (...args: Parameters<typeof query>) => {
    const versions = args[1]?.[1]
    if (Array.isArray(versions) && versions[0] === null) {
      mocked.mock.restore()
      held.resolve()
      await released.promise
    }
    return query(...args)
  })
  return { held: held.promise, release: released.resolve }
}

/** Asks for a stream in those bytes, from an address that may keep three. */
function ask(id: SessionId, rest: string, host: number): Socket {
  const socket = connect({ port: Number(new URL(origin).port), host: '127.0.0.1' }).setEncoding('latin1')
  socket.write(
    `GET ${pathOf(id)}/events HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.${host}\r\n${rest}`,
  )
  return socket
}

async function heard(socket: Socket): Promise<void> {
  for (let text = ''; !text.includes('event: news'); ) text += (await once(socket, 'data'))[0]
}

test('what a browser says on the connection of a stream is thrown away', async () => {
  const id = await open()
  const stream = ask(id, '\r\n', 10)
  await heard(stream)
  stream.write(`GET ${pathOf(id)} HTTP/1.1\r\nHost: x\r\n\r\n`)
  stream.write('\0 no request at all\r\n\r\n')
  const answered: string[] = []
  stream.on('data', (chunk: string) => answered.push(chunk))
  await pick(id)
  // It may have come before the pick was answered.
  await waitFor('the news', async () => (answered.join('').includes('event: news') ? true : null))
  assert.doesNotMatch(answered.join(''), /HTTP/)
  stream.destroy()
})

test('a browser that asks for two streams at once is let go', async () => {
  const id = await open()
  for (let time = 0; time < 4; time++) {
    const { held, release } = holdFirstLook()
    const again = `GET ${pathOf(id)}/events HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.12\r\n\r\n`
    const socket = ask(id, `\r\n${again}`, 12)
    await held
    release()
    await once(socket.resume(), 'close')
  }
  const stream = ask(id, '\r\n', 12)
  await heard(stream)
  stream.destroy()
})

for (const [what, rest] of [
  ['stops speaking', '\r\n'],
  ['never ends its request', 'Content-Length: 10\r\n\r\n'],
  ['asks for more before it is answered', '\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n'],
] as const) {
  test(`a browser that ${what} leaves its place`, async () => {
    const id = await open()
    for (let time = 0; time < 4; time++) {
      const stream = ask(id, rest, 11)
      const closed = once(stream.resume(), 'close')
      if (rest === '\r\n') {
        await heard(stream)
        stream.end()
      }
      await closed
    }
    const stream = ask(id, '\r\n', 11)
    await heard(stream)
    stream.destroy()
  })
}

test('the streams end when the server closes, and those begun meanwhile', async () => {
  const id = await open()
  for (const stream of opened) stream.close()
  const stream = await listen(id, '')
  await stream.next()
  const ended = assert.rejects(stream.next())
  const { held, release } = holdFirstLook()
  const late = ask(id, '\r\n', 13)
  await held
  const closing = app.close()
  await ended
  const lateEnded = once(late.resume(), 'close')
  release()
  await Promise.all([closing, lateEnded])
})
