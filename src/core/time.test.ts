import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { isoOrNull, parseInstant, utcDay } from './time.ts'

const INSTANTS = [
  // [text, the instant or null]
  ['2026-01-31', '2026-01-31T00:00:00.000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['2026-01-31T12:00Z', '2026-01-31T12:00:00.000Z'],
  ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
  ['2026-01-31T12:00:00.5Z', '2026-01-31T12:00:00.500Z'],
  ['2026-01-31T12:00:00.123456789Z', '2026-01-31T12:00:00.123Z'],
  ['2026-01-31T00:30:00+02:00', '2026-01-30T22:30:00.000Z'],
  ['2026-01-31T23:30:00-02:00', '2026-02-01T01:30:00.000Z'],
  ['2026-02-30', null],
  ['2025-02-29', null],
  ['2026-02-30T12:00:00Z', null],
  ['2026-13-01', null],
  ['2026-00-10', null],
  ['2026-01-31T25:00:00Z', null],
  ['2026-01-31T12:60:00Z', null],
  ['2026-01-31T12:00:00+25:00', null],
  ['2026-01-31T12:00:00', null],
  ['2026-01-31 12:00:00Z', null],
  ['2026-1-31', null],
  ['31.01.2026', null],
  ['1767225600', null],
  ['today', null],
  ['', null],
] as const

for (const [text, expected] of INSTANTS) {
  test(`"${text}" is ${expected ?? 'no instant'}`, () =>
    assert.equal(isoOrNull(parseInstant(text)), expected))
}

test('every instant is read back from how it is shown, and its day is its first ten characters', () => {
  const instant = fc.date({ min: new Date('1000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  fc.assert(
    fc.property(instant, (at) => {
      assert.deepEqual(parseInstant(at.toISOString()), at)
      assert.equal(utcDay(at), at.toISOString().slice(0, 10))
    }),
  )
})
