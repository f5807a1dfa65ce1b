/**
 * The least SQL that could make a payment: a key looked up, an idempotency row, a payment with four indexes, a customer and
 * metadata, an outbox row, in one transaction, written without Beck's statements or its schema.
 */
import { randomInt } from 'node:crypto'
import pg from 'pg'
import type { Cluster } from '../../src/db/embedded/embedded.ts'

/** So much of its rate Beck makes at the least. */
export const LEAST_SQL_RATIO_MIN = 0.35

const SCHEMA = `
  create table api_keys (hash bytea primary key, merchant_id int, scopes text[]);
  insert into api_keys select sha256(g::text::bytea), g, '{payments:write}' from generate_series(1, 1000) g;
  create table idem (merchant_id int, key text, req_hash bytea, primary key (merchant_id, key));
  create table payments (id uuid primary key, merchant_id int not null, status smallint not null, asset smallint not null,
    fiat_amount numeric(14,2) not null, net_fiat numeric(14,2) not null, fiat_currency char(3) not null, reference text,
    customer_id int, address text not null, expected_atoms numeric(38,0) not null, created_at timestamptz not null,
    metadata jsonb);
  create index on payments (merchant_id, created_at desc, id desc);
  create index on payments (merchant_id, status, created_at desc);
  create index on payments (address);
  create table outbox (id bigint generated always as identity primary key, type text, payload jsonb);`

/**
 * Prepared by each connection, as it is longest to plan. With all four prepared a transaction of one piece takes two thirds of what
 * `pgbench -M prepared` takes for the same six statements one by one, by which the bar is defined; with none of them a tenth more; so, a
 * tenth less.
 */
const PREPARED = `
  prepare insert_payment(bigint, int) as insert into payments values (
    (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7' || substr(md5($1::text), 1, 3)
      || '8' || substr(md5($1::text), 4, 15))::uuid,
    1, 1, 1, 100.00, 99.00, 'USD', 'order-x', $2, 'bc1q' || md5($1::text) || md5(clock_timestamp()::text), 123456, now(),
    '{"a":1}')`

const MERCHANTS = 1_000
const RANDOM_MAX = 1_000_000_000_000

export interface LeastSql {
  /** @returns Transactions a second. */
  load(seconds: number): Promise<number>
  close(): Promise<void>
}

/** In a database of its own. */
export async function openLeastSql(cluster: Pick<Cluster, 'url'>, connections: number): Promise<LeastSql> {
  const admin = new pg.Client({ connectionString: cluster.url('postgres') })
  await admin.connect()
  await admin.query('create database least')
  await admin.end()
  const pool = new pg.Pool({
    connectionString: cluster.url('least'),
    max: connections,
    // A connection stays, and with it what it has prepared.
    idleTimeoutMillis: 0,
  })
  // When its server stops, whatever is left idle breaks.
  pool.on('error', () => {})
  await pool.query(SCHEMA)

  const isPrepared = new WeakSet<pg.PoolClient>()
  async function connect(): Promise<pg.PoolClient> {
    const client = await pool.connect()
    if (!isPrepared.has(client)) await client.query(PREPARED)
    isPrepared.add(client)
    return client
  }
  return {
    async load(seconds) {
      const until = performance.now() + seconds * 1_000
      let done = 0
      await Promise.all(
        Array.from({ length: connections }, async () => {
          const client = await connect()
          while (performance.now() < until) {
            await client.query(transaction())
            done += 1
          }
          client.release()
        }),
      )
      return done / seconds
    },
    close: () => pool.end(),
  }
}

/** Sent as one piece, begin to commit: its client waits once, so that it is PostgreSQL that is measured and not the client. */
function transaction(): string {
  const k = 1 + randomInt(MERCHANTS)
  const r = 1 + randomInt(RANDOM_MAX)
  return `begin;
    select merchant_id, scopes from api_keys where hash = sha256(${k}::text::bytea);
    insert into idem (merchant_id, key, req_hash)
      values (1, to_char(extract(epoch from clock_timestamp()) * 1000, '0000000000000.999') || ${r}, '\\x00') on conflict do nothing;
    execute insert_payment(${r}, ${k});
    insert into outbox (type, payload) values ('payment.created', '{"id":"x"}');
    commit`
}
