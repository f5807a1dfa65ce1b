import assert from 'node:assert/strict'
import test from 'node:test'
import { OutcomeUnknown } from '../core/errors.ts'
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
