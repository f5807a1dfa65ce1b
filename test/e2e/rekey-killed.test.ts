/**
 * `beck rekey` is killed after every page that it writes, while Beck goes on making payments, webhook secrets and kept answers, with the
 * new key and from a process that nobody restarted with the old one. Run to its end, nothing is left under the old key.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { hostname, tmpdir } from 'node:os'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Account } from '../../src/accounts/account.ts'
import { verifyAuditLog } from '../../src/audit/audit-log.sql.ts'
import type { PaymentId, WebhookEndpointId } from '../../src/core/ids.ts'
import { keyIdOf, openSecrets, type Secrets } from '../../src/core/secrets.ts'
import type { Database } from '../../src/db/database.ts'
import { startBeating } from '../../src/db/running-roles.ts'
import { createWebhookEndpoint, openWebhookSecret } from '../../src/events/webhook-endpoints.sql.ts'
import type { Gateway } from '../../src/flows/gateway.ts'
import { COLUMNS, readColumn } from '../../src/flows/operation/rekey.sql.ts'
import { readPayment } from '../../src/flows/payments/read-payment.ts'
import { openAddressPool } from '../../src/wallets/address-pool.sql.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testAccount, testGateway, testPayment } from '../gateway.ts'
import { TEST_SECRET_KEY, TEST_SECRETS } from '../wallet.ts'

const NEW_KEY = Buffer.alloc(32, 9)
const next = openSecrets(NEW_KEY)
const OLD = openSecrets(TEST_SECRET_KEY, NEW_KEY)
const NEW = openSecrets(NEW_KEY, TEST_SECRET_KEY)
const QUIET = { info: () => {}, warn: () => {} }
/** More than two pages of them. */
const MANY = Array.from({ length: 2_300 }, (_, index) => `order-${index}`)
/** Far more than there are pages. */
const KILLS_MAX = 60

test('killed after any page under traffic, and nothing is left under the old key', {
  timeout: 540_000,
}, async () => {
  const gateway = await testGateway({ freshPerChain: 600 })
  const { db } = gateway
  const account = await testAccount(gateway)
  await keepAnswers(db, TEST_SECRETS, account, MANY)
  const restarted = startTraffic(gateway, account, NEW)
  const forgotten = startTraffic(gateway, account, OLD)
  let kills = 0
  for (; kills < 4; kills++) assert.ok(await wasKilled(db.url), 'there are pages to be killed at')
  await forgotten.stop()
  while (kills < KILLS_MAX && (await wasKilled(db.url))) kills += 1
  assert.ok(kills >= 8 && kills < KILLS_MAX, `killed ${kills} times`)
  const { answer, code } = await rekeyWith(db.url)
  assert.deepEqual([code, answer.done, answer.tampered, answer.stillOld], [0, true, [], []])
  await restarted.stop()

  for (const column of COLUMNS)
    for await (const page of readColumn(db, column))
      for (const row of page) assert.ok(column.isOf(next, row, row.value), `${column.table}.${column.column}`)
  const { broken } = await verifyAuditLog(db, next)
  assert.equal(broken, null)
  assert.ok(restarted.payments.length > 0 && forgotten.payments.length > 0)
  for (const id of [...restarted.payments, ...forgotten.payments])
    await readPayment({ ...gateway, secrets: next }, db, account.id, id)
  for (const [id, secret] of [...restarted.webhooks, ...forgotten.webhooks]) {
    const { rows } = await db.query<{ sealed: Buffer }>(
      'select secret_sealed as sealed from webhook_endpoints where id = $1',
      [id],
    )
    const opened = openWebhookSecret(next, id, rows[0]?.sealed ?? Buffer.alloc(0))
    assert.equal(`whsec_${opened.toString('base64')}`, secret)
  }
})

test('while a process writes with the old key, the answer does not say that it may go', async () => {
  const gateway = await testGateway({ freshPerChain: 600 })
  const account = await testAccount(gateway)
  await keepAnswers(gateway.db, TEST_SECRETS, account, MANY)
  const forgotten = startTraffic(gateway, account, OLD, 1)
  const { answer, code, text } = await rekeyWith(gateway.db.url)
  assert.deepEqual([code, answer.done], [1, false])
  assert.ok((answer.stillOld as string[]).length > 0, text)
  await forgotten.stop()
  assert.equal((await rekeyWith(gateway.db.url)).code, 0)
})

/** What a process of Beck with these keys writes: payments and webhook secrets for a while, and answers to the end. */
function startTraffic(gateway: Gateway, account: Account, secrets: Secrets, everyMs = 40) {
  const its = { ...gateway, secrets, addresses: openAddressPool(secrets) }
  const payments: PaymentId[] = []
  const webhooks = new Map<WebhookEndpointId, string>()
  let isStopped = false
  const run = async () => {
    for (let count = 0; !isStopped; count++) {
      await keepAnswers(gateway.db, secrets, account, [randomUUID()])
      if (count < 60) payments.push((await testPayment(its, account)).id)
      if (count < 20) {
        const { endpoint, secret } = await makeWebhook(its, account, `https://shop.example/${count}`)
        webhooks.set(endpoint.id, secret)
      }
      await wait(everyMs)
    }
  }
  const ended = run()
  return {
    payments,
    webhooks,
    async stop() {
      isStopped = true
      await ended
    },
  }
}

const makeWebhook = ({ db, secrets }: Gateway, { id }: Account, url: string) =>
  db.transaction((tx) =>
    createWebhookEndpoint(tx, secrets, { accountId: id, url, events: ['payment.created'] }),
  )

async function keepAnswers(
  db: Database,
  secrets: Secrets,
  { id }: Account,
  keys: readonly string[],
): Promise<void> {
  await db.query(
    `insert into idempotency_keys (account_id, key, request_hash, response_status, response_body)
     select $1, key, sha256('x'), 201, body from unnest($2::text[], $3::bytea[]) as n (key, body)`,
    [id, keys, keys.map((key) => secrets.seal('idempotency', `${id}:${key}`, Buffer.from('{}')))],
  )
}

const ENVIRONMENT = {
  BECK_SECRET_KEY: NEW_KEY.toString('hex'),
  BECK_SECRET_KEY_ALSO: Buffer.from(TEST_SECRET_KEY).toString('hex'),
}

/** Whether it met a page to be killed after; else it ended by itself. */
async function wasKilled(url: string): Promise<boolean> {
  const command = startBeckProcess(['rekey'], {
    ...ENVIRONMENT,
    DATABASE_URL: url,
    BECK_CRASH_AT: 'rekey:page',
  })
  const code = await command.ended
  if (command.child.signalCode === 'SIGKILL') return true
  assert.equal(code, 0, command.log())
  return false
}

async function rekeyWith(url: string) {
  const command = startBeckProcess(['rekey'], { ...ENVIRONMENT, DATABASE_URL: url })
  const answer = await command.hears(() => true)
  return { answer, code: await command.ended, text: JSON.stringify(answer) }
}

test('a process that runs with the old key is named, though it wrote nothing, until it is gone', async () => {
  const { db } = await testGateway()
  const heart = (key: Uint8Array) =>
    startBeating({ db, roles: ['worker'], dataDir: tmpdir(), keyId: keyIdOf(key), log: QUIET })
  const [old, restarted] = [await heart(TEST_SECRET_KEY), await heart(NEW_KEY)]
  const { answer, code } = await rekeyWith(db.url)
  assert.deepEqual([code, answer.done, answer.stillOld], [1, false, []])
  assert.deepEqual(answer.notRestarted, [`worker on ${hostname()}`])
  await old.stop()
  assert.equal((await rekeyWith(db.url)).code, 0)
  await restarted.stop()
})

test('a row that neither key made is named, and does not keep the old key accepted: the rotation ends', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const account = await testAccount(gateway)
  const payment = await testPayment(gateway, account)
  await db.query('update payments set due_atoms = tolerated_atoms + 1')
  const { answer, code, text } = await rekeyWith(db.url)
  assert.deepEqual(
    [code, answer.done, answer.tampered],
    [1, true, [`payments.terms_mac of ${account.id},${payment.id}`]],
    text,
  )
  const { rows } = await db.query<{ key_id: string }>('select key_id from secret_keys')
  assert.deepEqual(
    rows,
    [{ key_id: keyIdOf(NEW_KEY) }],
    'a start with the old key alone is refused from now on',
  )
  await assert.rejects(
    readPayment({ ...gateway, secrets: next }, db, account.id, payment.id),
    /tampered/,
    'no more than before',
  )
})
