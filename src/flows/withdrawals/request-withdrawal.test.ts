import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestGateway, testAccount, testCause, testGateway } from '../../../test/gateway.ts'
import type { Account } from '../../accounts/account.ts'
import { SIMULATED_TOKENS } from '../../chains/simulated/network.ts'
import { type Asset, chainFor, networkOf } from '../../core/assets.ts'
import { post } from '../../ledger/post.sql.ts'
import { reconcile } from '../../proof/reconcile.ts'
import { storeFeeRates } from '../../treasury/fee-rates.sql.ts'
import { requestMacParts } from '../../withdrawals/withdrawal.ts'
import { quoteWithdrawal } from './price-withdrawal.ts'
import { requestWithdrawal } from './request-withdrawal.ts'

const DESTINATION = {
  BTC: 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx',
  USDC: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
}

/** DESTINATION.BTC on the tests' private chain, which stands for a real one. */
const REAL = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080'

async function fund(gateway: TestGateway, account: Account, asset: Asset, atoms: bigint): Promise<void> {
  const chain = chainFor(account.mode, networkOf(asset))
  await gateway.db.transaction((tx) =>
    post(tx, {
      accountId: account.id,
      chain,
      cause: testCause(asset),
      transfers: [{ asset, debit: 'wallet', credit: 'available', atoms }],
    }),
  )
  await storeFeeRates(gateway.db, chain, {
    rate: asset === 'BTC' ? 10_000n : 10n ** 9n,
    priorityRate: asset === 'BTC' ? 0n : 10n ** 8n,
  })
}

const balances = async (gateway: TestGateway) => {
  const { rows } = await gateway.db.query<{ kind: string; atoms: bigint }>(
    'select kind, atoms from balances order by kind',
  )
  return Object.fromEntries(rows.map(({ kind, atoms }) => [kind, atoms]))
}

test('a request holds the gross amount and costs what its quote said', async () => {
  const gateway = await testGateway()
  const account = await testAccount(gateway)
  await fund(gateway, account, 'BTC', 1_000_000n)
  const order = { asset: 'BTC', amount: '0.009', destination: DESTINATION.BTC } as const
  const quote = await quoteWithdrawal(gateway, gateway.db, account, order)
  const withdrawal = await gateway.db.transaction((tx) =>
    requestWithdrawal(gateway, tx, account, { ...order, askedBy: 'unknown' }),
  )
  assert.deepEqual(quote, {
    amountAtoms: 900_000n,
    feeAtoms: 900n,
    networkFeeAtoms: 2_210n,
    netAtoms: 896_890n,
  })
  assert.equal(withdrawal.netAtoms, quote.netAtoms)
  assert.equal(withdrawal.status, 'requested')
  assert.deepEqual(await balances(gateway), { available: 100_000n, held: 900_000n })
  const { rows } = await gateway.db.query<{ mac: Buffer }>('select mac from withdrawals')
  assert.ok(rows[0] && gateway.secrets.isMac(rows[0].mac, 'withdrawal', requestMacParts(withdrawal)))
})

test('100 parallel requests for the whole balance: one succeeds', async () => {
  const gateway = await testGateway({ connectionsMax: 20 })
  const account = await testAccount(gateway)
  await fund(gateway, account, 'USDC', 50_000_000n)
  const order = { asset: 'USDC', amount: '50', destination: DESTINATION.USDC } as const
  const outcomes = await Promise.allSettled(
    Array.from({ length: 100 }, () =>
      gateway.db.transaction((tx) =>
        requestWithdrawal(gateway, tx, account, { ...order, askedBy: 'unknown' }),
      ),
    ),
  )
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
  assert.equal(refused.length, 99)
  for (const { reason } of refused) assert.equal(reason.reason, 'insufficient_balance')
  assert.deepEqual(await balances(gateway), { available: 0n, held: 50_000_000n })
  const { differences } = await reconcile(gateway.db, [])
  assert.deepEqual(
    differences.map(({ subject }) => subject),
    ['entry settlement test:USDC 1'],
    'nothing but what this test funded the account with',
  )
})

test('without a wallet, a destination that is none is still the first to be refused', async () => {
  const gateway = await testGateway({ chains: ['sim-bitcoin'] })
  const account = await testAccount(gateway, 'live')
  for (const [asset, destination, reason] of [
    ['BTC', 'nonsense', 'invalid_address'],
    ['LTC', DESTINATION.BTC, 'invalid_address'],
    ['ETH', `0x${'0'.repeat(40)}`, 'invalid_address'],
    ['BTC', DESTINATION.BTC, 'no_wallet'],
    ['ETH', DESTINATION.USDC, 'no_wallet'],
  ] as const)
    await assert.rejects(
      quoteWithdrawal(gateway, gateway.db, account, { asset, amount: '1', destination }),
      { reason },
      destination,
    )
})

test('what cannot be paid is refused with its reason and leaves no trace', async () => {
  const gateway = await testGateway()
  const account = await testAccount(gateway)
  await fund(gateway, account, 'BTC', 1_000_000n)
  await fund(gateway, account, 'USDC', 1_000_000n)
  const { rows } = await gateway.db.query<{ chain: string; address: string }>(
    `select chain, min(address) as address from addresses where chain in ('sim-bitcoin', 'sim-ethereum') group by chain order by chain`,
  )
  const [bitcoin, ethereum] = rows.map((row) => row.address)
  assert.ok(bitcoin && ethereum)
  const cases: [Asset, string, string, string][] = [
    ['BTC', '0.02', DESTINATION.BTC, 'insufficient_balance'],
    ['BTC', '0', DESTINATION.BTC, 'invalid_amount'],
    ['BTC', '0.000000001', DESTINATION.BTC, 'invalid_amount'],
    ['BTC', '0.00002', DESTINATION.BTC, 'fee_exceeds_amount'],
    ['BTC', '0.001', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', 'invalid_address'],
    ['BTC', '0.001', bitcoin, 'invalid_address'],
    ['USDC', '1', ethereum, 'invalid_address'],
    ['USDC', '1', ethereum.toLowerCase(), 'invalid_address'],
    ['USDC', '1', SIMULATED_TOKENS.USDT, 'invalid_address'],
    ['USDC', '1', `0x${'0'.repeat(40)}`, 'invalid_address'],
    ['LTC', '1', DESTINATION.BTC, 'invalid_address'],
    ['LTC', '1', 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0', 'no_fee_estimate'],
  ]
  for (const [asset, amount, destination, reason] of cases) {
    await assert.rejects(
      gateway.db.transaction((tx) =>
        requestWithdrawal(gateway, tx, account, { asset, amount, destination, askedBy: 'unknown' }),
      ),
      { reason },
      `${asset} ${amount} ${destination}`,
    )
  }
  await gateway.db.query(`insert into freezes (chain, asset, reason) values ('sim-bitcoin', 'BTC', 'test')`)
  await assert.rejects(
    gateway.db.transaction((tx) =>
      requestWithdrawal(gateway, tx, account, {
        asset: 'BTC',
        amount: '0.001',
        destination: DESTINATION.BTC,
        askedBy: 'unknown',
      }),
    ),
    { reason: 'withdrawals_frozen' },
  )
  const { rows: left } = await gateway.db.query('select from withdrawals')
  assert.equal(left.length, 0)
})

test('simulated coins of an account that somebody calls live in the database pay for nothing real', async () => {
  const gateway = await testGateway()
  const account = await testAccount(gateway)
  await fund(gateway, account, 'BTC', 1_000_000n)
  await storeFeeRates(gateway.db, 'bitcoin', { rate: 10_000n, priorityRate: 0n })
  const order = { asset: 'BTC', amount: '0.009', destination: DESTINATION.BTC } as const
  const ask = (as: Account) =>
    gateway.db.transaction((tx) =>
      requestWithdrawal(gateway, tx, as, { ...order, destination: REAL, askedBy: 'unknown' }),
    )
  await gateway.db.query("update accounts set mode = 'live'")
  await assert.rejects(ask({ ...account, mode: 'live' }), /of another chain/)
  assert.deepEqual(await balances(gateway), { available: 1_000_000n })
  assert.equal((await gateway.db.query('select from withdrawals')).rowCount, 0)
})
