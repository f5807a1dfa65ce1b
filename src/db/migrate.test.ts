import assert from 'node:assert/strict'
import test from 'node:test'
import { testDatabaseUrl } from '../../test/database.ts'
import { waitFor } from '../../test/wait-for.ts'
import { VERSION } from '../core/version.ts'
import { openDatabase } from './database.ts'
import { migrate, readMigrations, runMigrations } from './migrate.ts'

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

test('of many who find no table of migrations at once, none meets the other’s', async () => {
  const url = await testDatabaseUrl({ template: null })
  const open = Array.from({ length: 3 }, () => openDatabase({ url, connectionsMax: 1 }))
  // Connected before: what is raced is the making alone.
  await Promise.all(open.map((db) => db.query('select')))
  for (let round = 0; round < 150; round++) {
    await Promise.all(open.map((db) => runMigrations(db, [])))
    await open[0]?.query('drop table schema_migrations')
  }
  await Promise.all(open.map((db) => db.close()))
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

const FIRST = { name: '0001-first.sql', sql: 'create table a (x int)', checksum: 'one' }

test('a Beck goes on, and starts anew, on a database that a newer one only added to; where it took away, it is refused', async () => {
  const db = openDatabase({ url: await testDatabaseUrl({ template: null }) })
  const added = { name: '0002-added.sql', sql: 'alter table a add column y int', checksum: 'two' }
  assert.deepEqual(await migrate(db, [FIRST, added]), [FIRST.name, added.name])
  assert.deepEqual(await migrate(db, [FIRST]), [])

  const contract = (version: string) => `-- Contract: ${version} and newer run beside this.\nalter table a `
  const mine = { name: '0003-mine.sql', sql: `${contract(VERSION)} drop column y`, checksum: 'three' }
  await migrate(db, [FIRST, added, mine])
  assert.deepEqual(await migrate(db, [FIRST]), [], 'this version is the one that stopped using it')

  // As one of 99.0.0 left it.
  await db.query(
    `insert into schema_migrations (name, checksum, needs_version) values ($1, 'four', '99.0.0')`,
    ['0004-later.sql'],
  )
  await assert.rejects(migrate(db, [FIRST]), {
    reason: 'database_is_newer',
    message: /0004-later\.sql needs 99\.0\.0, this is/,
  })
  await db.close()
})

test('what takes something away waits until no older Beck runs, and is not for an older program', async () => {
  const db = openDatabase({ url: await testDatabaseUrl({ template: null }) })
  const roles = (await readMigrations()).filter(({ name }) => name.endsWith('-running-roles.sql'))
  const known = [FIRST, ...roles]
  await migrate(db, known)
  const contract = (version: string) => ({
    name: '0099-contract.sql',
    sql: `-- Contract: ${version} and newer run beside this.\nalter table a drop column x`,
    checksum: version,
  })
  await assert.rejects(migrate(db, [...known, contract('99.0.0')]), {
    reason: 'program_is_older',
    message: /0099-contract\.sql takes away what a Beck before 99\.0\.0 works with, and this is/,
  })

  const runs = (version: string, role: string, silent: string) =>
    db.query(
      `insert into running_roles (instance, role, host, version, loop_lag_ms, seen_at)
       values (gen_random_uuid(), $2, 'alpha', $1, 0, now() - $3::interval)`,
      [version, role, silent],
    )
  await runs(VERSION, 'api', '1 second')
  await runs('0.0.9', 'signer', '1 second')
  await runs('0.0.8', 'worker', '1 minute')
  await assert.rejects(migrate(db, [...known, contract(VERSION)]), {
    reason: 'older_beck_runs',
    message:
      /there runs: signer 0\.0\.9 on alpha\. Stop these, or upgrade them to .* and run npx beck migrate/,
  })
  await db.query('select x from a')

  await db.query(`delete from running_roles where role = 'signer'`)
  assert.deepEqual(await migrate(db, [...known, contract(VERSION)]), ['0099-contract.sql'])
  await assert.rejects(db.query('select x from a'), { code: '42703' })
  await db.close()
})

test('a migration that waits for a table lets others at it, and comes again', async () => {
  const db = openDatabase({ url: await testDatabaseUrl({ template: null }) })
  await migrate(db, [FIRST])
  const isHeld = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  const holder = db.transaction(async (tx) => {
    // As a backup does: it has read everything, and goes on.
    await tx.query('select from a, schema_migrations')
    isHeld.resolve()
    await mayEnd.promise
  })
  await isHeld.promise
  const added = { name: '0002-added.sql', sql: 'alter table a add column y int', checksum: 'two' }
  const migrating = migrate(db, [FIRST, added])
  await waitFor('the migration waits for the table', async () => {
    const { rowCount } = await db.query(
      `select from pg_locks where relation = 'a'::regclass and not granted and database =
         (select oid from pg_database where datname = current_database())`,
    )
    return rowCount > 0 || null
  })
  // It would stand behind the migration, and that behind the holder, for ever.
  await db.query('select from a')
  mayEnd.resolve()
  await holder
  assert.deepEqual(await migrating, [added.name])
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

test('a user who may make tables but no extension gets them all; only a part of an email has no index', async () => {
  const url = await testDatabaseUrl({ template: null })
  const owner = openDatabase({ url })
  const role = `tables_${new URL(url).pathname.slice(1)}`
  await owner.query(`create role ${role} login password 'secret'`)
  await owner.query(`grant usage, create on schema public to ${role}`)
  const userUrl = new URL(url)
  userUrl.username = role
  userUrl.password = 'secret'
  const user = openDatabase({ url: userUrl.toString() })
  await migrate(user)
  const { rows } = await user.query(
    `select to_regclass('customers') is not null as tables, to_regclass('customers_email_part') is not null as part`,
  )
  assert.deepEqual(rows, [{ tables: true, part: false }])
  await user.close()
  await owner.query(`drop owned by ${role}`)
  await owner.query(`drop role ${role}`)
  await owner.close()
})
