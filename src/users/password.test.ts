/** However many passwords strangers send, few are looked at, some wait, and the rest are told to come again at once. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Refusal } from '../core/errors.ts'
import { isPassword } from './password.ts'

const AT_ONCE = 2
const WAITING_MAX = 50

test('the fifty-third password at once is refused without a wait, and none is lost once the others are done', async () => {
  let done = 0
  const attempts = Array.from({ length: AT_ONCE + WAITING_MAX + 20 }, () =>
    isPassword(null, 'correct horse battery staple').finally(() => (done += 1)),
  )
  const refused = attempts.slice(AT_ONCE + WAITING_MAX)
  const answers = await Promise.allSettled(refused)
  assert.ok(done < AT_ONCE + WAITING_MAX, 'they waited for nobody')
  for (const answer of answers) {
    const reason = answer.status === 'rejected' ? answer.reason : assert.fail('it was looked at')
    assert.ok(reason instanceof Refusal)
    assert.deepEqual([reason.kind, reason.reason], ['unavailable', 'too_busy'])
  }
  assert.deepEqual(await Promise.all(attempts.slice(0, AT_ONCE + WAITING_MAX)), Array(52).fill(false))
  assert.equal(
    await isPassword(null, 'correct horse battery staple'),
    false,
    'the next one is looked at again',
  )
})
