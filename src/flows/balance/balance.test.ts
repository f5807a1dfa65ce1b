import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { testCause, testGateway, testPayment } from '../../../test/gateway.ts'
import { type Account, readAccountDraft } from '../../accounts/account.ts'
import { findAccount, insertAccount } from '../../accounts/accounts.sql.ts'
import { ASSETS, type Asset, FIAT_CURRENCIES } from '../../core/assets.ts'
import { invariant, Refusal } from '../../core/errors.ts'
import { newId, newRowId } from '../../core/ids.ts'
import { fiatToNumber } from '../../core/money.ts'
import { DAY_MS, HOUR_MS, utcDay } from '../../core/time.ts'
import type { Cause } from '../../ledger/chart-of-accounts.ts'
import type { Payment } from '../../payments/payment.ts'
import { recordDailyRates } from '../../rates/daily-rates.sql.ts'
import { fixedRates } from '../../rates/fixed.ts'
import { fiatValue } from '../../rates/quote.ts'
import { listBalancesAt } from './balance.sql.ts'
import { closeNextDay, recordRates } from './close-day.ts'
import { readBalance } from './read-balance.ts'

const base = await testGateway({ freshPerChain: 64 })
const { db } = base
const market = fixedRates(
  'BTC/USD=65000,ETH/USD=3000,LTC/USD=80,USDC/USD=1,USDT/USD=0.999,EUR/USD=1.25,GBP/USD=1.5',
)
const gateway = { ...base, rates: { live: market, test: market } }
const midnight = Date.parse(`${utcDay(new Date())}T00:00:00Z`)
const dayAgo = (days: number) => utcDay(new Date(midnight - days * DAY_MS))

async function newAccount(ageDays: number, currency = 'USD'): Promise<Account> {
  const { id } = await insertAccount(
    db,
    readAccountDraft({ name: 'Shop', email: 'shop@example.com', mode: 'test', currency }),
  )
  await db.query('update accounts set created_at = $2 where id = $1', [
    id,
    new Date(midnight - ageDays * DAY_MS),
  ])
  const account = await findAccount(db, id)
  invariant(account, 'the account was just made')
  return account
}

/** Books what happened at an instant of the past, as the ledger would have then. */
async function bookAt(
  account: Account,
  at: Date,
  asset: Asset,
  cause: Cause,
  [debit, credit]: readonly [string, string],
  atoms: bigint,
) {
  const entry = newRowId()
  await db.query(
    'insert into journal_entries (account_id, id, kind, subject_id, number, created_at) values ($1, $2, $3, $4, $5, $6)',
    [account.id, entry, cause.kind, cause.subjectId, cause.number, at],
  )
  await db.query(
    `insert into transfers (account_id, entry_id, line, chain, asset, debit, credit, amount_atoms, created_at)
     values ($1, $2, 0, 'bitcoin', $3, $4, $5, $6, $7)`,
    [account.id, entry, asset, debit, credit, atoms, at],
  )
  const kinds: [string, bigint][] = [
    [debit, -atoms],
    [credit, atoms],
  ]
  for (const [kind, change] of kinds.filter(([kind]) => kind === 'available' || kind === 'unresolved')) {
    await db.query(
      `insert into balances (account_id, asset, kind, chain, atoms) values ($1, $2, $3, 'bitcoin', 0) on conflict do nothing`,
      [account.id, asset, kind],
    )
    await db.query(
      'update balances set atoms = atoms + $4 where account_id = $1 and asset = $2 and kind = $3',
      [account.id, asset, kind, change],
    )
  }
}

interface PastDeposit {
  readonly asset: Asset
  readonly atoms: bigint
  readonly seenAt: Date
  /** When the ledger took it in; null while it is pending. */
  readonly bookedAt: Date | null
  readonly status: 'seen' | 'confirmed' | 'replaced'
}

/** Any payment will do for a deposit to belong to. */
const payments = new Map<string, Payment>()

async function depositOf(account: Account, deposit: PastDeposit) {
  const id = newId('dep')
  const payment = payments.get(account.id) ?? (await testPayment(gateway, account))
  payments.set(account.id, payment)
  const block = deposit.bookedAt ? { height: 1, hash: 'b' } : { height: null, hash: null }
  await db.query(
    `insert into deposits (account_id, id, payment_id, chain, asset, tx_key, output_index, address, amount_atoms, status,
       block_height, block_hash, required_confirmations, seen_at, late, dust, mac, bookings, booked)
     values ($1, $2::uuid, $3, 'bitcoin', $4, $2::uuid::text, 0, 'a', $5, $6, $7, $8, 2, $9, false, false, sha256('none'), 1, $7::bigint is not null)`,
    [
      account.id,
      id,
      payment.id,
      deposit.asset,
      deposit.atoms,
      deposit.status,
      block.height,
      block.hash,
      deposit.seenAt,
    ],
  )
  if (deposit.bookedAt) {
    await bookAt(
      account,
      deposit.bookedAt,
      deposit.asset,
      { kind: 'deposit', subjectId: id, number: 1 },
      ['wallet', 'unresolved'],
      deposit.atoms,
    )
  }
}

test('an account without anything has zeros for every coin and 30 days of nothing', async () => {
  const account = await newAccount(3, 'EUR')
  const balance = await readBalance(gateway, db, account)
  assert.equal(balance.currency, 'EUR')
  assert.deepEqual(
    balance.assets.map((row) => row.asset),
    ASSETS,
  )
  const nothing = Array.from({ length: 30 }, (_, index) => ({ date: dayAgo(29 - index), value: 0 }))
  for (const figure of [balance.total, balance.available, balance.pending]) {
    assert.deepEqual(figure, { value: 0, previous: 0, series: nothing })
  }
  assert.equal(balance.pending_count, 0)
  assert.deepEqual(balance.assets[0], {
    asset: 'BTC',
    available_atoms: '0',
    available: '0',
    available_fiat: 0,
    pending_atoms: '0',
    pending: '0',
    pending_fiat: 0,
    unresolved_atoms: '0',
    unresolved: '0',
  })
})

test('available, pending and unresolved are told apart, and the total is the first two', async () => {
  const account = await newAccount(3)
  const now = new Date()
  const confirmed = { asset: 'BTC', seenAt: now, bookedAt: now, status: 'confirmed' } as const
  const seen = { asset: 'USDC', seenAt: now, bookedAt: null, status: 'seen' } as const
  await depositOf(account, { ...confirmed, atoms: 3_000_000n })
  await bookAt(account, now, 'BTC', testCause('x'), ['unresolved', 'available'], 2_000_000n)
  await depositOf(account, { ...seen, atoms: 12_345_678n })
  await depositOf(account, { ...seen, atoms: 1n })
  await depositOf(account, { ...seen, atoms: 5_000_000n, status: 'replaced' })
  const balance = await readBalance(gateway, db, account)
  assert.deepEqual(
    [balance.available.value, balance.pending.value, balance.total.value, balance.pending_count],
    [1300, 12.34, 1312.34, 2],
  )
  assert.deepEqual(balance.assets[0], {
    asset: 'BTC',
    available_atoms: '2000000',
    available: '0.02',
    available_fiat: 1300,
    pending_atoms: '0',
    pending: '0',
    pending_fiat: 0,
    unresolved_atoms: '1000000',
    unresolved: '0.01',
  })
  assert.deepEqual(balance.assets[3]?.pending, '12.345679')
  assert.equal(balance.total.series.at(-1)?.value, 1312.34, 'today is last')
})

test('another account sees nothing of it', async () => {
  const balance = await readBalance(gateway, db, await newAccount(3))
  assert.equal(balance.total.value, 0)
})

test('a coin without a live rate is estimated at the last one known, and refused when there never was one', async () => {
  const blind = { ...gateway, rates: { ...gateway.rates, test: fixedRates('BTC/USD=1') } }
  const account = await newAccount(3)
  await bookAt(account, new Date(), 'LTC', testCause('x'), ['wallet', 'available'], 100_000_000n)
  await assert.rejects(
    readBalance(blind, db, account),
    (error) => error instanceof Refusal && error.kind === 'unavailable' && error.reason === 'no_rate',
  )
  await recordDailyRates(db, 'test', [
    { ...market.rate('LTC', 'USD'), at: new Date(midnight - 2 * DAY_MS) },
    {
      ...market.rate('LTC', 'USD'),
      ratio: { numerator: 1n, denominator: 1n },
      at: new Date(midnight - 3 * DAY_MS),
    },
  ])
  assert.equal((await readBalance(blind, db, account)).available.value, 80)
})

const past = fc.record({
  /** Hours before the last midnight. */
  hours: fc.integer({ min: -1, max: 34 * 24 }),
  lagHours: fc.integer({ min: 0, max: 60 }),
  asset: fc.constantFrom(...ASSETS),
  atoms: fc.bigInt({ min: 1n, max: 10n ** 12n }),
  end: fc.constantFrom('pending', 'booked', 'settled', 'replaced', 'withdrawn'),
})

test('days closed late are exact, and a balance reads the same before and after they are closed', async () => {
  for (let ago = 31; ago >= 0; ago--) {
    const at = new Date(midnight - ago * DAY_MS + HOUR_MS)
    const rates = ASSETS.flatMap((asset) =>
      FIAT_CURRENCIES.map((fiat) => ({ ...market.rate(asset, fiat), at })),
    )
    await recordDailyRates(
      db,
      'test',
      rates.map((rate) => ({
        ...rate,
        ratio: { ...rate.ratio, numerator: rate.ratio.numerator + BigInt(ago) },
      })),
    )
  }
  const stories = fc.sample(fc.array(past, { minLength: 1, maxLength: 25 }), { numRuns: 12, seed: 7 })
  const accounts: { account: Account; story: (typeof stories)[number] }[] = []
  for (const story of stories) {
    const account = await newAccount(40)
    accounts.push({ account, story })
    for (const [index, { hours, lagHours, asset, atoms, end }] of story.entries()) {
      const seenAt = new Date(midnight - hours * HOUR_MS)
      const bookedAt =
        end === 'pending' || end === 'replaced' ? null : new Date(seenAt.getTime() + lagHours * HOUR_MS)
      const status = end === 'replaced' ? 'replaced' : bookedAt ? 'confirmed' : 'seen'
      await depositOf(account, { asset, atoms, seenAt, bookedAt, status })
      if (!bookedAt || end === 'booked') continue
      await bookAt(account, bookedAt, asset, testCause(`${index}`), ['unresolved', 'available'], atoms)
      if (end === 'withdrawn') {
        const at = new Date(bookedAt.getTime() + HOUR_MS)
        await bookAt(account, at, asset, testCause(`${index}`, 2), ['available', 'held'], atoms)
      }
    }
  }

  for (const ago of [0, 1, 2, 15, 30].map((days) => days + 1)) {
    const day = dayAgo(ago)
    const ended = midnight - (ago - 1) * DAY_MS
    for (const { account, story } of accounts) {
      const expected = new Map<Asset, { available: bigint; pending: bigint }>()
      for (const { hours, lagHours, asset, atoms, end } of story) {
        const seen = midnight - hours * HOUR_MS
        const booked = end === 'pending' || end === 'replaced' ? Infinity : seen + lagHours * HOUR_MS
        const isAvailable =
          (end === 'settled' || end === 'withdrawn') &&
          booked < ended &&
          !(end === 'withdrawn' && booked + HOUR_MS < ended)
        const isPending = end !== 'replaced' && seen < ended && booked >= ended
        const sum = expected.get(asset) ?? { available: 0n, pending: 0n }
        expected.set(asset, {
          available: sum.available + (isAvailable ? atoms : 0n),
          pending: sum.pending + (isPending ? atoms : 0n),
        })
      }
      const at = await listBalancesAt(db, day, [account.id])
      for (const [asset, sum] of expected) {
        const row = at.find((found) => found.asset === asset)
        assert.deepEqual(
          { available: row?.availableAtoms ?? 0n, pending: row?.pendingAtoms ?? 0n },
          sum,
          `${asset} of ${day}`,
        )
      }
    }
  }

  const before = await Promise.all(accounts.map(({ account }) => readBalance(gateway, db, account)))
  while (await closeNextDay(gateway)) {}
  const after = await Promise.all(accounts.map(({ account }) => readBalance(gateway, db, account)))
  assert.deepEqual(after, before)

  const [first] = accounts
  invariant(first, 'there is a story')
  const closes = await listBalancesAt(db, dayAgo(1), [first.account.id])
  const value = closes.reduce((total, { asset, availableAtoms }) => {
    const rate = market.rate(asset, 'USD').ratio
    return total + fiatValue(availableAtoms, asset, { ...rate, numerator: rate.numerator + 1n })
  }, 0n)
  assert.equal(after[0]?.available.series.at(-2)?.value, fiatToNumber(value))
})

test('a closed day keeps what was, whatever happens later, and rates are noted through the day', async () => {
  const account = await newAccount(2)
  const { rows: days } = await db.query<{ day: string }>(
    'select day::text from closed_days order by day desc limit 1',
  )
  assert.equal(days[0]?.day, dayAgo(1))
  assert.equal(await closeNextDay(gateway), false)
  await recordRates(gateway)
  const { rows } = await db.query<{ count: bigint }>(
    `select count(*) as count from daily_rates where day = $1 and at > now() - interval '1 minute'`,
    [dayAgo(0)],
  )
  assert.equal(rows[0]?.count, BigInt(2 * ASSETS.length * FIAT_CURRENCIES.length))
  assert.equal((await readBalance(gateway, db, account)).total.previous, 0)
})
