import assert from 'node:assert/strict'
import test from 'node:test'
import {
  InvariantBroken,
  invalidField,
  invariant,
  OutsideFailure,
  Refusal,
  withoutCredentials,
} from './errors.ts'

test('a refused field is named beside the message', () => {
  const refusal = invalidField('amount', 'invalid_amount', 'an amount is above zero, got 0')
  assert.ok(refusal instanceof Refusal)
  assert.deepEqual(
    { ...refusal, message: refusal.message },
    {
      name: 'Refusal',
      kind: 'invalid',
      reason: 'invalid_amount',
      message: 'an amount is above zero, got 0',
      details: [{ field: 'amount', message: 'an amount is above zero, got 0' }],
      retryAfterSeconds: null,
    },
  )
})

test('a failure outside keeps its cause, and says whether to try again', () => {
  const cause = new Error('ECONNREFUSED')
  const failure = new OutsideFailure('the node cannot be reached', { cause, retryable: true })
  assert.equal(failure.cause, cause)
  assert.equal(failure.retryable, true)
})

test('a broken invariant stops the work; one that holds is silent', () => {
  assert.throws(() => invariant(0n, 'there is something'), new InvariantBroken('there is something'))
  invariant(1n, 'there is something')
})

for (const [url, shown] of [
  ['http://user:p%40ss@node:8332/', 'http://***@node:8332/'],
  ['postgres://beck:p@ss:w@rd@db/beck', 'postgres://***@db/beck'],
  ['postgres://beck@db/beck?application_name=a@b', 'postgres://***@db/beck?application_name=a@b'],
  ['postgres://beck@db/beck', 'postgres://***@db/beck'],
  [
    'connect to redis://:secret@cache:6379 failed, then http://u:p@h/',
    'connect to redis://***@cache:6379 failed, then http://***@h/',
  ],
  ['https://node.example/a@b', 'https://node.example/a@b'],
  ['nothing to hide', 'nothing to hide'],
] as const) {
  test(`${shown} shows no credential`, () => assert.equal(withoutCredentials(url), shown))
}
