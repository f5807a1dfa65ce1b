import assert from 'node:assert/strict'
import { constants, getPriority } from 'node:os'
import { test } from 'node:test'
import { waitFor } from '../../test/wait-for.ts'
import { openThread } from './threads.ts'

const script = (text: string) => new URL(`data:text/javascript,${encodeURIComponent(text)}`)
const threads = new URL('./threads.ts', import.meta.url).href

test('work is answered in its order, a failure is the caller of that piece alone, and an idle thread ends', async () => {
  const thread = openThread<number, number>(
    script(`
      import { threadId } from 'node:worker_threads'
      import { serveThread } from '${threads}'
      serveThread((n) => { if (n < 0) throw new RangeError('below zero'); return n === 0 ? threadId : 2 * n })
    `),
    20,
  )
  const answers = await Promise.allSettled([1, -1, 3].map((n) => thread.run(n)))
  assert.deepEqual(
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason.message)),
    [2, 'below zero', 6],
  )
  const first = await thread.run(0)
  await waitFor('another thread answers', async () => ((await thread.run(0)) === first ? null : true))
  await thread.close()
})

test('a thread that dies rejects what it was given, and the next piece of work has another one', async () => {
  const thread = openThread<string, string>(
    script(`
      import { serveThread } from '${threads}'
      // A thread runs on for a moment after it said that it ends.
      serveThread((word) => word === 'die' ? new Promise(() => process.exit(3)) : word)
    `),
  )
  const lost = await Promise.allSettled([thread.run('die'), thread.run('behind it')])
  assert.deepEqual(
    lost.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await thread.run('again'), 'again')
  await thread.close()
})

test('what a thread tells besides its answers is no answer', async () => {
  const thread = openThread<string, string>(
    script(`
      import { parentPort } from 'node:worker_threads'
      import { serveThread } from '${threads}'
      parentPort.postMessage({ 'watch:import': ['file:///a.ts'] })
      serveThread((word) => word)
    `),
  )
  assert.equal(await thread.run('a word'), 'a word')
  await thread.close()
})

test('a thread that lowers its priority lowers nobody else’s', {
  skip: process.platform !== 'linux',
}, async () => {
  const thread = openThread<null, number>(
    script(`
      import { readlinkSync } from 'node:fs'
      import { getPriority } from 'node:os'
      import { lowerPriority, serveThread } from '${threads}'
      lowerPriority()
      serveThread(() => getPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1))))
    `),
  )
  const before = getPriority()
  assert.equal(await thread.run(null), constants.priority.PRIORITY_BELOW_NORMAL)
  assert.equal(getPriority(), before)
  await thread.close()
})
