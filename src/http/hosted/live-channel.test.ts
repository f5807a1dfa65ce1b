import assert from 'node:assert/strict'
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
  await waitFor('questions', async () => (asked.length >= 3 ? true : null))
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

test('the streams end when the server closes', async () => {
  const id = await open()
  for (const stream of opened) stream.close()
  const stream = await listen(id, '')
  await stream.next()
  const ended = assert.rejects(stream.next())
  await app.close()
  await ended
})
