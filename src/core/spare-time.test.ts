import assert from 'node:assert/strict'
import test from 'node:test'
import { watchSpareTime } from './spare-time.ts'

/** A machine of which so much is idle, told anew with every look a second later; what was rested meanwhile is told. */
function machine(idleShares: readonly number[]) {
  let looks = 0
  const passed = { idle: 0, all: 0 }
  const rests: number[] = []
  const spareTime = watchSpareTime(
    () => {
      if (looks > 0) {
        passed.all += 1_000
        passed.idle += 1_000 * (idleShares[Math.min(looks, idleShares.length) - 1] ?? 0)
      }
      looks += 1
      return { ...passed }
    },
    async (ms) => void rests.push(ms),
  )
  return { spareTime, rests }
}

test('where a processor is idle, all is under way at once', async () => {
  const { spareTime, rests } = machine([0.5])
  let underWay = 0
  const parts = await spareTime.spend(10_001, 2, async (first, end) => {
    underWay += 1
    await new Promise(setImmediate)
    assert.equal(underWay, 2)
    return [first, end]
  })
  assert.deepEqual(
    [parts, rests],
    [
      [
        [0, 5_001],
        [5_001, 10_001],
      ],
      [],
    ],
  )
})

test('where none is, it goes in steps, and rests eight times as long as each took', async () => {
  const { spareTime, rests } = machine([0.05])
  const parts = await spareTime.spend(2_500, 2, async (first, end) => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    return [first, end]
  })
  assert.deepEqual(parts, [
    [0, 1_000],
    [1_000, 2_000],
    [2_000, 2_500],
  ])
  assert.equal(rests.length, 2, 'nothing waits for a rest after the last')
  assert.ok(
    rests.every((ms) => ms >= 8 * 4),
    `rested ${rests}`,
  )
})

test('when the others are done, what is left is under way at once', async () => {
  const { spareTime, rests } = machine([0, 0, 0.9])
  const parts = await spareTime.spend(10_000, 2, async (first, end) => [first, end])
  assert.deepEqual(parts, [
    [0, 1_000],
    [1_000, 2_000],
    [2_000, 6_000],
    [6_000, 10_000],
  ])
  assert.equal(rests.length, 2)
})

test('nothing is no work, and what is less than the parts is in as many as it has', async () => {
  const { spareTime } = machine([0.5])
  assert.deepEqual(await spareTime.spend(0, 2, async () => assert.fail('worked')), [])
  assert.deepEqual(await spareTime.spend(1, 2, async (first, end) => [first, end]), [[0, 1]])
})

test('work that fails ends it, and the next goes on', async () => {
  const { spareTime } = machine([0])
  await assert.rejects(
    spareTime.spend(5_000, 1, async (first) => {
      if (first === 1_000) throw new Error('no answer')
    }),
    /no answer/,
  )
  assert.equal((await spareTime.spend(1_000, 1, async () => 'done')).length, 1)
})

test('a look at once after the other tells nothing new: the machine is taken for idle, and for what it was', async () => {
  let all = 0
  let rests = 0
  const spareTime = watchSpareTime(
    () => ({ idle: 0, all }),
    async () => {
      rests += 1
    },
  )
  await spareTime.spend(3_000, 1, async () => {})
  assert.equal(rests, 0)
  all = 1_000
  await spareTime.spend(3_000, 1, async () => {})
  assert.equal(rests, 2)
  await spareTime.spend(3_000, 1, async () => {})
  assert.equal(rests, 4)
})

test('the machine itself can be asked', async () => {
  const spareTime = watchSpareTime()
  const until = performance.now() + 600
  while (performance.now() < until);
  spareTime.look()
  assert.deepEqual(await spareTime.spend(3, 1, async (first, end) => end - first), [3])
})
