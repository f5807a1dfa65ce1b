/**
 * POST /payments over HTTP (a key, validation, the flow, serialisation; a load generator in a process of its own)
 * against the statements that it sends to PostgreSQL, replayed on the same pool with the same concurrency.
 *
 *   node bench/create-payment.ts [payments per round] [--fast-disk]
 *
 * With `--fast-disk` PostgreSQL does not wait for the disk, which is the harder comparison. What was created is checked
 * before anything is printed. Bar: design, section 11.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Account } from '../src/accounts/account.ts'
import { createApiKey } from '../src/accounts/api-keys.sql.ts'
import { type AccountId, newId, type PaymentId, showId } from '../src/core/ids.ts'
import { openDatabase, type Tx } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import type { Gateway } from '../src/flows/gateway.ts'
import { createPayment } from '../src/flows/payments/create-payment.ts'
import { startServer } from '../src/http/server.ts'
import { testAccount } from '../test/gateway.ts'
import { gatewayOn } from '../test/gateway-on.ts'
import { fillTestWallets } from '../test/wallet.ts'

const RATIO_MIN = 0.4
const ROUNDS = 3
const CONCURRENCY = 10
const perRound = Number(process.argv.slice(2).find((argument) => /^\d+$/.test(argument)) ?? 2_000)
const fastDisk = process.argv.includes('--fast-disk')
const BODY = JSON.stringify({ asset: 'LTC', fiat_amount: 49.99, reference: 'order-1001' })

const folder = await mkdtemp(join(tmpdir(), 'beck-bench-'))
const settings = fastDisk ? ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'] : []
const cluster = await startCluster({ dataDir: folder, settings })
try {
  const db = openDatabase({ url: cluster.url('postgres'), connectionsMax: CONCURRENCY })
  await migrate(db)
  const { secrets } = await fillTestWallets(db, {
    freshPerChain: 2 * (ROUNDS + 1) * perRound + 10,
    chains: ['sim-litecoin'],
  })
  const gateway = gatewayOn(db, secrets)
  const account = await testAccount(gateway)
  const { key } = await createApiKey(db, {
    accountId: account.id,
    mode: account.mode,
    name: 'bench',
    scopes: ['payments:write'],
  })
  const server = await startServer(gateway, {
    port: 0,
    host: '127.0.0.1',
    rateLimit: { perSecond: 1e6, burst: 1e6 },
  })
  const replay = await recordStatements(gateway, account)
  const overHttp: number[] = []
  const direct: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const [http, sql] = [await loadHttp(server.port, key), await loadSql(gateway, replay)]
    // The first round warms both up.
    if (round > 0) {
      overHttp.push(http)
      direct.push(sql)
    }
  }
  await check(gateway, account.id, 1 + 2 * (ROUNDS + 1) * perRound)
  const ratio = best(overHttp) / best(direct)
  const good = ratio >= RATIO_MIN
  process.stdout.write(
    `POST /payments ${best(overHttp).toFixed(0)}/s, the same SQL ${best(direct).toFixed(0)}/s${fastDisk ? ', disk not waited for' : ''}\n` +
      `ratio ${ratio.toFixed(2)} (bar: at least ${RATIO_MIN}): ${good ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = good ? 0 : 1
  await server.close()
  await db.close()
} finally {
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

function best(perSecond: readonly number[]): number {
  return Math.max(...perSecond)
}

/** Payments a second over HTTP; every answer must be 201. */
async function loadHttp(port: number, key: string): Promise<number> {
  const autocannon = createRequire(import.meta.url).resolve('autocannon')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      autocannon,
      '--json',
      '--connections',
      String(CONCURRENCY),
      '--amount',
      String(perRound),
      '--method',
      'POST',
      '--headers',
      `x-api-key=${key}`,
      '--headers',
      'content-type=application/json',
      '--body',
      BODY,
      `http://127.0.0.1:${port}/v1/payments`,
    ],
    { maxBuffer: 10_000_000 },
  )
  const result = JSON.parse(stdout) as {
    '2xx': number
    non2xx: number
    duration: number
    start: string
    finish: string
  }
  assert.deepEqual([result['2xx'], result.non2xx], [perRound, 0])
  return (perRound * 1_000) / (Date.parse(result.finish) - Date.parse(result.start))
}

type Statement = { text: string; values: readonly unknown[] }

/** One payment's statements, and how to write them again for another payment. */
async function recordStatements(gateway: Gateway, account: Account): Promise<() => Statement[]> {
  const statements: Statement[] = []
  const payment = await gateway.db.transaction((tx) => {
    const recording: Tx = {
      inTransaction: true,
      query: (text, values = []) => {
        statements.push({ text, values })
        return tx.query(text, values)
      },
    }
    return createPayment(gateway, recording, account, {
      asset: 'LTC',
      fiatMinor: 4_999n,
      fiatCurrency: 'USD',
      reference: 'order-1001',
      customerEmail: null,
      metadata: null,
    })
  })
  const event = statements.find(({ text }) => text.includes('insert into events'))?.values[1]
  assert.ok(typeof event === 'string')
  return () => {
    const [paymentId, eventId] = [newId('pay'), newId('evt')]
    const renamed = (value: unknown) =>
      typeof value === 'string' ? value.replaceAll(payment.id, paymentId).replaceAll(event, eventId) : value
    return statements.map(({ text, values }) => ({ text, values: values.map(renamed) }))
  }
}

/** Payments a second by their SQL alone. */
async function loadSql(gateway: Gateway, replay: () => Statement[]): Promise<number> {
  let left = perRound
  const begun = performance.now()
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      while (left-- > 0) {
        const statements = replay()
        await gateway.db.transaction(async (tx) => {
          for (const { text, values } of statements) await tx.query(text, values)
        })
      }
    }),
  )
  return (perRound * 1_000) / (performance.now() - begun)
}

/** Both sides wrote the same number of payments, addresses and events, and every payment over HTTP has its own address. */
async function check(gateway: Gateway, accountId: AccountId, expected: number): Promise<void> {
  const { rows } = await gateway.db.query<{ payments: bigint; events: bigint; issued: bigint; own: bigint }>(
    `select (select count(*) from payments where account_id = $1) as payments,
       (select count(*) from events where account_id = $1) as events,
       (select count(*) from addresses where account_id = $1 and issued_at is not null) as issued,
       (select count(distinct p.id) from payments p join addresses a on a.payment_id = p.id and a.address = p.address
        where p.account_id = $1) as own`,
    [accountId],
  )
  const row = rows[0]
  assert.deepEqual(
    [row?.payments, row?.events, row?.issued],
    [BigInt(expected), BigInt(expected), BigInt(expected)],
  )
  assert.ok((row?.own ?? 0n) >= BigInt((ROUNDS + 1) * perRound))
  // Replayed events keep the first one's body, so exactly those made through the flow name their payment.
  const { rows: events } = await gateway.db.query<{ body: string; id: PaymentId }>(
    `select e.body, p.id from payments p join events e on e.account_id = p.account_id
       and e.cause = 'payment:' || p.id || ':created' where p.account_id = $1`,
    [accountId],
  )
  const told = events.filter(({ body, id }) => JSON.parse(body).data.id === showId('pay', id))
  assert.equal(told.length, 1 + (ROUNDS + 1) * perRound)
}
