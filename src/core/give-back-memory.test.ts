import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test from 'node:test'
import { promisify } from 'node:util'

/**
 * Makes objects of which many are still needed when V8 looks, as deliveries in flight do, collects as after a start, and makes as
 * many again. Says how large the space for young objects was at most, after the collection, and at the end.
 */
const busy = (prepare: string) => `
  import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
  import { runInNewContext } from 'node:vm'
  import { boundYoungSpace } from '${new URL('give-back-memory.ts', import.meta.url)}'
  ${prepare}
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('globalThis.gc')
  const size = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size
  const kept = []
  let most = 0
  async function work() {
    for (let turn = 0; turn < 300; turn++) {
      for (let n = 0; n < 2_000; n++) kept[(turn * 2_000 + n) % 20_000] = { turn, of: [turn, n], said: 'delivery ' + n }
      await new Promise((resolve) => setTimeout(resolve, 1))
      most = Math.max(most, size())
    }
  }
  await work()
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  const collected = size()
  await work()
  console.log(JSON.stringify({ most, collected, end: size() }))`

/** In a process of its own: what is set here holds for all of a process. */
async function youngSpace(prepare: string): Promise<{ most: number; collected: number; end: number }> {
  const args = ['--input-type=module', '--eval', busy(prepare)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

const MB = 2 ** 20

/** Two collections in one turn take it twice as far, which is seldom; where nothing bounds it, no process stays below. */
const PROCESSES_MAX = 5

test('a bounded young space grows to what a busy process needs, as often as it was collected, and no further', async () => {
  const free = await youngSpace('')
  assert.ok(free.most > 8 * MB, `${JSON.stringify(free)} without a bound`)
  const seen: string[] = []
  while (seen.length < PROCESSES_MAX) {
    const bounded = await youngSpace('boundYoungSpace()')
    const { most, collected, end } = bounded
    if (most <= 8 * MB && collected <= 2 * MB && end >= 8 * MB) return
    seen.push(JSON.stringify(bounded))
  }
  assert.fail(seen.join(' '))
})

/** Keeps 150 MB long enough for V8 to take them for old, lets go, and works on for a part of the time. Says what it holds then, and a second later. */
const letGo = (works: number) => `
  import { setTimeout as sleep } from 'node:timers/promises'
  import { giveBackWhenIdle } from '${new URL('give-back-memory.ts', import.meta.url)}'
  giveBackWhenIdle(100)
  const mb = () => Math.round(process.memoryUsage.rss() / 2 ** 20)
  const work = (ms) => { for (const until = performance.now() + ms; performance.now() < until; ); }
  let kept = []
  for (let n = 0; n < 1_500_000; n++) kept.push({ n, said: [n, n] })
  const most = mb()
  kept = null
  for (const until = performance.now() + 2_000; performance.now() < until; ) { work(${works}); await sleep(10) }
  console.log(JSON.stringify({ most, end: mb() }))`

test('what a crowd left is given back once there is little to do, and not while there is much', async () => {
  const hold = async (works: number): Promise<{ most: number; end: number }> => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '--eval',
      letGo(works),
    ])
    return JSON.parse(stdout)
  }
  const idle = await hold(0)
  assert.ok(idle.most > 150 && idle.end < idle.most - 100, JSON.stringify(idle))
  const busy = await hold(10)
  assert.ok(busy.end > busy.most - 50, JSON.stringify(busy))
})
