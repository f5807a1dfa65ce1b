import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { TEST_SECRET_KEY, TEST_SECRETS } from '../../test/wallet.ts'
import { newId } from '../core/ids.ts'
import { openSecrets, type Secrets } from '../core/secrets.ts'
import type { Database, Tx } from '../db/database.ts'
import type { Act } from './act.ts'
import { chainActs, forgetInActs, listActs, rechainActs, recordAct, verifyAuditLog } from './audit-log.sql.ts'

const ACT: Act = {
  accountId: null,
  actor: { kind: 'cli', id: 'root', name: null },
  address: '192.0.2.7',
  action: 'key.revoke',
  subject: 'key_1',
  before: null,
  after: { scopes: ['payments:read'], big: '0.10' },
}

const recordMany = async (db: Database, count: number) => {
  for (let number = 1; number <= count; number++)
    await db.transaction((tx) => recordAct(tx, { ...ACT, subject: `key_${number}` }))
}
const verify = (db: Database, noted: Parameters<typeof verifyAuditLog>[2] = null) =>
  verifyAuditLog(db, TEST_SECRETS, noted)

async function chained(count: number): Promise<Database> {
  const db = await testDatabase()
  await recordMany(db, count)
  await chainActs(db, TEST_SECRETS, 100)
  return db
}

/** As its owner could who takes the guard away first. */
const tamper = (db: Database, statement: string) =>
  db.transaction(async (tx) => {
    await tx.query('alter table audit_log disable trigger user')
    await tx.query(statement)
    await tx.query('alter table audit_log enable trigger user')
  })

test('an act comes back as it was recorded, the newest first', async () => {
  const db = await chained(3)
  const acts = await listActs(db, { limit: 2 })
  assert.deepEqual(
    acts.map(({ subject, place }) => [subject, place]),
    [
      ['key_3', 3n],
      ['key_2', 2n],
    ],
  )
  const { id, at, place, ...act } = acts[1] ?? assert.fail()
  assert.deepEqual(act, { ...ACT, subject: 'key_2' })
  assert.deepEqual(
    (await listActs(db, { limit: 9, before: id })).map(({ subject }) => subject),
    ['key_1'],
  )
  assert.ok(at instanceof Date && place === 2n)
})

test('an act that is rolled back leaves no record', async () => {
  const db = await chained(1)
  await assert.rejects(
    db.transaction(async (tx) => {
      await recordAct(tx, ACT)
      throw new Error('after all not')
    }),
  )
  assert.equal((await listActs(db, { limit: 9 })).length, 1)
})

test('an act can not be changed, moved or removed by whoever may write the table', async () => {
  const db = await chained(2)
  await recordMany(db, 1)
  for (const statement of [
    `update audit_log set actor_id = 'nobody'`,
    `update audit_log set place = place + 10 where place is not null`,
    `update audit_log set place = null, mac = null`,
    `update audit_log set actor_id = 'nobody' where place is null`,
    'delete from audit_log',
    'truncate audit_log',
  ])
    await assert.rejects(db.query(statement), /never changed/, statement)
  const { broken, entries, unchained } = await verify(db)
  assert.deepEqual({ broken, entries, unchained }, { broken: null, entries: 2n, unchained: 1n })
})

const TAMPERINGS: Readonly<Record<string, readonly [string, { place: bigint; problem: string }]>> = {
  'another actor': [
    `update audit_log set actor_id = 'nobody' where place = 2`,
    { place: 2n, problem: 'changed' },
  ],
  'another time': [
    `update audit_log set at = at - interval '1 hour' where place = 3`,
    { place: 3n, problem: 'changed' },
  ],
  'the same facts in other characters': [
    `update audit_log set after = after::jsonb::json where place = 1`,
    { place: 1n, problem: 'changed' },
  ],
  'an absent address': [
    'update audit_log set address = null where place = 4',
    { place: 4n, problem: 'changed' },
  ],
  'one act less': ['delete from audit_log where place = 3', { place: 3n, problem: 'missing' }],
  'one act less, the others moved up': [
    `delete from audit_log where place = 3; update audit_log set place = place - 1 where place = 4;
     update audit_log set place = place - 1 where place = 5`,
    { place: 3n, problem: 'changed' },
  ],
  'two acts that change places': [
    `update audit_log set place = place + 100 where place in (2, 3);
     update audit_log set place = 105 - place where place > 100`,
    { place: 2n, problem: 'changed' },
  ],
  'a chain begun anew without the key': [
    `update audit_log set actor_id = 'nobody', mac = sha256(id::text::bytea)`,
    { place: 1n, problem: 'changed' },
  ],
}

for (const [what, [statement, broken]] of Object.entries(TAMPERINGS))
  test(`${what} shows when the log is verified`, async () => {
    const db = await chained(5)
    await tamper(db, statement)
    assert.deepEqual((await verify(db)).broken, broken)
  })

test('an end that was cut off shows by the end that was noted before', async () => {
  const db = await chained(5)
  const { head } = await verify(db)
  await recordMany(db, 2)
  await chainActs(db, TEST_SECRETS, 100)
  assert.equal((await verify(db, head)).broken, null)
  await tamper(db, 'delete from audit_log where place >= 5')
  assert.equal((await verify(db)).broken, null, 'of itself the chain is whole')
  assert.deepEqual((await verify(db, head)).broken, { place: 5n, problem: 'missing' })
  await recordMany(db, 1)
  await chainActs(db, TEST_SECRETS, 100)
  assert.deepEqual((await verify(db, head)).broken, { place: 5n, problem: 'changed' })
})

test('two workers at once make one chain, and nothing waits for an act that is being written', async () => {
  const db = await chained(1)
  await db.transaction(async (slow) => {
    await recordAct(slow, { ...ACT, subject: 'slow' })
    await recordMany(db, 20)
    await Promise.all([1, 2, 3, 4].map(() => chainActs(db, TEST_SECRETS, 7)))
  })
  for (let added = 1; added > 0; ) ({ added } = await chainActs(db, TEST_SECRETS, 7))
  const { broken, entries, unchained } = await verify(db)
  assert.deepEqual({ broken, entries, unchained }, { broken: null, entries: 22n, unchained: 0n })
})

for (const statements of [1, 2, 3])
  test(`a worker that another overtakes after statement ${statements} of its turn gives no act a second place`, async () => {
    const db = await chained(1)
    await recordMany(db, 5)
    let other = Promise.resolve<unknown>(null)
    let done = 0
    const overtaken: Database = {
      ...db,
      query: db.query,
      transaction: (work, options) =>
        db.transaction(
          (tx) =>
            work({
              ...tx,
              query: async (...given: Parameters<typeof tx.query>) => {
                const answer = await tx.query(...given)
                done += 1
                if (done === statements) {
                  other = chainActs(db, TEST_SECRETS, 7)
                  await Promise.race([other, untilLocked(db)])
                }
                return answer
              },
            } as typeof tx),
          options,
        ),
    }
    await chainActs(overtaken, TEST_SECRETS, 7)
    await other
    const { broken, entries, unchained } = await verify(db)
    assert.deepEqual({ broken, entries, unchained }, { broken: null, entries: 6n, unchained: 0n })
  })

/** Until somebody waits for a lock. */
async function untilLocked(db: Database): Promise<void> {
  for (;;) {
    const { rowCount } = await db.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rowCount > 0) return
    await new Promise(setImmediate)
  }
}

test('another secret key verifies nothing', async () => {
  const db = await chained(1)
  const { broken } = await verifyAuditLog(db, openSecrets(Buffer.alloc(32, 9)), null)
  assert.equal(broken?.problem, 'changed')
})

/** The transaction, and what somebody does when it has just said something. */
const beside = (tx: Tx, said: string, then: () => Promise<unknown>): Tx => {
  let isDone = false
  return {
    ...tx,
    async query<Row>(...asked: Parameters<Tx['query']>) {
      const result = await tx.query<Row>(...asked)
      if (!isDone && asked[0].includes(said)) {
        isDone = true
        await then()
      }
      return result
    },
  }
}

const NEXT_KEY = Buffer.alloc(32, 9)
const ACCOUNT = newId('acct')
const ANEW: readonly (readonly [
  string,
  Secrets,
  (db: Database, beside: (tx: Tx) => Tx) => Promise<unknown>,
])[] = [
  [
    'under another key',
    openSecrets(NEXT_KEY),
    (db, besideTx) =>
      rechainActs(
        { ...db, transaction: (work, options) => db.transaction((tx) => work(besideTx(tx)), options) },
        openSecrets(NEXT_KEY),
        openSecrets(NEXT_KEY, TEST_SECRET_KEY),
      ),
  ],
  [
    'without what it says of a customer',
    TEST_SECRETS,
    (db, besideTx) =>
      db.transaction((tx) =>
        forgetInActs(besideTx(tx), TEST_SECRETS, {
          accountId: ACCOUNT,
          subject: 'cus_1',
          email: 'a@b.example',
        }),
      ),
  ],
]
for (const [how, secrets, makeAnew] of ANEW)
  for (const moment of ['select ', 'create or replace function', 'set mac = n.mac'])
    test(`while the chain is made anew ${how}, acts are recorded, wait for their place, and stay as they are: ${moment}`, async () => {
      const db = await chained(2)
      await db.transaction((tx) => recordAct(tx, { ...ACT, accountId: ACCOUNT, subject: 'cus_1' }))
      await chainActs(db, TEST_SECRETS, 100)
      let chaining: Promise<unknown> | undefined
      const meanwhile = async () => {
        await db.transaction(async (tx) => {
          await tx.query(`set local lock_timeout = '5s'`)
          await recordAct(tx, { ...ACT, subject: 'key_meanwhile' })
        })
        chaining = chainActs(db, secrets, 100)
        await assert.rejects(
          db.transaction(async (tx) => {
            await tx.query(`set local lock_timeout = '100ms'`)
            await tx.query(`update audit_log set actor_id = 'nobody' where place = 1`)
          }),
          /added to, never changed|lock timeout/,
        )
      }
      await makeAnew(db, (tx) => beside(tx, moment, meanwhile))
      await chaining
      await chainActs(db, secrets, 100)
      const { entries, unchained, broken } = await verifyAuditLog(db, secrets)
      assert.deepEqual([entries, unchained, broken], [4n, 0n, null])
      await assert.rejects(db.query(`update audit_log set actor_id = 'nobody'`), /never changed/)
    })
