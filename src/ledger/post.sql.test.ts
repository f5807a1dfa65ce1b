import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { testDatabase } from '../../test/database.ts'
import { testAccount, testCause } from '../../test/gateway.ts'
import type { Asset, ChainName } from '../core/assets.ts'
import { GATEWAY } from '../core/gateway-account.ts'
import type { AccountId } from '../core/ids.ts'
import { together } from '../db/together.ts'
import {
  type JournalEntry,
  type LedgerAccount,
  MERCHANT_ACCOUNTS,
  type Transfer,
} from './chart-of-accounts.ts'
import { listTransfers, lockBalance, post, sumLoss } from './post.sql.ts'

const db = await testDatabase({ connectionsMax: 20 })
const newAccount = async (): Promise<AccountId> => (await testAccount({ db })).id

const move = (debit: LedgerAccount, credit: LedgerAccount, atoms: bigint): Transfer => ({
  asset: 'LTC',
  debit,
  credit,
  atoms,
})
const book = (accountId: AccountId, subject: string, ...transfers: readonly Transfer[]): Promise<boolean> =>
  db.transaction((tx) => post(tx, { accountId, chain: 'litecoin', cause: testCause(subject), transfers }))

async function balancesOf(accountId: AccountId): Promise<Record<string, bigint>> {
  const { rows } = await db.query<{ kind: string; atoms: bigint }>(
    'select kind, atoms from balances where account_id = $1 order by kind',
    [accountId],
  )
  return Object.fromEntries(rows.map(({ kind, atoms }) => [kind, atoms]))
}

async function entriesOf(accountId: AccountId): Promise<number> {
  return (await db.query('select from journal_entries where account_id = $1', [accountId])).rowCount
}

test('a cause is booked once: the same again changes nothing, another merchant’s is another', async () => {
  const [shop, other] = [await newAccount(), await newAccount()]
  const deposit = move('wallet', 'unresolved', 5n)
  assert.equal(await book(shop, '1', deposit), true)
  assert.equal(await book(shop, '1', deposit, deposit), false)
  assert.equal(await book(other, '1', deposit), true)
  assert.deepEqual(await balancesOf(shop), { unresolved: 5n })
  assert.deepEqual(await listTransfers(db, shop, testCause('1')), [deposit])
  assert.deepEqual(await listTransfers(db, shop, testCause('2')), [])
})

test('an entry keeps the order of its transfers, leaves out what moves nothing, and may be empty', async () => {
  const shop = await newAccount()
  const transfers = [
    move('wallet', 'unresolved', 10n),
    move('unresolved', 'available', 7n),
    move('unresolved', 'fees', 3n),
  ]
  await book(shop, 'settle', ...transfers.slice(0, 1), move('wallet', 'loss', 0n), ...transfers.slice(1))
  assert.deepEqual(await listTransfers(db, shop, testCause('settle')), transfers)
  assert.deepEqual(await balancesOf(shop), { available: 7n })
  assert.equal(await book(shop, 'nothing'), true)
  assert.equal(await book(shop, 'nothing'), false)
})

test('a balance that would become negative fails the whole transaction', async () => {
  const shop = await newAccount()
  await book(shop, 'deposit', move('wallet', 'available', 5n))
  await assert.rejects(book(shop, 'hold', move('available', 'held', 6n)), { code: '23514' })
  await assert.rejects(book(shop, 'return', move('held', 'available', 1n)), /an empty held balance/)
  assert.deepEqual(await balancesOf(shop), { available: 5n })
  assert.equal(await entriesOf(shop), 1)
})

test('neither a negative transfer nor a merchant’s balance without a merchant is ever booked', async () => {
  const shop = await newAccount()
  const broken = { name: 'InvariantBroken' }
  await assert.rejects(book(shop, 'negative', move('wallet', 'available', -1n)), broken)
  await assert.rejects(book(GATEWAY, 'nobody', move('wallet', 'available', 1n)), broken)
  assert.equal(await book(GATEWAY, 'capital', move('wallet', 'capital', 1n)), true)
  assert.deepEqual([await entriesOf(shop), await entriesOf(GATEWAY)], [0, 1])
})

test('what is booked to loss counts until it is paid back, for the causes that are asked about', async () => {
  const shop = await newAccount()
  await book(shop, 'reverse', move('loss', 'wallet', 9n))
  await book(shop, 'book', move('wallet', 'loss', 4n))
  const lossOf = (asset: Asset, subjects: readonly string[]) =>
    sumLoss(
      db,
      shop,
      asset,
      ['settlement'],
      subjects.map((subject) => testCause(subject).subjectId),
    )
  assert.equal(await sumLoss(db, shop, 'LTC', ['acceptance'], [testCause('book').subjectId]), 0n)
  assert.equal(await lossOf('LTC', ['reverse', 'book', 'never']), 5n)
  assert.equal(await lossOf('LTC', ['reverse']), 9n)
  assert.equal(await lossOf('BTC', ['reverse', 'book']), 0n)
  assert.equal(await lossOf('LTC', []), 0n)
})

const transfer = fc.record({
  debit: fc.constantFrom<LedgerAccount>('wallet', 'available', 'held', 'unresolved', 'loss'),
  credit: fc.constantFrom<LedgerAccount>('wallet', 'available', 'held', 'unresolved', 'fees'),
  atoms: fc.bigInt({ min: 0n, max: 10n ** 30n }),
})
const entry = fc.array(
  transfer.filter(({ debit, credit }) => debit !== credit),
  { minLength: 1, maxLength: 5 },
)

test('balances are always the sum of the transfers, and never below zero', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 12 }), async (entries) => {
      const shop = await newAccount()
      const sums = new Map<LedgerAccount, bigint>()
      const sumOf = (kind: LedgerAccount) => sums.get(kind) ?? 0n
      for (const [number, given] of entries.entries()) {
        const transfers: JournalEntry['transfers'] = given.map((each) => ({ ...each, asset: 'LTC' }))
        const after = new Map(sums)
        for (const { debit, credit, atoms } of transfers) {
          after.set(debit, (after.get(debit) ?? 0n) - atoms)
          after.set(credit, (after.get(credit) ?? 0n) + atoms)
        }
        const fits = MERCHANT_ACCOUNTS.every((kind) => (after.get(kind) ?? 0n) >= 0n)
        const booked = await book(shop, `entry ${number}`, ...transfers).catch(() => false)
        assert.equal(booked, fits)
        if (booked) for (const [kind, atoms] of after) sums.set(kind, atoms)
        for (const kind of MERCHANT_ACCOUNTS)
          assert.equal(
            await db.transaction((tx) => lockBalance(tx, { accountId: shop, asset: 'LTC', kind })),
            sumOf(kind),
          )
      }
    }),
    { numRuns: 15 },
  )
})

test('entries that go both ways at once wait for each other, and none is done a second time', async () => {
  const shop = await newAccount()
  await book(shop, 'deposit', move('wallet', 'available', 100n), move('wallet', 'held', 100n))
  let attempts = 0
  await Promise.all(
    Array.from({ length: 60 }, (_, number) =>
      db.transaction((tx) => {
        attempts += 1
        const transfers = [number % 2 ? move('available', 'held', 1n) : move('held', 'available', 1n)]
        return post(tx, { accountId: shop, chain: 'litecoin', cause: testCause('way', number), transfers })
      }),
    ),
  )
  assert.deepEqual(await balancesOf(shop), { available: 100n, held: 100n })
  assert.equal(attempts, 60, 'a deadlock would have made a transaction run again')
})

const ofMany = fc.array(fc.record({ shop: fc.nat({ max: 1 }), transfers: entry }), {
  minLength: 1,
  maxLength: 12,
})

test('entries of stories side by side come to the sums of their transfers, or to nothing where a sum is below zero', async () => {
  await fc.assert(
    fc.asyncProperty(ofMany, async (entries) => {
      const shops = [await newAccount(), await newAccount()]
      const sums = shops.map(() => new Map<LedgerAccount, bigint>())
      for (const { shop, transfers } of entries)
        for (const { debit, credit, atoms } of transfers) {
          const sum = sums[shop] ?? new Map()
          sum.set(debit, (sum.get(debit) ?? 0n) - atoms)
          sum.set(credit, (sum.get(credit) ?? 0n) + atoms)
        }
      const fits = sums.every((sum) => MERCHANT_ACCOUNTS.every((kind) => (sum.get(kind) ?? 0n) >= 0n))
      const posted = db.transaction((tx) =>
        together(
          tx,
          entries,
          () => null,
          (one, { shop, transfers }) =>
            post(one, {
              accountId: shops[shop] ?? assert.fail(),
              chain: 'litecoin',
              cause: testCause(
                'side by side',
                entries.findIndex((each) => each.transfers === transfers),
              ),
              transfers: transfers.map((each) => ({ ...each, asset: 'LTC' })),
            }),
        ),
      )
      if (fits) await posted
      else await assert.rejects(posted)
      for (const [index, shop] of shops.entries()) {
        const balances = await balancesOf(shop)
        for (const kind of MERCHANT_ACCOUNTS)
          assert.equal(balances[kind] ?? 0n, fits ? (sums[index]?.get(kind) ?? 0n) : 0n)
        assert.equal(await entriesOf(shop), fits ? entries.filter((each) => each.shop === index).length : 0)
      }
    }),
    { numRuns: 30 },
  )
})

test('a story reads what it and those beside it have booked', async () => {
  const shop = await newAccount()
  const key = { accountId: shop, asset: 'LTC', kind: 'available' } as const
  const seen = await db.transaction((tx) =>
    together(
      tx,
      [1, 2],
      () => 'one after the other',
      async (one, number) => {
        const cause = testCause('seen', number)
        const transfers = [move('loss', 'available', 5n)]
        await post(one, { accountId: shop, chain: 'litecoin', cause, transfers })
        return [
          await sumLoss(one, shop, 'LTC', ['settlement'], [cause.subjectId]),
          await lockBalance(one, key),
          (await listTransfers(one, shop, cause)).length,
        ]
      },
    ),
  )
  assert.deepEqual(seen, [
    [5n, 5n, 1],
    [10n, 10n, 1],
  ])
})

test('stories that run side by side each read what they have booked themselves', async () => {
  const shops = [await newAccount(), await newAccount(), await newAccount()]
  const seen = await db.transaction((tx) =>
    together(
      tx,
      shops,
      () => null,
      async (one, shop) => {
        const sums = []
        for (const number of [1, 2]) {
          const cause = testCause('beside', number)
          await post(one, {
            accountId: shop,
            chain: 'litecoin',
            cause,
            transfers: [move('loss', 'available', 5n)],
          })
          sums.push(await sumLoss(one, shop, 'LTC', ['settlement'], [cause.subjectId]))
        }
        return sums
      },
    ),
  )
  assert.deepEqual(
    seen,
    shops.map(() => [5n, 10n]),
  )
})

test('a balance of one chain is neither spent nor filled by an entry of another', async () => {
  const shop = await newAccount()
  const of = (chain: ChainName, subject: string, ...transfers: readonly Transfer[]) =>
    db.transaction((tx) => post(tx, { accountId: shop, chain, cause: testCause(subject), transfers }))
  await of('sim-litecoin', 'play', move('wallet', 'available', 9n))
  await assert.rejects(of('litecoin', 'real', move('available', 'wallet', 5n)), /of another chain/)
  await assert.rejects(of('litecoin', 'real', move('wallet', 'available', 5n)), /of another chain/)
  assert.deepEqual(await balancesOf(shop), { available: 9n })
})
