/** Millions of payments, written by SQL: what lists and pages are measured on. */
import { insertAccount } from '../src/accounts/accounts.sql.ts'
import type { AccountId } from '../src/core/ids.ts'
import type { Database } from '../src/db/database.ts'
import { rankPayments } from '../src/payments/places/payment-ranks.sql.ts'

/** Of the bench's own PostgreSQL, which may be lost. */
export const BULK_SETTINGS = [
  'fsync=off',
  'max_wal_size=8GB',
  'shared_buffers=1GB',
  'maintenance_work_mem=1GB',
  'work_mem=16MB',
]

/** Six in ten are settled. */
const STATES =
  "array['completed','expired','completed','completed','completed','cancelled','expired','completed','underpaid','completed']"

export const YEAR_S = 365 * 24 * 3_600

/** When the n-th of so many was made, if they were made one after the other in the year that ends now. */
export const overTheYear = (payments: number): string =>
  `now() - make_interval(secs => (${payments} - n) * ${YEAR_S / payments}::float8)`

export interface Bulk {
  readonly payments: number
  /** Every how many is of another merchant. */
  readonly otherEvery: number
  /** When the n-th was made. */
  readonly at: string
  readonly customers: number
  /**
   * One in two hundred, made one behind the other in the midst of all: failed, as no other is where they are sold, and of amounts above
   * all others. A list of them is what stands together far from both ends of another order.
   */
  readonly isUneven?: true
}

/** In the order of time; a third with an email. Counters and ranks are kept as Beck keeps them. */
export async function fillPayments(db: Database, accountId: AccountId, bulk: Bulk): Promise<void> {
  const other = await insertAccount(db, {
    name: 'Other',
    email: 'o@b.example',
    mode: 'test',
    currency: 'USD',
  })
  const { rows: indexes } = await db.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where tablename in ('customers', 'payments') and indexname !~ '_pkey$'`,
  )
  for (const { name } of indexes) await db.query(`drop index ${name}`)
  // A count that is kept row by row takes the longer, the more rows one transaction adds.
  await db.query('alter table customers disable trigger all')
  for (const id of [accountId, other.id])
    await db.query(
      `insert into customers (account_id, id, email)
       select $1::uuid, md5('customer ' || k)::uuid, 'buyer' || k || '@example.com' from generate_series(0, $2::bigint - 1) k`,
      [id, bulk.customers],
    )
  await db.query('alter table customers enable trigger all')
  await db.query(
    `insert into customer_counts (account_id, slot, customers)
     select account_id, 0, count(*) from customers group by account_id`,
  )
  await db.query('alter table payments disable trigger all')
  for (let from = 0; from < bulk.payments; from += 1_000_000) {
    const count = Math.min(1_000_000, bulk.payments - from)
    await db.query(insertOf(bulk), [accountId, other.id, from, from + count - 1, bulk.customers])
  }
  for (const { definition } of indexes) await db.query(definition)
  await db.query('alter table payments enable trigger all')
  await db.query(
    `insert into payment_counts (account_id, asset, status, slot, payments)
     select account_id, asset, status, 0, count(*) from payments group by account_id, asset, status`,
  )
  await db.query('vacuum (analyze) payments')
  await db.query('vacuum (analyze) customers')
  for (const id of [accountId, other.id]) while (await rankPayments(db, id, { countedAtOnce: 500_000 })) {}
}

/** Requests of the last seven days, one in fifty refused, and as many events, of one to twenty days ago: of newer ones Beck looks for the payments. */
export async function fillLogs(db: Database, accountId: AccountId, rows: number): Promise<void> {
  await db.query(
    `insert into api_requests (account_id, id, at, key_id, request_id, method, path, status, duration_ms, address)
     select $1, uuidv7(), now() - make_interval(secs => ($2 - n) * 600000.0 / $2), uuidv7(), 'req_' || n,
       'POST', '/v1/payments', case when n % 50 = 0 then 422 else 201 end, 3, '203.0.113.7'
     from generate_series(1, $2::bigint) n`,
    [accountId, rows],
  )
  await db.query(
    `insert into events (account_id, id, type, cause, body, created_at)
     select $1, uuidv7(t.at - clock_timestamp()), 'payment.created', 'bench:' || n, '{"id":"evt_' || n || '","type":"payment.created","created":"2026-01-01T00:00:00.000Z","data":{"id":"pay_' || n || '"}}',
       t.at
     from generate_series(1, $2::bigint) n,
       lateral (select now() - interval '1 day' - make_interval(secs => ($2 - n) * 1600000.0 / $2) as at) t`,
    [accountId, rows],
  )
}

/**
 * Of each event of {@link fillLogs} a delivery, one in fifty failed and one in a hundred cancelled; as many withdrawals of the last year,
 * one in nineteen failed and one in a hundred a refund, which are in no journal, for lists read none; and as many idempotency keys
 * of the last day.
 */
export async function fillLists(
  db: Database,
  accountId: AccountId,
  endpointId: string,
  rows: number,
): Promise<void> {
  for (const table of ['deliveries', 'withdrawals'])
    await db.query(`alter table ${table} disable trigger all`)
  await db.query(
    `insert into deliveries (account_id, id, event_id, endpoint_id, status, attempts, created_at, finished_at)
     select e.account_id, uuidv7(e.created_at - clock_timestamp()), e.id, $2::uuid,
       case when right(e.cause, 2) = '77' then 'cancelled' when right(e.cause, 2) in ('00', '50') then 'failed' else 'delivered' end,
       1, e.created_at, e.created_at
     from events e where e.account_id = $1 and e.cause like 'bench:%'`,
    [accountId, endpointId],
  )
  await db.query(
    `insert into withdrawals (account_id, id, kind, payment_id, status, chain, asset, amount_atoms, fee_atoms, network_fee_atoms, net_atoms,
       destination, asked_by, mac, tx_hash, created_at, broadcast_at, completed_at, failed_at)
     select $1, uuidv7(t.at - clock_timestamp()), case when t.refunds then 'refund' else 'payout' end,
       case when t.refunds then md5('refunded ' || n)::uuid end, case when t.fails then 'failed' else 'completed' end, 'sim-litecoin',
       (array['BTC','LTC','ETH','USDC','USDT'])[1 + (n * 104729 % 5)], 1000, 10, 10, 980, 'tltc1q' || n % 1000, 'key', sha256('bench'),
       md5(n::text), t.at, t.at, case when not t.fails then t.at end, case when t.fails then t.at end
     from generate_series(1, $2::bigint) n,
       lateral (select now() - make_interval(secs => ($2 - n) * 31536000.0 / $2) as at, n % 19 = 0 as fails, n % 100 = 77 as refunds) t`,
    [accountId, rows],
  )
  for (const table of ['deliveries', 'withdrawals']) await db.query(`alter table ${table} enable trigger all`)
  await db.query(
    `insert into idempotency_keys (account_id, key, request_hash, response_status, response_body, created_at)
     select $1, gen_random_uuid(), sha256('bench'), 201, decode(repeat(md5(n::text), 20), 'hex'),
       now() - make_interval(secs => ($2 - n) * 80000.0 / $2)
     from generate_series(1, $2::bigint) n`,
    [accountId, rows],
  )
}

const insertOf = ({ payments, otherEvery, at, isUneven }: Bulk): string => `
  insert into payments (account_id, id, status, chain, asset, fiat_currency, fiat_minor, fee_minor, net_minor,
    quoted_fee_minor, rate_numerator, rate_denominator, rate_source, rate_at, settlement_numerator,
    settlement_denominator, settlement_currency, due_atoms, address, required_confirmations, fee_bps, terms_mac, customer_id, customer_email, reference,
    created_at, expires_at, completed_at, credited_atoms, gateway_fee_atoms, spent_minor)
  select case when n % ${otherEvery} = 0 then $2::uuid else $1::uuid end, uuidv7(t.at - clock_timestamp()), t.status,
    'sim-litecoin', (array['BTC','LTC','ETH','USDC','USDT'])[1 + (n * 104729 % 5)], 'USD',
    t.net + 10, 10, t.net, 10, 65000, 1, 'sandbox', t.at, 1, 1, 'USD', 1000,
    'tltc1q' || n, 6, 100, sha256('bench'), case when n % 3 = 0 then md5('customer ' || t.k)::uuid end,
    case when n % 3 = 0 then 'buyer' || t.k || '@example.com' end, 'order-' || n,
    t.at, t.at + interval '30 minutes',
    case when t.status = 'completed' then t.at + interval '10 minutes' end,
    case when t.status = 'completed' then 990 end, case when t.status = 'completed' then 10 end,
    case when t.status = 'completed' then t.net end
  from generate_series($3::bigint, $4::bigint) n,
    lateral (select ${isUneven ? `n >= ${Math.floor(0.45 * payments)} and n < ${Math.floor(0.455 * payments)}` : 'false'} as is_odd) odd,
    lateral (select ${at} as at, n * 7919 % $5::bigint as k,
      990 + n * 7907 % 100000 + case when is_odd then 5000000 else 0 end as net,
      case when is_odd then 'failed' else (${STATES})[1 + (n * 7919 % 10)] end as status) t`
