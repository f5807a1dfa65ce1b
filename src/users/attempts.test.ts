/** What strangers can do with the password's door: guess for a while from one host, and keep two threads busy. */
import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import test from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { countAttempt } from './attempts.sql.ts'
import { isPassword } from './password.ts'

test('all addresses of one host of IPv6 have its hundred guesses together, whoever they guess at', async () => {
  const db = await testDatabase()
  let allowed = 0
  for (let number = 0; number < 150; number++)
    if (await countAttempt(db, `somebody${number}@example.com`, `2001:db8:1:2::${number.toString(16)}`))
      allowed += 1
  assert.equal(allowed, 100)
  assert.equal(await countAttempt(db, 'another@example.com', '2001:db8:1:3::1'), true, 'another host')
})

test('thirty passwords checked at once leave threads for everything else', async () => {
  let checked = 0
  const checks = Array.from({ length: 30 }, async () => {
    assert.equal(await isPassword(null, 'correct horse battery staple'), false)
    checked += 1
  })
  // By then the library is loaded and the first of them are at work.
  while (checked === 0) await new Promise(setImmediate)
  await stat('.')
  assert.ok(checked < 10, `a look at a file waited for ${checked} passwords`)
  await Promise.all(checks)
})
