/** What strangers can do with the password's door: guess for a while from one host, and keep two threads busy. */
import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import test from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { countAttempt } from './attempts.sql.ts'
import { isPassword } from './password.ts'

test('all addresses of one host of IPv6 have its fifty guesses together, whoever they guess at', async () => {
  const db = await testDatabase()
  let allowed = 0
  for (let number = 0; number < 150; number++)
    if (await countAttempt(db, `somebody${number}@example.com`, `2001:db8:1:2::${number.toString(16)}`))
      allowed += 1
  assert.equal(allowed, 50)
  assert.equal(await countAttempt(db, 'another@example.com', '2001:db8:1:3::1'), true, 'another host')
})

test('attempts that are refused write nothing, however long somebody goes on and from wherever in his site', async () => {
  const db = await testDatabase()
  const rows = async () => (await db.query('select from sign_in_failures')).rowCount
  for (let number = 0; number < 40; number++) await countAttempt(db, 'ada@example.com', '192.0.2.1')
  assert.equal(await rows(), 20, 'ten of the person, ten of the address')
  for (let number = 0; number < 300; number++)
    await countAttempt(db, `somebody${number}@example.com`, '192.0.2.1')
  assert.equal(await rows(), 100)
  await Promise.all(
    Array.from({ length: 900 }, (_, number) =>
      countAttempt(db, `sitting${number}@example.com`, `2001:db8:9:${(number % 30).toString(16)}::1`),
    ),
  )
  // At once, some more are written than may be looked at: as many as there are connections.
  const written = ((await rows()) - 100) / 3
  assert.ok(written >= 200 && written <= 210, `${written} attempts of a site were written`)
})

test('a lockout ends a quarter of an hour after the tenth wrong password, whatever was tried meanwhile', async () => {
  const db = await testDatabase()
  for (let number = 0; number < 30; number++) await countAttempt(db, 'ada@example.com', `192.0.2.${number}`)
  assert.equal(await countAttempt(db, 'ada@example.com', '198.51.100.1'), false)
  const { rows } = await db.query<{ count: bigint }>('select count(*) from sign_in_failures')
  assert.equal(rows[0]?.count, 20n)
  await db.query(`update sign_in_failures set failed_at = failed_at - interval '15 minutes'`)
  assert.equal(await countAttempt(db, 'ada@example.com', '198.51.100.1'), true)
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
