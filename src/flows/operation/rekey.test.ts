/** The secret key is changed while payments are made: everything opens under the new key alone, and nothing is lost. */
import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { call, testApp, testMerchant } from '../../../test/api.ts'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { tellStory } from '../../../test/story.ts'
import { TEST_SECRET_KEY, TEST_SECRETS } from '../../../test/wallet.ts'
import { chainActs, recordAct, verifyAuditLog } from '../../audit/audit-log.sql.ts'
import { keyIdOf, openSecrets } from '../../core/secrets.ts'
import type { Database } from '../../db/database.ts'
import { startBeating } from '../../db/running-roles.ts'
import { createWebhookEndpoint, openWebhookSecret } from '../../events/webhook-endpoints.sql.ts'
import { openAddressPool } from '../../wallets/address-pool.sql.ts'
import { currentWallets } from '../../wallets/wallets.sql.ts'
import { readPayment } from '../payments/read-payment.ts'
import { COLUMNS, readColumn } from './rekey.sql.ts'
import { type Rekeyed, rekey } from './rekey.ts'

const NEW_KEY = Buffer.alloc(32, 9)
const next = openSecrets(NEW_KEY)
const both = openSecrets(NEW_KEY, TEST_SECRET_KEY)
const KEYS = { next, nextId: keyIdOf(NEW_KEY), both }
/** A process that was told of the key to come and still writes with the old one. */
const early = openSecrets(TEST_SECRET_KEY, NEW_KEY)

const ACT = {
  accountId: null,
  actor: { kind: 'cli', id: 'root', name: null },
  address: null,
  action: 'key.revoke',
  subject: null,
  before: null,
  after: { a: 1 },
} as const

test('every sealed and authenticated column of the schema is made anew', async () => {
  const { db } = await testGateway()
  const { rows } = await db.query<{ name: string }>(
    `select table_name || '.' || column_name as name from information_schema.columns
     where table_schema = 'public' and data_type = 'bytea'
       and (column_name ~ '(^|_)mac$' or column_name ~ 'sealed' or column_name = 'response_body')`,
  )
  const known = COLUMNS.map(({ table, column }) => `${table}.${column}`)
  assert.deepEqual(rows.map(({ name }) => name).sort(), [...known, 'audit_log.mac'].sort())
})

test('what the old key made is accepted with both, made anew, and then the new key is enough', async () => {
  const story = await tellStory()
  const { gateway, account } = story
  const { db } = gateway
  const before = await testPayment(gateway, account)
  await story.payAndConfirm(before, 100_000_000n)
  const made = await db.transaction((tx) =>
    createWebhookEndpoint(tx, gateway.secrets, {
      accountId: account.id,
      url: 'https://shop.example/hook',
      events: ['payment.created'],
    }),
  )
  for (let count = 0; count < 3; count++) await db.transaction((tx) => recordAct(tx, ACT))
  await chainActs(db, gateway.secrets, 2)
  const changing = { ...gateway, secrets: both, addresses: openAddressPool(both) }
  const during = await testPayment(changing, account)
  await readPayment({ ...gateway, secrets: early }, db, account.id, during.id)
  await assert.rejects(readPayment({ ...gateway, secrets: next }, db, account.id, before.id), /tampered/)

  const first = await rekey(db, KEYS)
  assert.deepEqual(first.tampered, [])
  assert.ok(first.columns.some(({ renewed }) => renewed > 0))
  const again = await rekey(db, KEYS)
  assert.ok(
    again.columns.every(({ renewed }) => renewed === 0),
    'a second run finds nothing to do',
  )

  for (const { id } of [before, during]) await readPayment({ ...gateway, secrets: next }, db, account.id, id)
  assert.equal((await currentWallets(db, next)).length, (await currentWallets(db, both)).length)
  const { rows } = await db.query<{ sealed: Buffer }>('select secret_sealed as sealed from webhook_endpoints')
  const secret = openWebhookSecret(next, made.endpoint.id, rows[0]?.sealed ?? Buffer.alloc(0))
  assert.equal(`whsec_${secret.toString('base64')}`, made.secret)
  await chainActs(db, next, 10)
  const proof = await verifyAuditLog(db, next)
  assert.deepEqual([proof.broken, proof.entries, proof.unchained], [null, 3n, 0n])
  const after = { ...gateway, secrets: next, addresses: openAddressPool(next) }
  await testPayment(after, account)
})

test('cut off after any page, it goes on where it was', async () => {
  const gateway = await testGateway({ freshPerChain: 40 })
  const { db } = gateway
  await testPayment(gateway, await testAccount(gateway))
  for (let columns = 0; columns <= COLUMNS.length; columns++) await rekey(db, KEYS, COLUMNS.slice(0, columns))
  for (const column of COLUMNS)
    for await (const page of readColumn(db, column))
      for (const row of page) assert.ok(column.isOf(next, row, row.value), column.table)
})

/** The database with something that happens once, when the last of the columns is read: behind every page. */
const meanwhile = (db: Database, happens: () => Promise<void>): Database => {
  let isOver = false
  return {
    ...db,
    async query(statement, values) {
      if (!isOver && String(statement).includes('from sandbox_seed')) {
        isOver = true
        await happens()
      }
      return db.query(statement, values)
    },
  }
}

const keepAnswer = (db: Database, accountId: string) =>
  db.query(
    `insert into idempotency_keys (account_id, key, request_hash, response_status, response_body)
     values ($1, 'late', sha256('x'), 201, $2)`,
    [accountId, TEST_SECRETS.seal('idempotency', `${accountId}:late`, Buffer.from('{}'))],
  )

const answersOf = ({ columns }: Rekeyed) => {
  const answers = columns.find(({ name }) => name === 'idempotency_keys.response_body')
  return [answers?.rows, answers?.renewed]
}

test('what is written with the old key behind the page in hand is found by another look', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const { id } = await testAccount(gateway)
  const rekeyed = await rekey(
    meanwhile(db, async () => void (await keepAnswer(db, id))),
    KEYS,
  )
  assert.deepEqual(rekeyed.stillOld, [])
  assert.deepEqual(answersOf(rekeyed), [1, 1])
})

test('what a process wrote behind the last page before it was restarted is found, though it is gone by then', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const { id } = await testAccount(gateway)
  await rekey(db, KEYS)
  const writes = async () => {
    const heart = await startBeating({
      db,
      roles: ['worker'],
      dataDir: tmpdir(),
      keyId: keyIdOf(TEST_SECRET_KEY),
      log: gateway.log,
    })
    await keepAnswer(db, id)
    await heart.stop()
  }
  const rekeyed = await rekey(meanwhile(db, writes), KEYS)
  assert.deepEqual([rekeyed.stillOld, rekeyed.notRestarted], [[], []])
  assert.deepEqual(answersOf(rekeyed), [1, 1])
})

test('a process that does not say with which key it runs may run with the old one', async () => {
  const { db } = await testGateway()
  await db.query(
    `insert into running_roles (instance, role, host, version, loop_lag_ms) values (gen_random_uuid(), 'worker', 'alpha', '0.0.1', 0)`,
  )
  const { stillOld, notRestarted } = await rekey(db, KEYS)
  assert.deepEqual([stillOld, notRestarted], [[], ['worker on alpha']])
})

test('a row that neither key made is named, and not made good', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const account = await testAccount(gateway)
  const payment = await testPayment(gateway, account)
  await db.query('update payments set due_atoms = tolerated_atoms + 1')
  const { tampered } = await rekey(db, KEYS)
  assert.deepEqual(tampered, [`payments.terms_mac of ${account.id},${payment.id}`])
  await assert.rejects(readPayment({ ...gateway, secrets: both }, db, account.id, payment.id), /tampered/)
})

test('no payment is refused while addresses that a process has set aside get other MACs', async () => {
  const gateway = await testGateway({ freshPerChain: 80 })
  const { account, key } = await testMerchant(gateway.db)
  const changing = { ...gateway, secrets: both, addresses: openAddressPool(both) }
  const app = await testApp(changing)
  const pay = async () => {
    const answer = await call(app, key, 'POST', '/v1/payments', { body: { asset: 'LTC', fiat_amount: 20 } })
    assert.equal(answer.status, 201, answer.text)
  }
  const only = (table: string) => COLUMNS.filter((column) => column.table === table)
  await rekey(gateway.db, KEYS, only('wallets'))
  // A busy process sets many aside.
  for (let count = 0; count < 16; count++) await pay()
  await rekey(gateway.db, KEYS, only('addresses'))
  for (let count = 0; count < 16; count++) await pay()
  const { rows } = await gateway.db.query('select from payments where account_id = $1', [account.id])
  assert.equal(rows.length, 32)
})
