/** Addresses and a journal for {@link fillPayments | invented payments}, written by SQL. */
import assert from 'node:assert/strict'
import type { AccountId } from '../src/core/ids.ts'
import type { Database, Tx } from '../src/db/database.ts'

/** Entries and transfers that each payment brings: see {@link fillJournal}. */
export const JOURNAL_ROWS_PER_PAYMENT = 10

const PAYMENTS_AT_ONCE = 500_000

/** Of all payments, each its own, issued when it was made; by the words of a keystore that nobody uses now. */
export async function fillAddresses(db: Database): Promise<void> {
  await db.transaction((tx) =>
    withoutIndexes(tx, ['addresses'], async () => {
      await tx.query(
        `insert into addresses (chain, lookup, address, branch, position, series, mac, account_id, payment_id, issued_at, created_at)
         select chain, '\\x0014'::bytea || substr(sha256(address::bytea), 1, 20), address, 0,
           row_number() over () - 1, 'bench', sha256('bench'), account_id, id, created_at, created_at
         from payments`,
      )
    }),
  )
  await db.query('vacuum (analyze) addresses')
}

export interface Journal {
  readonly payments: number
  /** Every how many is of another merchant, as in `Bulk`. */
  readonly otherEvery: number
  /** When the n-th payment was made. */
  readonly at: string
  readonly accountId: AccountId
  readonly otherId: AccountId
}

/**
 * A deposit and a settlement for each payment, and both taken back, as a reorganisation does: four entries of six transfers.
 * So the books come to nothing, as what the simulated chains hold for them, and Beck has nothing to freeze. The sums of the
 * past are noted as its proofs note them.
 *
 * @param tell - Told how many payments are booked, now and then.
 */
export async function fillJournal(
  db: Database,
  journal: Journal,
  tell: (payments: number) => Promise<void>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const { rows } = await tx.query('select from journal_entries limit 1')
    assert.equal(rows.length, 0, 'nothing is booked yet')
    await withoutIndexes(tx, ['transfers', 'journal_entries'], async () => {
      // What is written to a new file of a table needs no write-ahead log (wal_level=minimal).
      await tx.query('truncate transfers, journal_entries')
      for (let from = 0; from < journal.payments; from += PAYMENTS_AT_ONCE) {
        const upTo = Math.min(from + PAYMENTS_AT_ONCE, journal.payments)
        const values = [journal.accountId, journal.otherId, from, upTo - 1]
        await tx.query(entriesOf(journal), values)
        await tx.query(transfersOf(journal), values)
        await tell(upTo)
      }
    })
    await tx.query(
      `insert into proof_sums (chain, asset, height, observed_atoms, hot_wallet_atoms, booked_before, wallet_atoms)
       select chain, asset, -1, 0, 0, clock_timestamp(), sum(case when debit = 'wallet' then amount_atoms else -amount_atoms end)
       from transfers where debit = 'wallet' or credit = 'wallet' group by chain, asset`,
    )
  })
  await db.query('vacuum (analyze) journal_entries')
  await db.query('vacuum (analyze) transfers')
}

const ACCOUNT = (every: number) => `case when n % ${every} = 0 then $2::uuid else $1::uuid end`
/** In the order of time, as Beck's own. */
const ENTRY = "('0190' || lpad(to_hex(4 * n + k.place), 28, '0'))::uuid"
const PLACE = 'n * 104729 % 5'

const entriesOf = ({ otherEvery, at }: Journal): string => `
  insert into journal_entries (account_id, id, kind, subject_id, number, created_at)
  select ${ACCOUNT(otherEvery)}, ${ENTRY}, k.kind, ('0190' || lpad(to_hex(2 * n + k.subject), 28, '0'))::uuid, 1, ${at}
  from generate_series($3::bigint, $4::bigint) n, (values
    (0, 'deposit', 0), (1, 'settlement', 1), (2, 'settlement_reversal', 1), (3, 'deposit_reversal', 0)
  ) k (place, kind, subject)`

const transfersOf = ({ otherEvery, at }: Journal): string => `
  insert into transfers (account_id, entry_id, line, chain, asset, debit, credit, amount_atoms, created_at)
  select ${ACCOUNT(otherEvery)}, ${ENTRY}, k.line,
    (array['sim-bitcoin', 'sim-litecoin', 'sim-ethereum', 'sim-ethereum', 'sim-ethereum'])[1 + ${PLACE}],
    (array['BTC', 'LTC', 'ETH', 'USDC', 'USDT'])[1 + ${PLACE}], k.debit, k.credit, k.atoms, ${at}
  from generate_series($3::bigint, $4::bigint) n, (values
    (0, 0, 'wallet', 'unresolved', 1000), (1, 0, 'unresolved', 'available', 990), (1, 1, 'unresolved', 'fees', 10),
    (2, 0, 'available', 'unresolved', 990), (2, 1, 'fees', 'unresolved', 10), (3, 0, 'unresolved', 'wallet', 1000)
  ) k (place, line, debit, credit, atoms)`

/** Indexes, keys and references are put back behind the work; references hold for new rows, and the old are not looked up. */
async function withoutIndexes(tx: Tx, tables: readonly string[], work: () => Promise<void>): Promise<void> {
  const { rows: constraints } = await tx.query<{ owner: string; name: string; is: string; kind: string }>(
    `select conrelid::regclass::text as owner, conname as name, pg_get_constraintdef(oid) as is, contype as kind
     from pg_constraint where conrelid = any($1::text[]::regclass[]) and contype in ('f', 'p', 'u')
     order by array_position(array['f', 'u', 'p'], contype::text)`,
    [tables],
  )
  for (const { owner, name } of constraints) await tx.query(`alter table ${owner} drop constraint ${name}`)
  const { rows: indexes } = await tx.query<{ name: string; is: string }>(
    'select indexname as name, indexdef as is from pg_indexes where tablename = any($1)',
    [tables],
  )
  for (const { name } of indexes) await tx.query(`drop index ${name}`)
  await work()
  for (const { is } of indexes) await tx.query(is)
  for (const { owner, name, is, kind } of constraints.toReversed())
    await tx.query(`alter table ${owner} add constraint ${name} ${is}${kind === 'f' ? ' not valid' : ''}`)
}
