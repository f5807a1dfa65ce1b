import assert from 'node:assert/strict'
import test from 'node:test'
import { testDatabaseUrl } from '../../test/database.ts'
import { openDatabase } from './database.ts'
import { migrate, readMigrations } from './migrate.ts'

test('two processes that start at once run each migration exactly once', async () => {
  const url = await testDatabaseUrl({ template: null })
  const [one, two] = [openDatabase({ url }), openDatabase({ url })]
  const ran = (await Promise.all([migrate(one), migrate(two)])).flat()
  assert.deepEqual(
    ran.toSorted(),
    (await readMigrations()).map((migration) => migration.name),
  )
  assert.deepEqual(await migrate(one), [])
  await Promise.all([one.close(), two.close()])
})

test('a server that would compile its statements leaves Beck’s alone', async () => {
  const db = openDatabase({ url: await testDatabaseUrl({ template: null }), connectionsMax: 1 })
  await db.query('set jit = on')
  await migrate(db)
  const { rows } = await db.query<{ setting: string }>(
    `select unnest(setconfig) as setting from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
     where d.datname = current_database()`,
  )
  assert.deepEqual(rows, [{ setting: 'jit=off' }])
  await db.close()
})

test('a database of another schema is refused with what to do, and left as it was', async () => {
  const db = openDatabase({ url: await testDatabaseUrl({ template: null }) })
  const made = (await readMigrations()).slice(0, 2)
  await migrate(db, made)
  // As an older Beck made it: of its second file not a letter is known here, and the third has not run.
  await db.query(`update schema_migrations set checksum = repeat('0', 64) where name = $1`, [made[1]?.name])
  await assert.rejects(migrate(db), {
    name: 'Refusal',
    reason: 'database_differs',
    message:
      /made by another version of Beck \(its 0002-chains\.sql was a different one\).* BECK_DATA_DIR to a new folder/,
  })
  const { rows } = await db.query<{ name: string }>('select name from schema_migrations order by name')
  assert.deepEqual(
    rows.map(({ name }) => name),
    made.map(({ name }) => name),
  )
  await db.close()
})

test('a Beck that is older than its database refuses to start on it', async () => {
  const db = openDatabase({ url: await testDatabaseUrl({ template: null }) })
  const first = { name: '0001-first.sql', sql: 'create table a (x int)', checksum: 'one' }
  await migrate(db, [first, { ...first, name: '0002-second.sql', sql: 'create table b (x int)' }])
  await assert.rejects(migrate(db, [first]), /newer Beck \(0002-second\.sql\)/)
  await db.close()
})

test('a user who may not make tables is told what he lacks, and one who is not let in what to correct', async () => {
  const url = await testDatabaseUrl({ template: null })
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
