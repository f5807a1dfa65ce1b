import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { judge, type Outcome } from './delivery.ts'

const now = new Date('2026-03-01T12:00:00Z')
const answered = (status: number, retryAfter: string | null = null): Outcome => ({
  kind: 'answered',
  status,
  retryAfter,
  start: '',
})
const unanswered: Outcome = { kind: 'unanswered', status: null, error: 'connection reset' }

test('2xx delivers, 410 ends the endpoint, everything else is tried again', () => {
  for (const [outcome, kind] of [
    [answered(200), 'delivered'],
    [answered(204), 'delivered'],
    [answered(299), 'delivered'],
    [answered(101), 'retry'],
    [answered(199), 'retry'],
    [answered(301), 'retry'],
    [answered(307), 'retry'],
    [answered(400), 'retry'],
    [answered(404), 'retry'],
    [answered(429), 'retry'],
    [answered(500), 'retry'],
    [answered(410), 'gone'],
    [unanswered, 'retry'],
    [{ ...unanswered, status: 200 }, 'retry'],
  ] as const) {
    assert.equal(judge(outcome, 1, 0.5, now).kind, kind, JSON.stringify(outcome))
  }
})

test('attempts follow the schedule, and the tenth failure is the last', () => {
  const waits = []
  for (let attempt = 1; ; attempt++) {
    const verdict = judge(unanswered, attempt, 0.5, now)
    if (verdict.kind !== 'retry') {
      assert.deepEqual(verdict, { kind: 'failed' })
      assert.equal(attempt, 10)
      break
    }
    waits.push(verdict.delayMs / 1_000)
  }
  assert.deepEqual(waits, [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400])
})

test('each wait varies by at most a fifth', () => {
  assert.deepEqual(judge(unanswered, 2, 0, now), { kind: 'retry', delayMs: 240_000 })
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (n, r) => {
        const [given, middle] = [judge(unanswered, n, r, now), judge(unanswered, n, 0.5, now)]
        assert.ok(given.kind === 'retry' && middle.kind === 'retry')
        assert.ok(Math.abs(given.delayMs - middle.delayMs) <= middle.delayMs / 5 + 1)
      },
    ),
  )
})

test('Retry-After puts the next attempt off, never forward, and by a day at most', () => {
  const wait = (retryAfter: string, status = 503) => {
    const verdict = judge(answered(status, retryAfter), 1, 0.5, now)
    assert.ok(verdict.kind === 'retry')
    return verdict.delayMs / 1_000
  }
  assert.equal(wait('120'), 120)
  assert.equal(wait(' 120 ', 429), 120)
  assert.equal(wait('1'), 5)
  assert.equal(wait('9999999999'), 86_400)
  assert.equal(wait('Sun, 01 Mar 2026 12:10:00 GMT'), 600)
  assert.equal(wait('Sun, 01 Mar 2020 12:10:00 GMT'), 5)
  for (const nonsense of ['', 'soon', '-5', '1.5', '2027-01-01', '1e9', '99999999999', '\u{1F550}']) {
    assert.equal(wait(nonsense), 5, nonsense)
  }
})

test('no answer header can break the schedule', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.integer({ min: 100, max: 599 }),
      fc.integer({ min: 1, max: 10 }),
      (header, status, n) => {
        const verdict = judge(answered(status, header), n, 0.5, now)
        const isOver = status === 410 || (status >= 200 && status <= 299) || n === 10
        assert.equal(verdict.kind === 'retry', !isOver)
        if (verdict.kind === 'retry')
          assert.ok(verdict.delayMs >= 4_000 && verdict.delayMs <= 1.2 * 86_400_000)
      },
    ),
  )
})
