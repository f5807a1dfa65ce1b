/** What happens around 00:00 UTC, and accounts whose books have no sum: no day waits for them. */

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { testCause, testGateway } from '../../../test/gateway.ts'
import { type Account, readAccountDraft } from '../../accounts/account.ts'
import { findAccount, insertAccount } from '../../accounts/accounts.sql.ts'
import { invariant } from '../../core/errors.ts'
import { showId } from '../../core/ids.ts'
import { DAY_MS, utcDay } from '../../core/time.ts'
import { openDatabase } from '../../db/database.ts'
import type { LedgerAccount } from '../../ledger/chart-of-accounts.ts'
import { listDaysToClose } from '../../ledger/daily-balances.sql.ts'
import { post } from '../../ledger/post.sql.ts'
import { recordDailyRates } from '../../rates/daily-rates.sql.ts'
import { fixedRates } from '../../rates/fixed.ts'
import { listBalancesAt } from './balance.sql.ts'
import { closeNextDay } from './close-day.ts'
import { readBalance } from './read-balance.ts'

const base = await testGateway()
const { db } = base
const market = fixedRates('BTC/USD=65000,ETH/USD=3000,LTC/USD=80,USDC/USD=1,USDT/USD=1')
const gateway = { ...base, rates: { live: market, test: market } }
const midnight = Date.parse(`${utcDay(new Date())}T00:00:00Z`)
const yesterday = utcDay(new Date(midnight - DAY_MS))
await recordDailyRates(db, 'test', [{ ...market.rate('LTC', 'USD'), at: new Date(midnight - DAY_MS) }])

beforeEach(() => db.query('delete from closed_days'))

async function newAccount(): Promise<Account> {
  const { id } = await insertAccount(
    db,
    readAccountDraft({ name: 'Shop', email: 'shop@example.com', mode: 'test', currency: 'USD' }),
  )
  await db.query('update accounts set created_at = $2 where id = $1', [id, new Date(midnight - DAY_MS)])
  const account = await findAccount(db, id)
  invariant(account, 'the account was just made')
  return account
}

const entry = (account: Account, word: string, debit: LedgerAccount, credit: LedgerAccount, atoms: bigint) =>
  ({
    accountId: account.id,
    chain: 'sim-litecoin',
    cause: testCause(word),
    transfers: [{ asset: 'LTC', debit, credit, atoms }],
  }) as const

/** Moves all that an account's ledger holds in time. */
const shift = (account: Account, ms: number) =>
  db.query(
    `update transfers set created_at = created_at + $2 * interval '1 millisecond' where account_id = $1`,
    [account.id, ms],
  )

const nowIn = async (of: Pick<typeof db, 'query'>): Promise<Date> =>
  (await of.query<{ now: Date }>('select now()')).rows[0]?.now ?? new Date(0)

async function closeAll(): Promise<void> {
  while (await closeNextDay(gateway)) {}
}

const closeOf = async (account: Account): Promise<bigint | undefined> =>
  (
    await db.query<{ minor: bigint }>(
      `select available_minor as minor from daily_balances where account_id = $1 and day = $2 and currency = 'USD'`,
      [account.id, yesterday],
    )
  ).rows[0]?.minor

test('a withdrawal begun before midnight and paid from a settlement begun after it leaves no day below zero', async () => {
  const account = await newAccount()
  const settledAt = await db.transaction(async (withdrawing) => {
    await nowIn(withdrawing)
    const at = await db.transaction(async (settling) => {
      await post(settling, entry(account, 'settle', 'wallet', 'available', 100n))
      return nowIn(settling)
    })
    await post(withdrawing, entry(account, 'withdraw', 'available', 'held', 90n))
    return at
  })
  // Had midnight been just when the settlement began, the withdrawal would have begun the day before.
  await shift(account, midnight - settledAt.getTime())
  assert.deepEqual(await listBalancesAt(db, yesterday, [account.id]), [], 'all of it is of today')
  await closeAll()
  assert.equal((await readBalance(gateway, db, account)).available.series.at(-2)?.value, 0)
  const { rows } = await db.query<{ lowest: bigint }>(
    `select min(atoms) as lowest from (select sum(case when debit = 'available' then -amount_atoms else amount_atoms end)
       over (order by created_at, entry_id) as atoms from transfers where account_id = $1) running`,
    [account.id],
  )
  assert.equal(rows[0]?.lowest, 10n, 'in the order of time the balance is never below zero')
})

test('an account whose ledger has no sum stops neither the close of the day nor anybody’s balance', async () => {
  const [sound, negative, endless] = [await newAccount(), await newAccount(), await newAccount()]
  const book = (of: Account, atoms: bigint) =>
    db.transaction((tx) => post(tx, entry(of, 'settle', 'wallet', 'available', atoms)))
  await book(sound, 100_000_000n)
  await book(negative, 100_000_000n)
  await book(endless, 10n ** 40n)
  for (const each of [sound, endless]) await shift(each, -DAY_MS)
  await db.query("update balances set atoms = 1 where account_id = $1 and kind = 'available'", [negative.id])

  await closeAll()
  assert.deepEqual(
    [await closeOf(sound), await closeOf(negative), await closeOf(endless)],
    [8000n, undefined, undefined],
  )
  const { rows } = await db.query<{ subject: string }>(
    `select subject from alerts where kind = 'day_not_closed'`,
  )
  assert.deepEqual(
    rows.map(({ subject }) => subject).sort(),
    [negative, endless].map(({ id }) => `${showId('acct', id)}:${yesterday}`).sort(),
    'the operator is told of both',
  )
  for (const each of [sound, negative])
    assert.equal((await readBalance(gateway, db, each)).available.series.length, 30)
  await db.query('delete from closed_days')
  for (const each of [sound, negative])
    assert.equal(
      (await readBalance(gateway, db, each)).available.series.at(-2)?.value,
      each === sound ? 80 : 0,
      'nor while the day is still open',
    )
})

test('a day is closed once nothing that began in it may still be committed', async () => {
  await newAccount()
  // Everything under way began a day earlier, for whoever looks here first.
  await db.query(
    `create view public.pg_stat_activity as select datname, pid, backend_xid, xact_start - interval '1 day' as xact_start
     from pg_catalog.pg_stat_activity`,
  )
  const url = new URL(db.url)
  url.searchParams.set('options', '-c search_path=public,pg_catalog')
  const later = openDatabase({ url: url.toString(), connectionsMax: 1 })
  try {
    await db.transaction(async (tx) => {
      await nowIn(tx)
      assert.ok((await listDaysToClose(later)).includes(yesterday), 'it wrote nothing')
      await tx.query('update accounts set name = name')
      assert.ok(!(await listDaysToClose(later)).includes(yesterday))
      assert.ok((await listDaysToClose(db)).includes(yesterday), 'it began today')
    })
    assert.ok((await listDaysToClose(later)).includes(yesterday))
  } finally {
    await later.close()
    await db.query('drop view public.pg_stat_activity')
  }
})
