import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { testDatabase } from '../../test/database.ts'
import { testAccount, testCause } from '../../test/gateway.ts'
import type { Asset } from '../core/assets.ts'
import type { AccountId } from '../core/ids.ts'
import {
  GATEWAY,
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
