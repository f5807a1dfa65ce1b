import assert from 'node:assert/strict'
import { cpus } from 'node:os'
import test from 'node:test'
import { AT_ONCE, processorTime, watchSpareTime } from './spare-time.ts'

/** A machine of two processors, of which so much is idle: another share with every look, a second after the last. */
function machine(idleShares: readonly number[], processors = 2) {
  let looks = 0
  let nowMs = 0
  const passed = { idle: 0, all: 0 }
  const rests: number[] = []
  const spareTime = watchSpareTime(
    () => {
      if (looks > 0) {
        passed.all += 1_000
        passed.idle += 1_000 * (idleShares[Math.min(looks, idleShares.length) - 1] ?? 0)
      }
      looks += 1
      return { processors, ...passed }
    },
    async (ms) => void rests.push(ms),
    () => nowMs,
  )
  /** Something takes so long. */
  const passes = (ms: number) => {
    nowMs += ms
  }
  return { spareTime, rests, passes, looksTaken: () => looks }
}

const inSteps = (count: number) =>
  Array.from({ length: count / 500 }, (_, n) => [n * 500, (n + 1) * 500] as const)

test('where the machine has time to spare, all is under way at once', async () => {
  const { spareTime, rests, passes } = machine([0.5])
  passes(1_000)
  let underWay = 0
  const parts = await spareTime.spend(10_001, 2, async (first, end) => {
    underWay += 1
    await new Promise(setImmediate)
    assert.equal(underWay, 2)
    return [first, end]
  })
  const both = [
    [0, 5_001],
    [5_001, 10_001],
  ]
  assert.deepEqual([parts, rests], [both, []])
  assert.equal(await spareTime.step(() => 1), 1)
  assert.deepEqual(rests, [])
})

test('where it has none, work goes in steps, and rests sixteen times as long as each took, a tenth of a second or half a one at most', async () => {
  const { spareTime, rests, passes } = machine([0.05])
  passes(1_000)
  const took = [3, 40, 5, 1, 6, 2, 2, 2, 9]
  const parts = await spareTime.spend(4_500, 2, async (first, end) => {
    passes(took.shift() ?? 0)
    return [first, end]
  })
  assert.deepEqual(parts, inSteps(4_500))
  assert.deepEqual(rests, [48, 100, 80, 16, 96, 32, 32, 32], 'nothing waits for a rest after the last')
  const done = await spareTime.step(async () => {
    passes(7)
    return 'done'
  })
  assert.deepEqual([done, rests.at(-1)], ['done', 112])
  await spareTime.step(async () => passes(80))
  assert.equal(rests.at(-1), 500)
  const waited = async () => passes(90)
  await spareTime.step(waited, () => 2)
  assert.equal(rests.at(-1), 32, 'what another machine did is not rested from')
})

test('one piece of work rests so long in all, and does at once what is left; the next rests again', async () => {
  const { spareTime, rests, passes } = machine([0])
  passes(1_000)
  spareTime.look()
  const work = async (first: number, end: number) => {
    passes(5)
    return [first, end]
  }
  const block = spareTime.atMost(200)
  await block.step(() => passes(8))
  const parts = [
    [0, 500],
    [500, 5_250],
    [5_250, 10_000],
  ]
  assert.deepEqual(await block.spend(10_000, 2, work), parts)
  await block.step(() => passes(8))
  assert.deepEqual(rests, [128, 72])
  await spareTime.atMost(-1).step(() => passes(8))
  assert.equal(rests.length, 2)
  await spareTime.atMost(200).step(() => passes(1))
  assert.deepEqual(rests, [128, 72, 16])
  assert.equal(AT_ONCE.atMost(200), AT_ONCE)
})

test('what goes on side by side takes turns, each with its rest, and goes on where one fails', async () => {
  const { spareTime, rests, passes } = machine([0])
  passes(1_000)
  const order: string[] = []
  let underWay = 0
  const work = (name: string) => async (first: number, end: number) => {
    underWay += 1
    assert.equal(underWay, 1)
    await new Promise(setImmediate)
    underWay -= 1
    passes(2)
    order.push(`${name}${first}`)
    if (name === 'b' && first === 500) throw new Error('the second failed')
    return [first, end]
  }
  const pace = spareTime.atMost(10_000)
  const [a, b] = await Promise.allSettled([pace.spend(4_500, 1, work('a')), pace.spend(4_500, 1, work('b'))])
  assert.deepEqual([a.status, b.status], ['fulfilled', 'rejected'])
  assert.deepEqual(order.slice(0, 5), ['a0', 'b0', 'a500', 'b500', 'a1000'])
  assert.equal(order.length, 9 + 2)
  assert.equal(rests.length, 8 + 1)
})

test('when the others are done, what is left is under way at once', async () => {
  const { spareTime, rests, passes } = machine([0, 0, 0.9])
  passes(1_000)
  const parts = await spareTime.spend(10_000, 2, async (first, end) => {
    passes(1_000)
    return [first, end]
  })
  assert.deepEqual(parts, [...inSteps(1_000), [1_000, 5_500], [5_500, 10_000]])
  assert.equal(rests.length, 2)
})

test('a processor is what it needs, of two or of many, and half of a single one', async () => {
  for (const [idleShare, processors, isBusy] of [
    [0.49, 2, true],
    [0.51, 2, false],
    [0.4, 1, true],
    [0.6, 1, false],
    [0.02, 64, false],
    [0.015, 64, true],
  ] as const) {
    const { spareTime, rests, passes } = machine([idleShare], processors)
    passes(1_000)
    await spareTime.spend(5_000, 1, async () => passes(1))
    assert.equal(rests.length > 0, isBusy, `${idleShare} of ${processors}`)
  }
})

test('nothing is no work, and what is less than the parts is in as many as it has', async () => {
  for (const spareTime of [machine([0.5]).spareTime, AT_ONCE]) {
    assert.deepEqual(await spareTime.spend(0, 2, async () => assert.fail('worked')), [])
    assert.deepEqual(await spareTime.spend(1, 2, async (first, end) => [first, end]), [[0, 1]])
    assert.deepEqual(await spareTime.spend(3, 2, async (first, end) => [first, end]), [
      [0, 2],
      [2, 3],
    ])
  }
})

test('work that fails ends it, wherever it fails, and the next goes on', async () => {
  const busy = machine([0])
  busy.passes(1_000)
  const failing = async (first: number) => {
    if (first > 0) throw new Error('no answer')
  }
  for (const spareTime of [busy.spareTime, AT_ONCE]) {
    await assert.rejects(spareTime.spend(5_000, 2, failing), /no answer/)
    await assert.rejects(
      spareTime.step(() => failing(1)),
      /no answer/,
    )
    assert.deepEqual(await spareTime.spend(1_000, 1, async () => 'done'), ['done'])
  }
})

test('it looks twice a second at most, and until the first look takes the machine for idle', async () => {
  const { spareTime, rests, passes, looksTaken } = machine([0])
  await spareTime.spend(5_000, 1, async () => {})
  passes(499)
  spareTime.look()
  assert.deepEqual([looksTaken(), rests.length], [1, 0])
  passes(1)
  spareTime.look()
  spareTime.look()
  assert.equal(looksTaken(), 2)
  await spareTime.spend(5_000, 1, async () => {})
  assert.deepEqual([looksTaken(), rests.length], [2, 9])
})

test('a few pieces are done at once, however busy the machine is', async () => {
  const { spareTime, rests, passes } = machine([0])
  passes(1_000)
  const parts = await spareTime.spend(4_000, 2, async (first, end) => [first, end])
  const both = [
    [0, 2_000],
    [2_000, 4_000],
  ]
  assert.deepEqual([parts, rests], [both, []])
})

test('where processors came or went, the machine is taken for idle until the next look', async () => {
  let [nowMs, rested] = [0, 0]
  const times = [
    { processors: 4, idle: 0, all: 10_000 },
    { processors: 4, idle: 0, all: 12_000 },
    { processors: 2, idle: -10, all: 6_000 },
  ]
  const spareTime = watchSpareTime(
    () => times.shift() ?? assert.fail('looked too often'),
    async () => {
      rested += 1
    },
    () => nowMs,
  )
  nowMs += 500
  await spareTime.step(() => {})
  spareTime.look()
  await spareTime.step(() => {})
  assert.equal(rested, 1)
  nowMs += 500
  spareTime.look()
  await spareTime.step(() => {})
  assert.equal(rested, 1)
})

test('the machine tells its time: of each processor about as much as passed, and never more of it idle', async () => {
  const before = processorTime()
  const own = process.cpuUsage()
  const began = performance.now()
  const until = began + 600
  while (performance.now() < until);
  const after = processorTime()
  assert.equal(after.processors, cpus().length)
  const { user, system } = process.cpuUsage(own)
  // Linux counts in hundredths of a second.
  const unitMs = process.platform === 'linux' ? 10 : 1
  const passedMs = ((after.all - before.all) / after.processors) * unitMs
  const tookMs = performance.now() - began
  assert.ok(Math.abs(passedMs - tookMs) < tookMs / 2, `${passedMs} of ${tookMs} ms`)
  // What this process had was not idle.
  const idleMs = (after.idle - before.idle) * unitMs
  const othersMs = tookMs * after.processors - (user + system) / 1_000
  assert.ok(idleMs >= 0 && idleMs <= othersMs + 100, `${idleMs} of ${othersMs} ms`)
})
