/**
 * A new database, a restored one and an upgraded one have no statistics until PostgreSQL has been through them, which under
 * load takes minutes. What runs all the time finds its rows by an index all the same.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import { claimDeliveries, recordAttempts, returnDeliveries } from '../events/deliveries.sql.ts'
import { createWebhookEndpoint } from '../events/webhook-endpoints.sql.ts'
import { AGES } from '../flows/operation/ages.ts'
import { readBacklog } from '../flows/operation/health.sql.ts'
import { markWindowsOver } from '../flows/payments/windows-over.sql.ts'
import { claimDecisions } from '../payments/payments.sql.ts'
import { findAccountToRank } from '../payments/places/payment-ranks.sql.ts'
import { openAddressReserves } from '../wallets/address-reserves.sql.ts'
import type { Queryable, Tx } from './database.ts'

const ROWS = 20_000
const LARGE = ['payments', 'addresses', 'events', 'deliveries', 'idempotency_keys'] as const

const gateway = await testGateway()
const { db } = gateway
const account = await testAccount(gateway)

/** Asks for the plan in place of the answer. */
function planning(plans: Map<string, string>): Queryable & Tx {
  return {
    inTransaction: true,
    async query<Row>(text: string, values: readonly unknown[] = []) {
      if (text.startsWith('savepoint')) return { rows: [], rowCount: 0 }
      const { rows } = await db.query<{ 'QUERY PLAN': string }>(`explain (costs off) ${text}`, values)
      plans.set(text, rows.map((row) => row['QUERY PLAN']).join('\n'))
      return { rows: [] as Row[], rowCount: 0 }
    },
  }
}

test('before PostgreSQL has counted, no worker walks through a whole table, nor does who sets addresses aside', async () => {
  const endpoint = {
    accountId: account.id,
    url: 'https://merchant.example/hook',
    events: ['payment.created'],
  } as const
  await db.transaction((tx) => createWebhookEndpoint(tx, gateway.secrets, endpoint))
  await testPayment(gateway, account)
  for (const table of LARGE) {
    await db.query(`alter table ${table} set (autovacuum_enabled = off)`)
    await multiply(table)
  }
  const plans = new Map<string, string>()
  const tx = planning(plans)
  await claimDecisions(tx, 100)
  await markWindowsOver(tx, 100)
  await readBacklog(tx).catch(() => {})
  await claimDeliveries(tx, {
    limit: 100,
    perEndpointMax: 20,
    perFailingEndpointMax: 1,
    perAccountMax: 50,
    inFlight: new Map(),
    inFlightOfAccounts: new Map(),
  })
  await recordAttempts(tx, [])
  await returnDeliveries(tx, [])
  const { inTransaction: _, ...outside } = tx
  await openAddressReserves().take(outside, 'sim-litecoin')
  await findAccountToRank(tx)
  for (const age of AGES) await (age.set ? age.remove(tx, 30, 500) : age.remove(tx, 500))
  assert.ok(plans.size > 8, `${plans.size} statements`)
  const byQueue = [...plans].filter(([text]) => /where decision_due and|"decisionsDue"/.test(text))
  assert.equal(byQueue.length, 2)
  for (const [, plan] of byQueue) assert.match(plan, /Scan (using|on) payments_decision_due/)
  // A delivery that is claimed, given back, or whose attempt is written down, is found by its key, not among all that are due.
  const locking = [...plans].filter(
    ([text]) => /for update( of d skip locked)?\n/.test(text) && text.includes('deliveries'),
  )
  assert.equal(locking.length, 3)
  for (const [, plan] of locking) {
    assert.match(
      plan,
      /Index Scan using deliveries_pkey on deliveries d.*\n.*Index Cond.*\n.*Filter: .*leased_until/,
    )
  }
  const walked = [...plans].filter(([, plan]) => LARGE.some((table) => walks(plan, table)))
  assert.deepEqual(
    walked.map(([text, plan]) => `${text}\n${plan}`),
    [],
  )
})

// What a foreign key looks up is planned once a connection, and kept until the table is counted: by an index of the account and
// something else, each deposit walks through all payments of its account.
test('before PostgreSQL has counted, every row is found by its key, and no other row is looked at', async () => {
  const empty = await testDatabase({ prepares: false })
  const keys = await listKeys(empty)
  assert.ok(keys.length > 60, `${keys.length} keys`)
  const byIndex = new Map(keys.map((key) => [key.index, key]))
  const lost: string[] = []
  for (const { table, columns, types } of keys) {
    const where = columns.map((column, place) => `${column} = $${place + 1}::${types[place]}`).join(' and ')
    const { rows } = await empty.query<{ 'QUERY PLAN': string }>(
      `explain (generic_plan, costs off) select from only ${table} where ${where} for key share`,
    )
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    const used = byIndex.get(/(?:Index Scan using|Bitmap Index Scan on) (\w+)/.exec(plan)?.[1] ?? '')
    if (!used || !tellsApart(used, columns)) lost.push(plan)
  }
  assert.deepEqual(lost, [])
})

interface Key {
  readonly table: string
  readonly index: string
  /** In the order of the index. */
  readonly columns: readonly string[]
  readonly types: readonly string[]
}

/** By values of a key's columns it goes to one row: all of its own are among them, or it begins with them. */
const tellsApart = (index: Key, columns: readonly string[]): boolean =>
  index.columns.every((column) => columns.includes(column)) ||
  columns.every((column) => index.columns.slice(0, columns.length).includes(column))

/** Every index that tells all rows of its table apart by plain columns. */
async function listKeys(of: Queryable): Promise<Key[]> {
  const { rows } = await of.query<Key>(
    `select p.indrelid::regclass::text as "table", i.relname as "index", x.columns, x.types
     from pg_index p
     join pg_class i on i.oid = p.indexrelid
     cross join lateral (
       select array_agg(a.attname::text order by k.place) as columns,
         array_agg(format_type(a.atttypid, null) order by k.place) as types
       from unnest(p.indkey[0:p.indnkeyatts - 1]) with ordinality as k (number, place)
       join pg_attribute a on a.attrelid = p.indrelid and a.attnum = k.number
     ) x
     where i.relnamespace = 'public'::regnamespace and p.indisunique and p.indpred is null and p.indexprs is null
     order by 1, 2`,
  )
  return rows
}

const walks = (plan: string, table: string): boolean => new RegExp(`Seq Scan on ${table}\\b`).test(plan)

/** What makes a row another one; of a table without rows, what one has at least. */
const OTHERS: Record<(typeof LARGE)[number], string> = {
  payments: `'id', gen_random_uuid()`,
  addresses: `'lookup', '\\x' || md5(n::text), 'position', 1000000 + n`,
  events: `'id', gen_random_uuid(), 'cause', 'payment:' || gen_random_uuid()`,
  deliveries: `'id', gen_random_uuid(), 'event_id', gen_random_uuid()`,
  idempotency_keys: `'account_id', gen_random_uuid(), 'key', n, 'request_hash', '\\x' || md5('a') || md5('b'),
    'is_final', true, 'created_at', now()`,
}

/** Rows like its first; of what they name, nothing needs to be there. */
const multiply = (table: (typeof LARGE)[number]): Promise<unknown> =>
  db.transaction(async (tx) => {
    await tx.query('set local session_replication_role = replica')
    await tx.query(
      `insert into ${table} select made.* from (select (select t from ${table} t limit 1) as first) one,
         generate_series(1, ${ROWS}) n, jsonb_populate_record(first, jsonb_build_object('n', n, ${OTHERS[table]})) made`,
    )
  })
