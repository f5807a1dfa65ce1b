/**
 * GET /balance of one merchant with ten million ledger transfers, against reading one row by its primary key on the
 * same pool.
 *
 *   node bench/balance.ts [transfers]
 *
 * The answer is checked against the sum of all transfers before anything is timed. Bar: at most twice that read.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import type { Account } from '../src/accounts/account.ts'
import { insertAccount } from '../src/accounts/accounts.sql.ts'
import { newId } from '../src/core/ids.ts'
import { SILENT } from '../src/core/log.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { closeNextDay, recordRates } from '../src/flows/balance/close-day.ts'
import { readBalance } from '../src/flows/balance/read-balance.ts'
import { sandboxRates } from '../src/rates/sandbox.ts'
import { benchFolder } from './folder.ts'
import { median } from './median.ts'

const RATIO_MAX = 2
const TRANSFERS = Number(process.argv[2] ?? 10_000_000)
const ROUNDS = 2_000
const market = sandboxRates()
const rates = { live: market, test: market }

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: folder })
try {
  const db = openDatabase({ url: cluster.url('postgres'), connectionsMax: 4 })
  await migrate(db)
  const account = await fill(db)
  await check(db, account)
  const ratio = await measure(db, account)
  const good = ratio <= RATIO_MAX
  process.stdout.write(`ratio ${ratio.toFixed(2)} (bar: at most ${RATIO_MAX}): ${good ? 'met' : 'MISSED'}\n`)
  process.exitCode = good ? 0 : 1
  await db.close()
} finally {
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

/** Six hundred days of transfers of one merchant, a hundred other merchants, fifty deposits on their way. */
async function fill(db: Database): Promise<Account> {
  const draft = { name: 'Shop', email: 'shop@example.com', mode: 'test', currency: 'EUR' } as const
  const account = await insertAccount(db, draft)
  for (let other = 0; other < 100; other++) await insertAccount(db, draft)
  await db.query("update accounts set created_at = now() - interval '600 days'")
  const entry = newId('evt')
  await db.query(
    "insert into journal_entries (account_id, id, kind, subject_id, number) values ($1, $2, 'settlement', 'bench', 1)",
    [account.id, entry],
  )
  // Foreign keys and write-ahead logging are not what is measured.
  await db.query('alter table transfers drop constraint transfers_account_id_entry_id_fkey')
  await db.query('alter table transfers set unlogged')
  const chunk = 1_000_000
  for (let from = 0; from < TRANSFERS; from += chunk) {
    await db.query(
      `insert into transfers (account_id, entry_id, line, chain, asset, debit, credit, amount_atoms, created_at)
       select $1, md5(n::text)::uuid, 0, 'sim-bitcoin', (array['BTC', 'LTC', 'ETH', 'USDC', 'USDT'])[n % 5 + 1],
         'unresolved', 'available', 1 + n % 1000, now() - interval '600 days' + interval '600 days' * (n::float8 / $2)
       from generate_series($3::bigint, $4::bigint) as n`,
      [account.id, TRANSFERS, from, Math.min(from + chunk, TRANSFERS) - 1],
    )
    process.stdout.write(`${Math.min(from + chunk, TRANSFERS)} transfers\r`)
  }
  await db.query(
    `insert into balances (account_id, asset, kind, chain, atoms)
     select account_id, asset, 'available', 'sim-bitcoin', sum(amount_atoms) from transfers group by account_id, asset`,
  )
  await db.query(
    `insert into balances (account_id, asset, kind, chain, atoms)
     select account_id, asset, k.kind, chain, 7 from balances, (values ('held'), ('unresolved')) as k (kind)`,
  )
  await fillDeposits(db, account)
  await recordRates({ db, rates })
  await db.query(
    `insert into daily_rates (mode, day, asset, fiat, numerator, denominator, source, at)
     select mode, day - n, asset, fiat, numerator + n, denominator, source, at from daily_rates, generate_series(1, 31) as n`,
  )
  const began = performance.now()
  while (await closeNextDay({ db, log: SILENT }));
  process.stdout.write(`31 days closed in ${((performance.now() - began) / 1000).toFixed(1)} s\n`)
  await db.query('vacuum analyze')
  return account
}

async function fillDeposits(db: Database, account: Account): Promise<void> {
  await db.query(
    `insert into payments (account_id, id, status, chain, asset, fiat_currency, fiat_minor, fee_minor, net_minor,
       quoted_fee_minor, rate_numerator, rate_denominator, rate_source, rate_at, settlement_numerator,
       settlement_denominator, settlement_currency, due_atoms, address, required_confirmations, fee_bps, terms_mac, expires_at)
     select $1, md5(n::text)::uuid, 'detected', 'sim-bitcoin', 'BTC', 'EUR', 100, 1, 99, 1, 1, 1, 'bench', now(), 1, 1, 'EUR', 1, 'a', 2,
       100, sha256('bench'), now() from generate_series(1, 100000) as n`,
    [account.id],
  )
  await db.query(
    `insert into deposits (account_id, id, payment_id, chain, asset, tx_key, output_index, address, amount_atoms, status,
       block_height, block_hash, required_confirmations, seen_at, late, dust, mac, booked)
     select $1, md5(n::text)::uuid, md5(n::text)::uuid, 'sim-bitcoin', 'BTC', n::text, 0, 'a', 1000,
       case when n <= 50 then 'seen' else 'confirmed' end, n, n::text, 2, now(), false, false, sha256('bench'), n > 50
     from generate_series(1, 100000) as n`,
    [account.id],
  )
}

/** The balance is the sum of all transfers, and a day in the past what the transfers until then add up to. */
async function check(db: Database, account: Account): Promise<void> {
  const view = await readBalance({ rates }, db, account)
  const { rows } = await db.query<{ asset: string; atoms: bigint }>(
    'select asset, sum(amount_atoms) as atoms from transfers where account_id = $1 group by asset',
    [account.id],
  )
  for (const { asset, atoms } of rows) {
    assert.equal(view.assets.find((found) => found.asset === asset)?.available_atoms, atoms.toString())
  }
  assert.equal(view.pending_count, 50)
  const [first] = view.available.series
  assert.ok(first)
  const { rows: past } = await db.query<{ value: bigint }>(
    `select sum(value)::numeric as value from (
       select floor(sum(t.amount_atoms) * r.numerator / r.denominator / case t.asset
         when 'ETH' then 1e18 when 'USDC' then 1e6 when 'USDT' then 1e6 else 1e8 end) as value
       from transfers t join daily_rates r on r.mode = 'test' and r.day = $2::date and r.asset = t.asset and r.fiat = 'EUR'
       where t.account_id = $1 and t.created_at < (($2::date + 1)::timestamp at time zone 'utc')
       group by t.asset, r.numerator, r.denominator) as per_asset`,
    [account.id, first.date],
  )
  assert.equal(first.value, Number(past[0]?.value) / 100)
}

/** Medians of rounds that take turns, so that both meet the same machine. */
async function measure(db: Database, account: Account): Promise<number> {
  const { rows } = await db.query<{ id: string }>('select id from payments limit 1')
  const id = rows[0]?.id
  const timed = { row: [] as number[], balance: [] as number[] }
  const time = async (into: number[], work: () => Promise<unknown>) => {
    const began = performance.now()
    await work()
    into.push(performance.now() - began)
  }
  for (let round = 0; round < ROUNDS; round++) {
    await time(timed.row, () =>
      db.query('select * from payments where account_id = $1 and id = $2', [account.id, id]),
    )
    await time(timed.balance, () => readBalance({ rates }, db, account))
  }
  const [row, balance] = [median(timed.row), median(timed.balance)]
  process.stdout.write(
    `${TRANSFERS} transfers: a row by its key ${row.toFixed(3)} ms, the balance ${balance.toFixed(3)} ms (medians of ${ROUNDS})\n`,
  )
  return balance / row
}
