import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { pathOf, testHosted } from '../../../test/hosted.ts'
import type { SessionId } from '../../core/ids.ts'

const { story, open, pick, app, show } = await testHosted({
  hosted: { limits: { streams: 3 } },
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
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
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
  const three = [await listen(id, version), await listen(id, version), await listen(id, version)]
  assert.deepEqual(
    three.map(({ status }) => status),
    [200, 200, 200],
  )
  assert.equal((await listen(id, version)).status, 429)
  three[0]?.close()
  for (;;) {
    const next = await listen(id, version)
    if (next.status === 200) break
  }
})

test('the streams end when the server closes', async () => {
  const id = await open()
  for (const stream of opened) stream.close()
  let stream = await listen(id, '')
  while (stream.status !== 200) stream = await listen(id, '')
  await stream.next()
  const ended = assert.rejects(stream.next())
  await app.close()
  await ended
})
