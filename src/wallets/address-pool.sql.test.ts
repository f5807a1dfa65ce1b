import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { testAccount } from '../../test/gateway.ts'
import { fillTestWallets, TEST_SECRETS, testMode, testXpub } from '../../test/wallet.ts'
import { newId } from '../core/ids.ts'
import { openSecrets } from '../core/secrets.ts'
import { fillAddressPool, openAddressPool } from './address-pool.sql.ts'
import { DEPOSIT_BRANCH, readAccountKey } from './derivation.ts'
import { publishWallet } from './wallets.sql.ts'

test('concurrent payments never get one address twice, and a rolled-back one gives its address back', async () => {
  const db = await testDatabase({ connectionsMax: 20 })
  const { pool } = await fillTestWallets(db, { freshPerChain: 50, chains: ['bitcoin'] })
  const { id: owner } = await testAccount({ db }, 'live')
  const issue = () => db.transaction((tx) => pool.issue(tx, 'bitcoin', owner, newId('pay')))
  await assert.rejects(
    db.transaction(async (tx) => {
      await pool.issue(tx, 'bitcoin', owner, newId('pay'))
      throw new Error('the payment was refused')
    }),
  )
  const issued = await Promise.all(Array.from({ length: 50 }, issue))
  assert.equal(new Set(issued).size, 50)
  const key = readAccountKey('bitcoin', testMode('bitcoin'), testXpub('bitcoin'))
  const derived = Array.from({ length: 50 }, (_, i) => key.derive(DEPOSIT_BRANCH, BigInt(i)).address)
  assert.deepEqual(new Set(issued), new Set(derived))
  await assert.rejects(issue(), { kind: 'unavailable', reason: 'no_address' })

  assert.equal(await fillAddressPool(db, TEST_SECRETS, { fresh: 10, change: 4 }), 10)
  assert.equal(await fillAddressPool(db, TEST_SECRETS, { fresh: 10, change: 4 }), 0)
  const next = await issue()
  assert.equal(next, key.derive(DEPOSIT_BRANCH, 50n).address)
  assert.equal(await pool.isAuthentic(db, 'bitcoin', next), true)
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
  const db = await testDatabase()
  const { pool } = await fillTestWallets(db, { freshPerChain: 8, chains: ['bitcoin', 'ethereum'] })
  const { id: owner } = await testAccount({ db }, 'live')
  const issue = () => db.transaction((tx) => pool.issue(tx, 'ethereum', owner, newId('pay')))
  const first = await issue()

  await db.query(
    `update addresses set address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' where chain = 'ethereum' and branch = 0`,
  )
  await assert.rejects(issue(), { name: 'InvariantBroken' })
  assert.equal(await pool.isAuthentic(db, 'ethereum', first), false)
  assert.equal(
    await pool.isAuthentic(db, 'ethereum', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'),
    false,
    'an address of nobody we know',
  )
  assert.equal(
    await openAddressPool(openSecrets(Buffer.alloc(32, 8))).isAuthentic(db, 'ethereum', first),
    false,
  )
})

test('an xpub that nobody published under our key derives nothing', async () => {
  const db = await testDatabase()
  await fillTestWallets(db, { freshPerChain: 2, chains: ['bitcoin'] })
  await db.query(`update wallets set xpub = $1`, [testXpub('ethereum')])
  await assert.rejects(fillAddressPool(db, TEST_SECRETS, { fresh: 10, change: 1 }), {
    name: 'InvariantBroken',
  })
})

test('a new keystore retires the old wallet: fresh addresses come from the new one only', async () => {
  const db = await testDatabase()
  const { pool } = await fillTestWallets(db, { freshPerChain: 4, chains: ['bitcoin'] })
  const { id: owner } = await testAccount({ db }, 'live')
  const other = { chain: 'bitcoin', mode: 'regtest', xpub: testXpub('ethereum') } as const
  await db.transaction((tx) => publishWallet(tx, TEST_SECRETS, other))
  await db.transaction((tx) => publishWallet(tx, TEST_SECRETS, other))
  await fillAddressPool(db, TEST_SECRETS, { fresh: 4, change: 1 })
  const address = await db.transaction((tx) => pool.issue(tx, 'bitcoin', owner, newId('pay')))
  assert.equal(address, readAccountKey('bitcoin', 'regtest', other.xpub).derive(DEPOSIT_BRANCH, 0n).address)
  await assert.rejects(
    db.transaction((tx) => publishWallet(tx, TEST_SECRETS, { ...other, mode: 'mainnet' })),
    { reason: 'other_network' },
  )
})
