import assert from 'node:assert/strict'
import test from 'node:test'
import { testDatabaseUrl } from '../../test/database.ts'
import { openDatabase } from './database.ts'
import { migrate, readMigrations } from './migrate.ts'

test('two processes that start at once run each migration exactly once', async () => {
  const url = await testDatabaseUrl({ template: false })
  const [one, two] = [openDatabase({ url }), openDatabase({ url })]
  const ran = (await Promise.all([migrate(one), migrate(two)])).flat()
  assert.deepEqual(
    ran.toSorted(),
    (await readMigrations()).map((migration) => migration.name),
  )
  assert.deepEqual(await migrate(one), [])
  await Promise.all([one.close(), two.close()])
})

test('a migration edited after it ran is refused', async () => {
  const db = openDatabase({ url: await testDatabaseUrl({ template: false }) })
  const first = { name: '0001-first.sql', sql: 'create table a (x int)', checksum: 'one' }
  await migrate(db, [first])
  await assert.rejects(migrate(db, [{ ...first, checksum: 'two' }]), /edited after it ran/)
  await db.close()
})

test('a Beck that is older than its database refuses to start on it', async () => {
  const db = openDatabase({ url: await testDatabaseUrl({ template: false }) })
  const first = { name: '0001-first.sql', sql: 'create table a (x int)', checksum: 'one' }
  await migrate(db, [first, { ...first, name: '0002-second.sql', sql: 'create table b (x int)' }])
  await assert.rejects(migrate(db, [first]), /newer Beck \(0002-second\.sql\)/)
  await db.close()
})

test('a user who may not make tables is told what he lacks, and one who is not let in what to correct', async () => {
  const url = await testDatabaseUrl({ template: false })
  const owner = openDatabase({ url })
  await owner.query('revoke create on schema public from public')
  const role = `guest_${new URL(url).pathname.slice(1)}`
  await owner.query(`create role ${role} login password 'secret'`)
  const guestUrl = new URL(url)
  guestUrl.username = role
  guestUrl.password = 'secret'
  const guest = openDatabase({ url: guestUrl.toString() })
  await assert.rejects(migrate(guest), { reason: 'not_permitted', message: /owner, or grant him create/ })
  await guest.close()

  guestUrl.password = 'wrong'
  const stranger = openDatabase({ url: guestUrl.toString() })
  const refused = { name: 'OutsideFailure', message: /does not let Beck in .*correct DATABASE_URL/ }
  await assert.rejects(migrate(stranger), refused)
  await assert.rejects(
    stranger.transaction(async () => {}),
    refused,
  )
  await stranger.close()
  await owner.query(`drop role ${role}`)
  await owner.close()
})
