import assert from 'node:assert/strict'
import test from 'node:test'
import { OutcomeUnknown, unavailable } from '../core/errors.ts'
import { Unreachable } from '../db/failures.ts'
import { answerTo } from './errors.ts'

test('what may have been done is not to be sent again without a look; what was not done is', () => {
  const unknown = answerTo(new OutcomeUnknown('it broke', { retryable: true }))
  assert.equal(unknown.status, 503)
  assert.equal(unknown.retryAfterSeconds, undefined)
  assert.match(unknown.message, /may have been done: look for it/)
  const away = answerTo(new Unreachable('it is away', { retryable: true }))
  assert.equal(away.status, 503)
  assert.ok(away.retryAfterSeconds)
})

test('what Fastify refuses is the fault of the request, under whatever code; what fails on the way to others is not', () => {
  const failing = (code: string, more: object = {}) =>
    Object.assign(new Error('it failed'), { code, ...more })
  for (const [error, status] of [
    [failing('FST_ERR_ROUTE_MISSING_CONTENT_TYPE', { statusCode: 400 }), 400],
    [failing('FST_ERR_OF_TOMORROW', { statusCode: 422 }), 400],
    [failing('FST_ERR_REP_INVALID_PAYLOAD_TYPE', { statusCode: 500 }), 500],
    [failing('ECONNRESET', { statusCode: 400 }), 400],
    [failing('ECONNRESET'), 500],
  ] as const) {
    const { status: got, logged } = answerTo(error)
    assert.deepEqual([got, logged], [status, status === 500], error.code)
  }
})

test('a refusal that knows when it is over says so; any other asks for a little patience', () => {
  const until = (...of: [] | [number]) =>
    answerTo(unavailable('busy', 'it is busy', [], ...of)).retryAfterSeconds
  assert.deepEqual([until(27), until()], [27, 5])
})
