import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import { fillTestWallets, TEST_SECRETS, testMode, testXpub } from '../../test/wallet.ts'
import type { ChainName } from '../core/assets.ts'
import { pause } from '../core/pause.ts'
import { openSecrets } from '../core/secrets.ts'
import type { Gateway } from '../flows/gateway.ts'
import { createPayment } from '../flows/payments/create-payment.ts'
import { hotWalletOf } from '../flows/treasury/tend-senders.ts'
import { requirePayable } from '../flows/withdrawals/payable-destination.ts'
import { fillAddressPool, openAddressPool } from './address-pool.sql.ts'
import { DEPOSIT_BRANCH, readAccountKey } from './derivation.ts'
import { publishWallet } from './wallets.sql.ts'

const BITCOIN = {
  asset: 'BTC',
  fiatMinor: 10_000n,
  fiatCurrency: 'USD',
  reference: null,
  customerEmail: null,
  metadata: null,
} as const

test('concurrent payments never get one address twice, and a rolled-back one gives its address back', async () => {
  const gateway = await testGateway({ freshPerChain: 50, connectionsMax: 20, chains: ['sim-bitcoin'] })
  const { db } = gateway
  const account = await testAccount(gateway)
  // Another process takes from the same pool.
  const other = { ...gateway, addresses: openAddressPool(TEST_SECRETS) }
  const pay = (at: Gateway) => testPayment(at, account, { asset: 'BTC' })
  const rolledBack = db.transaction(async (tx) => {
    await createPayment(gateway, tx, account, BITCOIN)
    throw new Error('the payment was refused')
  })
  await assert.rejects(rolledBack, { message: 'the payment was refused' })
  const issued = await Promise.all(Array.from({ length: 50 }, (_, i) => pay(i % 2 ? gateway : other)))
  const key = readAccountKey('sim-bitcoin', testMode('sim-bitcoin'), testXpub('sim-bitcoin'))
  const derived = Array.from({ length: 50 }, (_, i) => key.derive(DEPOSIT_BRANCH, BigInt(i)).address)
  assert.deepEqual(new Set(issued.map(({ address }) => address)), new Set(derived))
  await assert.rejects(pay(gateway), {
    kind: 'unavailable',
    reason: 'no_address',
    message: /try again in a second/,
  })

  const fill = async () => [...(await fillAddressPool(db, TEST_SECRETS, { fresh: 10, change: 4 }))]
  assert.deepEqual(await fill(), [['sim-bitcoin', 10]])
  assert.deepEqual(await fill(), [['sim-bitcoin', 0]])
  const { address } = await pay(gateway)
  assert.equal(address, key.derive(DEPOSIT_BRANCH, 50n).address)
})

test('who finds no address is told whether to wait or whom to ask', async () => {
  const gateway = await testGateway({ freshPerChain: 0, chains: ['sim-bitcoin'] })
  const account = await testAccount(gateway)
  const refusal = { kind: 'unavailable', reason: 'no_address' }
  const pay = () => testPayment(gateway, account, { asset: 'BTC' })
  const waits = /^no fresh sim-bitcoin address is ready: more are being derived, try again in a second/
  await assert.rejects(pay(), { ...refusal, message: waits })
  await gateway.db.query('update wallets set retired_at = now()')
  await assert.rejects(pay(), { ...refusal, message: /has no wallet .*`npx beck wallet init`/ })
})

test('a pool that ran dry is waited for once, and again when it was filled', async () => {
  const gateway = await testGateway({ freshPerChain: 1, chains: ['sim-bitcoin'] })
  const { db, addresses } = gateway
  const account = await testAccount(gateway)
  const take = () => addresses.take(db, 'sim-bitcoin')
  const fill = () => fillAddressPool(db, TEST_SECRETS, { fresh: 1, change: 1 })
  const issueAll = async () => {
    await testPayment(gateway, account, { asset: 'BTC' })
  }
  const refusedAfterMs = async () => {
    const begunMs = performance.now()
    await assert.rejects(take(), { reason: 'no_address' })
    return performance.now() - begunMs
  }
  await issueAll()
  assert.ok((await refusedAfterMs()) > 2_500)
  // Nobody fills it: whoever comes is told so, and holds up nobody.
  assert.ok((await refusedAfterMs()) < 2_000)
  await fill()
  await issueAll()
  const waiting = take()
  await fill()
  await waiting
})

test('what a process set aside and did not use is there for the others', async () => {
  const gateway = await testGateway({ freshPerChain: 6, chains: ['sim-bitcoin'] })
  const account = await testAccount(gateway)
  const others = [1, 2, 3].map(() => ({ ...gateway, addresses: openAddressPool(TEST_SECRETS) }))
  for (const each of others) await each.addresses.take(gateway.db, 'sim-bitcoin')
  const payments = []
  for (const at of [...others, ...others]) payments.push(await testPayment(at, account, { asset: 'BTC' }))
  assert.equal(new Set(payments.map(({ address }) => address)).size, 6)
})

test('a process whose pool runs low takes none from itself', async () => {
  const { db, addresses } = await testGateway({ freshPerChain: 5, chains: ['sim-bitcoin'] })
  const rows = await Promise.all([1, 2, 3, 4, 5].map(() => addresses.take(db, 'sim-bitcoin')))
  // It waits for one.
  const late = addresses.take(db, 'sim-bitcoin')
  assert.equal(new Set(rows.map(({ address }) => address)).size, 5)
  const [last = assert.fail()] = rows
  await pause(200)
  addresses.giveBack(last)
  assert.equal((await late).address, last.address)
  // While those that are in doubt are looked at, nobody takes them a second time.
  for (const row of rows.slice(1)) addresses.giveBack(row)
  addresses.doubt('sim-bitcoin')
  const again = await Promise.all([1, 2, 3, 4].map(() => addresses.take(db, 'sim-bitcoin')))
  assert.equal(new Set([last, ...again].map(({ address }) => address)).size, 5)
  // Nor does a transaction take them; another process does, whatever this one holds.
  const first = await db.transaction((tx) => addresses.take(tx, 'sim-bitcoin')).catch(({ reason }) => reason)
  assert.equal(first, 'no_address')
  const other = openAddressPool(TEST_SECRETS)
  assert.ok(await other.take(db, 'sim-bitcoin'))
})

test('what lies below the last of a dry pool is taken from a process that is gone', async () => {
  const { db, addresses } = await testGateway({ freshPerChain: 12, chains: ['sim-bitcoin'] })
  const gone = openAddressPool(TEST_SECRETS)
  const take = (pool: typeof addresses) => pool.take(db, 'sim-bitcoin')
  await take(gone)
  const mine = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(() => take(addresses)))
  const theirs = [await take(addresses), await take(addresses), await take(addresses)]
  assert.equal(new Set([...mine, ...theirs].map(({ address }) => address)).size, 11)
})

test('two fillers at once derive the same addresses once', async () => {
  const db = await testDatabase()
  await fillTestWallets(db, { freshPerChain: 1, chains: ['litecoin', 'ethereum'] })
  await Promise.all([1, 2, 3].map(() => fillAddressPool(db, TEST_SECRETS, { fresh: 40, change: 4 })))
  const { rows } = await db.query<{ count: bigint; top: bigint }>(
    `select count(*), max(position) as top from addresses where branch = 0 group by chain`,
  )
  assert.ok(rows.length === 2 && rows.every((row) => row.count === row.top + 1n && row.count >= 40n))
})

test('a tampered row is refused, whatever was changed in it', async () => {
  const gateway = await testGateway({ freshPerChain: 8, chains: ['bitcoin', 'sim-ethereum'] })
  const { db } = gateway
  const account = await testAccount(gateway)
  const issue = async () => (await testPayment(gateway, account, { asset: 'ETH' })).address
  await issue()

  await db.query(
    `update addresses set address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' where chain = 'sim-ethereum' and branch = 0`,
  )
  await assert.rejects(issue(), { name: 'InvariantBroken' })
  const stranger = openAddressPool(openSecrets(Buffer.alloc(32, 8)))
  await assert.rejects(stranger.take(db, 'bitcoin'), { name: 'InvariantBroken' })
})

test('an xpub that nobody published under our key derives nothing', async () => {
  const db = await testDatabase()
  await fillTestWallets(db, { freshPerChain: 2, chains: ['bitcoin'] })
  await db.query(`update wallets set xpub = $1`, [testXpub('ethereum')])
  await assert.rejects(fillAddressPool(db, TEST_SECRETS, { fresh: 10, change: 1 }), {
    name: 'InvariantBroken',
  })
})

test('one wallet that somebody changed stops its own coin: the others get addresses, sales and withdrawals', async () => {
  const gateway = await testGateway({ freshPerChain: 1, chains: ['sim-bitcoin', 'sim-litecoin'] })
  const { db } = gateway
  const account = await testAccount(gateway)
  await db.query(`update wallets set mac = sha256('another') where chain = 'sim-bitcoin'`)
  await assert.rejects(fillAddressPool(db, TEST_SECRETS, { fresh: 5, change: 1 }), {
    name: 'InvariantBroken',
    message: /^the xpub of sim-bitcoin /,
  })
  const { rows } = await db.query<{ chain: string; fresh: number }>(
    `select chain, count(*)::int as fresh from addresses where branch = 0 and issued_at is null group by chain order by chain`,
  )
  assert.deepEqual(rows, [
    { chain: 'sim-bitcoin', fresh: 1 },
    { chain: 'sim-litecoin', fresh: 5 },
  ])
  for (let sale = 0; sale < 5; sale++) await testPayment(gateway, account)
  await assert.rejects(testPayment(gateway, account), { reason: 'no_address' })
  await assert.rejects(testPayment(gateway, account, { asset: 'BTC' }), { name: 'InvariantBroken' })

  const destination = {
    LTC: readAccountKey('litecoin', 'testnet', testXpub('ethereum')).derive(DEPOSIT_BRANCH, 0n).address,
    BTC: readAccountKey('bitcoin', 'testnet', testXpub('ethereum')).derive(DEPOSIT_BRANCH, 0n).address,
  }
  const payable = (asset: 'BTC' | 'LTC', chain: ChainName) =>
    requirePayable(gateway, db, asset, chain, destination[asset])
  assert.equal((await payable('LTC', 'sim-litecoin')).wallet.chain, 'sim-litecoin')
  await assert.rejects(payable('BTC', 'sim-bitcoin'), { name: 'InvariantBroken' })
  assert.ok(await hotWalletOf(gateway, 'sim-litecoin'))
})

test('a new keystore retires the old wallet: fresh addresses come from the new one only', async () => {
  const gateway = await testGateway({ freshPerChain: 4, chains: ['sim-bitcoin'] })
  const { db } = gateway
  const account = await testAccount(gateway)
  const other = { chain: 'sim-bitcoin', mode: 'testnet', xpub: testXpub('ethereum') } as const
  // One of the old wallet's is set aside already.
  await testPayment(gateway, account, { asset: 'BTC' })
  await assert.rejects(
    db.transaction((tx) => publishWallet(tx, TEST_SECRETS, other, { replaces: false })),
    { reason: 'wallet_exists' },
  )
  await db.transaction((tx) => publishWallet(tx, TEST_SECRETS, other, { replaces: true }))
  await db.transaction((tx) => publishWallet(tx, TEST_SECRETS, other, { replaces: true }))
  await fillAddressPool(db, TEST_SECRETS, { fresh: 4, change: 1 })
  const { address } = await testPayment(gateway, account, { asset: 'BTC' })
  assert.equal(
    address,
    readAccountKey('sim-bitcoin', 'testnet', other.xpub).derive(DEPOSIT_BRANCH, 0n).address,
  )
  await assert.rejects(
    db.transaction((tx) =>
      publishWallet(tx, TEST_SECRETS, { ...other, mode: 'mainnet' }, { replaces: true }),
    ),
    { reason: 'other_network' },
  )
})
