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

/** In a process of its own: what is set here holds for all of a process. @returns What the script says. */
async function run<Said>(script: string): Promise<Said> {
  const args = ['--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

const youngSpace = (prepare: string) => run<{ most: number; collected: number; end: number }>(busy(prepare))

const MB = 2 ** 20
/** The bound, and pages that V8 keeps beside the space while it moves what lives on: 8.3 to 10 MB were seen where a machine is busy. */
const BOUNDED_MAX = 12 * MB

/** Two collections in one turn take it twice as far, which is seldom; where nothing bounds it, no process stays below. */
const PROCESSES_MAX = 5

test('a bounded young space grows to what a busy process needs, as often as it was collected, and no further', async () => {
  const free = await youngSpace('')
  assert.ok(free.most > BOUNDED_MAX, `${JSON.stringify(free)} without a bound`)
  const seen: string[] = []
  while (seen.length < PROCESSES_MAX) {
    const bounded = await youngSpace('boundYoungSpace()')
    const { most, collected, end } = bounded
    if (most <= BOUNDED_MAX && collected <= 2 * MB && end >= 8 * MB) return
    seen.push(JSON.stringify(bounded))
  }
  assert.fail(seen.join(' '))
})

/**
 * Keeps 150 MB until V8 takes them for old, lets go, and works on for a part of the time; once more, if asked. Says what its heap held
 * before it let go, and two seconds later.
 */
const letGo = (works: number, times: number) => `
  import { setFlagsFromString } from 'node:v8'
  import { runInNewContext } from 'node:vm'
  import { setTimeout as sleep } from 'node:timers/promises'
  import { giveBackWhenIdle } from '${new URL('give-back-memory.ts', import.meta.url)}'
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('globalThis.gc')
  giveBackWhenIdle(100)
  const mb = () => Math.round(process.memoryUsage().heapTotal / 2 ** 20)
  const work = (ms) => { for (const until = performance.now() + ms; performance.now() < until; ); }
  for (let time = 1; time <= ${times}; time++) {
    let kept = []
    for (let n = 0; n < 3_000_000; n++) kept.push({ n, said: [n, n] })
    // So that V8 is not about to.
    collect()
    const most = mb()
    kept = null
    await sleep(0)
    for (const until = performance.now() + 2_000; performance.now() < until; ) { work(${works}); await sleep(10) }
    if (time === ${times}) console.log(JSON.stringify({ most, end: mb() }))
  }`

const hold = (works: number, times: number) => run<{ most: number; end: number }>(letGo(works, times))

test('what a crowd left is given back once there is little to do, not while there is much, and not again so soon', async () => {
  const idle = await hold(0, 1)
  assert.ok(idle.most > 100 && idle.end < idle.most - 80, JSON.stringify(idle))
  for (const kept of [await hold(40, 1), await hold(0, 2)])
    assert.ok(kept.most > 100 && kept.end > kept.most - 50, JSON.stringify(kept))
})
