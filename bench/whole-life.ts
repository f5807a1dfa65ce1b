/**
 * The whole life of payments in bulk, by a Beck as it comes: created over HTTP, paid in one block, settled, announced to an
 * endpoint that hears of everything. Timed from the block to the last delivered webhook; the watchers are told of the block, as a node
 * tells them.
 *
 *   node bench/whole-life.ts [payments per block, 2000 and 10000 when absent]
 *
 * The limit is what the job needs, written here without Beck's code: the same rows for the same payments in sets, one
 * transaction a block, and the same messages, signed and posted by as many connections. All is checked before anything is
 * printed: every payment completed, the merchant's balance to the atom, every message once and signed.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import pg from 'pg'
import { mine, mint } from '../src/chains/simulated/ledger.ts'
import { lookupOf } from '../src/chains/simulated/network.ts'
import { lockSimulatedChain } from '../src/chains/simulated/store.sql.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { benchFolder } from './folder.ts'
import { type StartedBeck, startBeck } from './started-beck.ts'

const CHAIN = 'sim-litecoin'
const EVENTS = ['payment.created', 'payment.confirming', 'payment.completed']
/** Told after the block. */
const TOLD = 2
const PER_SECOND_MIN = 500
const CONNECTIONS = 16
const POSTS_AT_ONCE = 100
const BLOCKS = process.argv[2] ? [Number(process.argv[2])] : [2_000, 10_000]

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: join(folder, 'pg') })
const receiver = fork(new URL('webhook-delivery/receiver.ts', import.meta.url))
let beck: StartedBeck | null = null
let db: Database | null = null
try {
  await createDatabases('beck', 'least')
  const { port } = await ask<{ port: number }>(receiver, { latencyMs: 0 })
  beck = await startBeck({
    DATABASE_URL: cluster.url('beck'),
    BECK_DATA_DIR: join(folder, 'beck'),
    BECK_CONFIRMATIONS: 'LTC=1',
    BECK_SANDBOX_BLOCK_MS: '0',
    BECK_WEBHOOK_ALLOW_PRIVATE: '1',
  })
  db = openDatabase({ url: cluster.url('beck'), connectionsMax: 2 })
  const url = `http://127.0.0.1:${port}/hook`
  const hook = await post<{ secret: string }>(beck, '/v1/webhooks', { url, events: EVENTS })
  // Warms both up, and shows the block's way once.
  const warm = 200
  await settleBlock(beck, db, warm)
  let all = warm
  const rates: number[] = []
  for (const payments of BLOCKS) {
    const { settled, told: seconds } = await settleBlock(beck, db, payments)
    all += payments
    const leastSeconds = await least(payments, url)
    const perSecond = payments / seconds
    rates.push(perSecond)
    process.stdout.write(
      `${payments} payments of one block: settled after ${settled.toFixed(1)} s, all told after ${seconds.toFixed(1)} s, ${perSecond.toFixed(0)}/s ` +
        `(bar: at least ${PER_SECOND_MIN}/s); the least that could do it ${leastSeconds.toFixed(1)} s, ` +
        `ratio ${(leastSeconds / seconds).toFixed(2)}\n`,
    )
  }
  await check(db, all, await ask<Seen>(receiver, { secretByPath: { '/hook': hook.secret } }))
  const good = rates.every((rate) => rate >= PER_SECOND_MIN)
  const shown = rates.map((rate) => rate.toFixed(0)).join(', ')
  process.stdout.write(
    `blocks of ${BLOCKS.join(', ')} payments: ${shown}/s until all is told (bar: at least ${PER_SECOND_MIN}/s each): ${good ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = good ? 0 : 1
} finally {
  await db?.close()
  await beck?.stop()
  receiver.kill('SIGKILL')
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

async function createDatabases(...names: string[]): Promise<void> {
  const admin = new pg.Client({ connectionString: cluster.url('postgres') })
  await admin.connect()
  for (const name of names) await admin.query(`create database ${name}`)
  await admin.end()
}

/** Seconds from the block's commit until all were settled, and until everybody was told. */
async function settleBlock(
  of: StartedBeck,
  on: Database,
  count: number,
): Promise<{ settled: number; told: number }> {
  const made = await createPayments(of, count)
  await until(on, 'not exists (select from deliveries where status = $$pending$$)')
  const dues = new Map(
    (
      await on.query<{ address: string; due: bigint }>(
        'select address, due_atoms as due from payments where address = any($1)',
        [made],
      )
    ).rows.map(({ address, due }) => [address, due]),
  )
  assert.equal(dues.size, count)
  await on.transaction(async (tx) => {
    const store = await lockSimulatedChain(tx, CHAIN)
    for (const [address, atoms] of dues) {
      const lookup = lookupOf(CHAIN, address)
      assert.ok(lookup)
      await mint(store, { lookup, asset: 'LTC', atoms })
    }
    await mine(store)
  })
  const began = performance.now()
  // An empty block on top, by the API, which wakes the watchers.
  await post(of, '/v1/sandbox/blocks', { network: 'litecoin', count: 1 }, 200)
  const seconds = () => (performance.now() - began) / 1_000
  await until(on, `not exists (select from payments where status in ('pending', 'detected'))`)
  const settled = seconds()
  await until(on, `not exists (select from deliveries where status = 'pending')`)
  return { settled, told: seconds() }
}

async function until(on: Database, condition: string): Promise<void> {
  for (;;) {
    const { rows } = await on.query<{ done: boolean }>(`select ${condition} as done`)
    if (rows[0]?.done) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

async function createPayments(of: StartedBeck, count: number): Promise<string[]> {
  const addresses: string[] = []
  let asked = 0
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (asked < count) {
        asked += 1
        const body = { asset: 'LTC', fiat_amount: 49.99, reference: `order-${asked}` }
        const { deposit } = await post<{ deposit: { address: string } }>(of, '/v1/payments', body)
        addresses.push(deposit.address)
      }
    }),
  )
  return addresses
}

async function post<Data>(of: StartedBeck, path: string, body: object, status = 201): Promise<Data> {
  const answer = await fetch(new URL(path, of.url), {
    method: 'POST',
    headers: { 'x-api-key': of.key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.equal(answer.status, status)
  const { data } = (await answer.json()) as { data: Data }
  return data
}

/** What the job needs: rows in sets, then messages. @returns Seconds. */
async function least(payments: number, url: string): Promise<number> {
  const client = new pg.Client({ connectionString: cluster.url('least') })
  await client.connect()
  await client.query(`
    drop table if exists payments, deposits, entries, transfers, balances, events, deliveries;
    create table payments (id uuid primary key, status text not null, address text not null, due numeric not null, done_at timestamptz);
    create index on payments (address); create index on payments (status);
    create table deposits (id uuid primary key, payment_id uuid not null, tx text not null, atoms numeric not null);
    create index on deposits (payment_id); create unique index on deposits (tx);
    create table entries (id uuid primary key, payment_id uuid not null, kind text not null, unique (payment_id, kind));
    create table transfers (entry_id uuid, line int, debit text, credit text, atoms numeric, primary key (entry_id, line));
    create table balances (kind text primary key, atoms numeric not null);
    insert into balances values ('available', 0), ('unresolved', 0);
    create table events (id uuid primary key, payment_id uuid not null, type text not null, body text not null, unique (payment_id, type));
    create table deliveries (event_id uuid primary key, status text not null);
    create index on deliveries (status) where status = 'pending';`)
  await client.query(
    `insert into payments select gen_random_uuid(), 'pending', md5(g::text), 1000, null from generate_series(1, ${payments}) g`,
  )
  const began = performance.now()
  await client.query(`begin;
    insert into deposits select gen_random_uuid(), id, md5(address), due from payments where status = 'pending';
    insert into entries select gen_random_uuid(), payment_id, kind from deposits, (values ('deposit'), ('settlement')) k (kind);
    insert into transfers select id, 0, 'wallet', 'unresolved', 1000 from entries where kind = 'deposit';
    insert into transfers select id, line, 'unresolved', case line when 0 then 'available' else 'fees' end,
      case line when 0 then 990 else 10 end from entries, generate_series(0, 1) line where kind = 'settlement';
    update balances set atoms = atoms + 990 * ${payments} where kind = 'available';
    update payments set status = 'completed', done_at = now() where status = 'pending';
    insert into events select gen_random_uuid(), id, type, repeat('x', 900) from payments,
      (values ('payment.confirming'), ('payment.completed')) t (type);
    insert into deliveries select id, 'pending' from events;
    commit`)
  const { rows } = await client.query<{ id: string; body: string }>(
    'select e.id, e.body from deliveries d join events e on e.id = d.event_id',
  )
  assert.equal(rows.length, TOLD * payments)
  await postAll(`${url}/least`, rows)
  await client.query("update deliveries set status = 'delivered' where event_id = any($1)", [
    rows.map(({ id }) => id),
  ])
  const seconds = (performance.now() - began) / 1_000
  await client.end()
  return seconds
}

async function postAll(url: string, messages: readonly { id: string; body: string }[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: POSTS_AT_ONCE })
  const key = randomBytes(32)
  let next = 0
  await Promise.all(
    Array.from({ length: POSTS_AT_ONCE }, async () => {
      for (let message = messages[next++]; message; message = messages[next++]) {
        const { id, body } = message
        const signature = createHmac('sha256', key).update(`${id}.0.${body}`).digest('base64')
        await new Promise<void>((resolve, reject) => {
          const headers = {
            'webhook-id': id,
            'webhook-timestamp': '0',
            'webhook-signature': `v1,${signature}`,
          }
          const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
            answer.resume().on('end', resolve)
          })
          sent.on('error', reject).end(body)
        })
      }
    }),
  )
  agent.destroy()
}

interface Seen {
  readonly verified: number
  readonly distinct: number
}

async function check(on: Database, payments: number, seen: Seen): Promise<void> {
  const { rows } = await on.query<
    Record<'completed' | 'deposits' | 'credited' | 'due' | 'net' | 'told', bigint>
  >(
    `select (select count(*) from payments where status = 'completed') as completed,
       (select count(*) from deposits where booked and status = 'confirmed') as deposits,
       (select atoms from balances where kind = 'available' and asset = 'LTC') as credited,
       (select sum(credited_atoms) from payments) as net,
       (select sum(due_atoms - gateway_fee_atoms) from payments) as due,
       (select count(*) from deliveries where status = 'delivered' and attempts = 1) as told`,
  )
  const messages = (1 + TOLD) * payments
  assert.deepEqual([rows[0]?.completed, rows[0]?.deposits, rows[0]?.told].map(Number), [
    payments,
    payments,
    messages,
  ])
  assert.ok(rows[0] && rows[0].credited === rows[0].net && rows[0].net === rows[0].due, 'to the atom')
  assert.deepEqual([seen.verified, seen.distinct], [messages, messages])
}

async function ask<Answer>(to: ChildProcess, message: object): Promise<Answer> {
  to.send(message)
  const [answer] = await once(to, 'message')
  return answer as Answer
}
