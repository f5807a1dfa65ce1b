import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openUuids } from './uuid.ts'

const timeOf = (uuid: string): number => Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16)

test('each is behind the one before, however many are made in a millisecond', () => {
  let nowMs = 1_764_000_000_000
  const next = openUuids(() => nowMs)
  const made = Array.from({ length: 10_000 }, next)
  nowMs += 1
  made.push(next(), next())
  nowMs += 100
  made.push(next())
  assert.deepEqual(made, made.toSorted())
  assert.equal(new Set(made).size, made.length)
  // Two milliseconds were lent.
  assert.deepEqual(
    [0, 4_095, 4_096, 10_000, 10_002].map((at) => timeOf(made[at] ?? '') - nowMs),
    [-101, -101, -100, -99, 0],
  )
  for (const uuid of made)
    assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('a clock that goes back a little changes no order; of one that is set back by more, the time is its own', () => {
  const step = fc.oneof(fc.integer({ min: -9_000, max: 20 }), fc.constant(0), fc.constant(-3_600_000))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let nowMs = 1_764_000_000_000
      const next = openUuids(() => nowMs)
      let before = next()
      for (const each of steps) {
        nowMs += each
        const uuid = next()
        const isSetBack = nowMs < timeOf(before) - 10_000
        assert.equal(uuid > before, !isSetBack)
        assert.ok(Math.abs(timeOf(uuid) - nowMs) <= 10_000)
        before = uuid
      }
    }),
  )
})

test('what does not tell its time is random', () => {
  const next = openUuids(() => 0)
  const parts = Array.from({ length: 1_000 }, () => BigInt(`0x${next().slice(19).replace('-', '')}`))
  const [everSet, alwaysSet] = [
    parts.reduce((all, part) => all | part, 0n),
    parts.reduce((all, part) => all & part),
  ]
  assert.deepEqual([everSet, alwaysSet], [0xbfffffffffffffffn, 0x8000000000000000n])
})
