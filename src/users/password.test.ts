/**
 * Which passwords are taken, and that each is looked at as it was typed. However many strangers send, few are looked at, some
 * wait, and the rest are told to come again at once.
 */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Refusal } from '../core/errors.ts'
import { hashPassword, isPassword, requireStrongPassword, WAITING_MAX } from './password.ts'

test('a password more than are checked and wait at once is refused without a wait, and none is lost once the others are done', async () => {
  let done = 0
  const attempts = Array.from({ length: WAITING_MAX + 20 }, () =>
    isPassword(null, 'correct horse battery staple').finally(() => (done += 1)),
  )
  const refused = attempts.slice(WAITING_MAX)
  const answers = await Promise.allSettled(refused)
  assert.ok(done < WAITING_MAX, 'they waited for nobody')
  for (const answer of answers) {
    const reason = answer.status === 'rejected' ? answer.reason : assert.fail('it was looked at')
    assert.ok(reason instanceof Refusal)
    assert.deepEqual([reason.kind, reason.reason], ['unavailable', 'too_busy'])
  }
  assert.deepEqual(await Promise.all(attempts.slice(0, WAITING_MAX)), Array(WAITING_MAX).fill(false))
  assert.equal(
    await isPassword(null, 'correct horse battery staple'),
    false,
    'the next one is looked at again',
  )
})

/** Why it is not taken; null when it is. */
function refusalOf(password: string, words: readonly string[] = []): string | null {
  try {
    requireStrongPassword(password, words)
    return null
  } catch (error) {
    assert.ok(error instanceof Refusal)
    assert.equal(error.reason, 'weak_password')
    return error.message
  }
}

test('a password has 12 to 128 characters of any kind, and none of them is asked for', () => {
  const long = 'gravel otter '.repeat(10)
  assert.match(refusalOf(long.slice(0, 11)) ?? '', /at least 12/)
  assert.equal(refusalOf(long.slice(0, 12)), null)
  assert.equal(refusalOf(long.slice(0, 64)), null)
  assert.equal(refusalOf(long.slice(0, 128)), null)
  assert.match(refusalOf(long.slice(0, 129)) ?? '', /at most 128/)
  for (const any of [
    'gravelottermoss',
    'GRAVEL OTTER MOSS',
    'кремень выдра мох',
    '碎石水獺苔蘚森林河流山谷',
    '  gravel otter  ',
  ])
    assert.equal(refusalOf(any), null, any)
  assert.match(refusalOf('碎石水獺苔蘚森林河流山') ?? '', /this one has 11/, 'signs are counted, not bytes')
})

test('what is guessed first is not taken: common words, runs of keys, and what is known of the person', () => {
  for (const common of [
    'password1234',
    'P@ssw0rd2026!',
    'qwertyuiop12',
    '123456789012',
    'aaaaaaaaaaaaaa',
    'letmeinletmein',
    'Welcome-Bitcoin-1',
  ])
    assert.match(refusalOf(common) ?? '', /tried first/, common)
  assert.match(refusalOf('annabella-1999', ['Annabella', 'shop']) ?? '', /tried first/)
  assert.equal(refusalOf('annabella-1999 gravel', ['Annabella']), null)
})

test('a password is checked as it was typed, to its last character, however its letters are put together', async () => {
  const typed = ` Grüner Otter ${'x'.repeat(60)} end`
  const hash = await hashPassword(typed)
  assert.match(hash, /^\$argon2id\$v=19\$m=65536,t=3,p=4\$/)
  assert.equal(await isPassword(hash, typed), true)
  assert.equal(await isPassword(hash, typed.normalize('NFD')), true, 'as another keyboard composes it')
  for (const other of [
    typed.trim(),
    typed.toLowerCase(),
    typed.slice(0, -1),
    `${typed} `,
    typed.slice(0, 64),
  ])
    assert.equal(await isPassword(hash, other), false, other)
})
