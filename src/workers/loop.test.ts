import assert from 'node:assert/strict'
import { syncBuiltinESMExports } from 'node:module'
import { mock, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { SILENT } from '../core/log.ts'
import { startTimeKeeper } from './keep-time.ts'
import { gatherWakes, type Loop, startLoop } from './loop.ts'

test('a thousand wakes within a moment are two turns: one at once, one for all that came after it', () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const woken: string[] = []
  const wake = gatherWakes((name: string) => woken.push(name), 50)
  for (let i = 0; i < 1_000; i++) wake('deliver')
  wake('settle')
  assert.deepEqual(woken, ['deliver', 'settle'])
  mock.timers.tick(50)
  assert.deepEqual(woken, ['deliver', 'settle', 'deliver'])
  mock.timers.tick(50)
  mock.timers.tick(50)
  assert.equal(woken.length, 3, 'nothing more was asked for')
  wake('settle')
  assert.equal(woken.length, 4)
  mock.timers.reset()
})

/** @param work - Is given what lets so many milliseconds pass. */
async function inMockedTime<Result>(
  work: (pass: (ms: number) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  mock.timers.enable({ apis: ['setTimeout'] })
  // Pauses come from timers/promises.
  syncBuiltinESMExports()
  try {
    return await work(async (ms) => {
      mock.timers.tick(ms)
      await setImmediate()
    })
  } finally {
    mock.timers.reset()
    syncBuiltinESMExports()
  }
}

test('a loop that rests between turns is woken as often as anybody likes, and does one turn for them all', async () => {
  await inMockedTime(async (pass) => {
    let turns = 0
    const turn = async () => {
      turns += 1
      return turns === 1
    }
    const loop = startLoop({ name: 'any', idleMs: 60_000, log: SILENT, turn, restMs: () => 100 })
    const passes = async (ms: number) => {
      await pass(ms)
      return turns
    }
    await setImmediate()
    assert.equal(turns, 2, 'a turn that found more is followed at once')
    for (let i = 0; i < 5; i++) loop.wake()
    assert.equal(await passes(99), 2)
    assert.equal(await passes(1), 3, 'those that came while it rested are one turn')
    assert.equal(await passes(1_000), 3, 'nobody asked for more')
    loop.wake()
    await setImmediate()
    assert.equal(turns, 4, 'rested, it begins at once')
    await loop.stop()
  })
})

test('what fails is not tried in one breath, however often it is woken; a wake ends what its pause has become longer by', async () => {
  await inMockedTime(async (pass) => {
    let turns = 0
    const turn = async () => {
      turns += 1
      throw new Error('the node is away')
    }
    const loop = startLoop({ name: 'any', idleMs: 60_000, log: SILENT, turn })
    const passes = async (ms: number) => {
      loop.wake()
      await pass(ms)
      return turns
    }
    await setImmediate()
    assert.equal(await passes(499), 1)
    assert.equal(await passes(1), 2)
    assert.equal(await passes(499), 2)
    assert.equal(await passes(1), 3, 'unless woken, it would wait for a second by now')
    await loop.stop()
  })
})

/** How many turns a loop has begun at the end of each second, when every one fails. */
async function turnsBySecond(
  start: (turn: () => Promise<never>) => Loop,
  seconds: number,
): Promise<number[]> {
  return inMockedTime(async (pass) => {
    let begun = 0
    const loop = start(async () => {
      begun += 1
      throw new Error('the database is away')
    })
    const counts: number[] = []
    for (let ms = 500; ms <= seconds * 1_000; ms += 500) {
      await setImmediate()
      await pass(500)
      if (ms % 1_000 === 0) counts.push(begun)
    }
    await loop.stop()
    return counts
  })
}

test('a loop whose turns fail tries again ever later, and the time keeper within a second however long the database is away', async () => {
  const idleMs = 1_000
  const loop = await turnsBySecond((turn) => startLoop({ name: 'any', idleMs, log: SILENT, turn }), 8)
  assert.deepEqual(loop, [2, 3, 3, 4, 4, 4, 4, 5])
  const keeper = await turnsBySecond(
    (turn) => startTimeKeeper({ turn, stopped: () => null, async verify() {} }, SILENT),
    8,
  )
  assert.deepEqual(keeper, [2, 3, 4, 5, 6, 7, 8, 9])
})
