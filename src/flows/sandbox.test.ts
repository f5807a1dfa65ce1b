import assert from 'node:assert/strict'
import test from 'node:test'
import { type TestGateway, testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import type { Account } from '../accounts/account.ts'
import type { ChainPort } from '../chains/chain.ts'
import { findChainProgress, releaseLease, takeLease } from '../chains/chain-progress.sql.ts'
import type { SimulatedChainName } from '../chains/simulated/network.ts'
import { createSimulatedChain } from '../chains/simulated/simulated-chain.ts'
import { ASSETS } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'
import { findHotWallet } from '../wallets/hot-wallet.sql.ts'
import { startMiner } from '../workers/mine.ts'
import {
  expireInSandbox,
  mineDueBlocks,
  mineInSandbox,
  payInSandbox,
  reorganiseInSandbox,
  replaceInSandbox,
} from './sandbox.ts'
import { meetChain, observeChain } from './watching/observe-chain.ts'

const gateway = await testGateway({ freshPerChain: 20 })
const account = await testAccount(gateway)
const run = <Result>(work: (tx: Tx) => Promise<Result>) => gateway.db.transaction(work)
const open = (chain: 'sim-bitcoin' | 'sim-litecoin' | 'sim-ethereum') =>
  createSimulatedChain({ db: gateway.db, chain })
/** As a watcher that is there for the first time. */
async function follow(port: ChainPort, by = gateway): Promise<void> {
  await meetChain(by, port)
  const lease = await takeLease(by.db, port.chain, 'test')
  assert.ok(lease)
  while ((await observeChain(by, port, lease)).blocks > 0);
  assert.equal((await findChainProgress(by.db, port.chain))?.tipHash, (await port.tip()).hash)
  await releaseLease(by.db, lease)
}
const refusal = (kind: string, reason: string) => (error: unknown) =>
  error instanceof Refusal && error.kind === kind && error.reason === reason

test('paying sends the exact amount due, and mines the blocks asked for', async () => {
  for (const asset of ASSETS) {
    const payment = await testPayment(gateway, account, { asset })
    await run((tx) => payInSandbox(tx, account, payment.id, { confirmations: 1 }))
    const port = createSimulatedChain({ db: gateway.db, chain: payment.chain as 'sim-bitcoin' })
    const { transactions } = await port.readBlock((await port.tip()).hash)
    const [paid] = transactions.flatMap(({ outputs }) => outputs)
    assert.deepEqual([paid?.asset, paid?.atoms], [asset, payment.dueAtoms])
  }
})

test('paying without confirmations leaves the coins in the mempool', async () => {
  const port = open('sim-litecoin')
  const before = await port.tip()
  const payment = await testPayment(gateway, account)
  await run((tx) => payInSandbox(tx, account, payment.id, { amount: '0.5' }))
  const [seen] = (await Array.fromAsync((await port.lookAtMempool(1n))?.added ?? [])).flat()
  assert.equal(seen?.outputs[0]?.atoms, 50_000_000n)
  assert.deepEqual(await port.tip(), before)
})

test('what was paid and mined before a watcher was there is seen by the first', async () => {
  const payment = await testPayment(gateway, account, { asset: 'BTC' })
  await run((tx) => payInSandbox(tx, account, payment.id, { confirmations: 3 }))
  await follow(open('sim-bitcoin'))
  const { rows } = await gateway.db.query<{ atoms: bigint }>(
    'select amount_atoms as atoms from deposits where payment_id = $1',
    [payment.id],
  )
  assert.deepEqual(rows, [{ atoms: payment.dueAtoms }])
})

test('an amount that is no amount of the coin is refused and sends nothing', async () => {
  const payment = await testPayment(gateway, account)
  const height = (await open('sim-litecoin').tip()).height
  for (const amount of [
    '0',
    '0.0',
    '-1',
    '1e3',
    '',
    ' 1',
    '1.000000001',
    '1000000001',
    '9'.repeat(200),
    '٣',
  ]) {
    await assert.rejects(
      run((tx) => payInSandbox(tx, account, payment.id, { amount, confirmations: 1 })),
      refusal('invalid', 'invalid_amount'),
    )
  }
  assert.equal((await open('sim-litecoin').tip()).height, height)
})

test('the hot wallet of the simulated Ethereum has ether for gas once a block was mined', async () => {
  const lookup = await findHotWallet(gateway.db, 'sim-ethereum')
  assert.ok(lookup)
  const addresses = [`0x${Buffer.from(lookup).toString('hex')}`]
  for (let block = 0; block < 3; block++) await run((tx) => mineInSandbox(tx, account, 'ethereum', 1))
  const { ETH } = await open('sim-ethereum').holdings({ outpoints: [], addresses })
  assert.equal(ETH, 10n * 10n ** 18n)
})

test('a live account is refused everything before anything is read', async () => {
  const live = await testAccount(gateway, 'live')
  const none = newId('pay')
  const forbidden = refusal('forbidden', 'test_accounts_only')
  await assert.rejects(
    run((tx) => payInSandbox(tx, live, none, {})),
    forbidden,
  )
  await assert.rejects(
    run((tx) => expireInSandbox(tx, live, none)),
    forbidden,
  )
  await assert.rejects(
    run((tx) => replaceInSandbox(tx, live, none)),
    forbidden,
  )
  await assert.rejects(
    run((tx) => mineInSandbox(tx, live, 'bitcoin', 1)),
    forbidden,
  )
  await assert.rejects(
    run((tx) => reorganiseInSandbox(tx, live, 'bitcoin', 1)),
    forbidden,
  )
})

test("another account's payment is not found", async () => {
  const payment = await testPayment(gateway, account)
  const stranger = await testAccount(gateway)
  const unknown = refusal('not_found', 'payment_not_found')
  await assert.rejects(
    run((tx) => payInSandbox(tx, stranger, payment.id, {})),
    unknown,
  )
  await assert.rejects(
    run((tx) => expireInSandbox(tx, stranger, payment.id)),
    unknown,
  )
  await assert.rejects(
    run((tx) => replaceInSandbox(tx, stranger, payment.id)),
    unknown,
  )
})

test('a window ends once', async () => {
  const payment = await testPayment(gateway, account)
  const ended = await run((tx) => expireInSandbox(tx, account, payment.id))
  assert.ok(ended.expiresAt < payment.expiresAt)
  await assert.rejects(
    run((tx) => expireInSandbox(tx, account, payment.id)),
    refusal('conflict', 'window_over'),
  )
})

test('only what waits in the mempool can be replaced', async () => {
  const payment = await testPayment(gateway, account)
  const nothing = refusal('conflict', 'nothing_unconfirmed')
  await assert.rejects(
    run((tx) => replaceInSandbox(tx, account, payment.id)),
    nothing,
  )
  await run((tx) => payInSandbox(tx, account, payment.id, {}))
  await run((tx) => payInSandbox(tx, account, payment.id, { amount: '2' }))
  await run((tx) => replaceInSandbox(tx, account, payment.id))
  await assert.rejects(
    run((tx) => replaceInSandbox(tx, account, payment.id)),
    nothing,
  )
  await run((tx) => payInSandbox(tx, account, payment.id, { confirmations: 1 }))
  await assert.rejects(
    run((tx) => replaceInSandbox(tx, account, payment.id)),
    nothing,
  )
})

test('a reorganisation reaches as far down as the chain, never below', async () => {
  await run((tx) => mineInSandbox(tx, account, 'bitcoin', 5))
  await follow(open('sim-bitcoin'))
  const { height } = await run((tx) => mineInSandbox(tx, account, 'bitcoin', 2))
  const tooShort = refusal('conflict', 'chain_too_short')
  await assert.rejects(
    run((tx) => reorganiseInSandbox(tx, account, 'bitcoin', height + 1)),
    tooShort,
  )
  await assert.rejects(
    run((tx) => reorganiseInSandbox(tx, account, 'ethereum', 90)),
    tooShort,
  )
  const tip = await run((tx) => reorganiseInSandbox(tx, account, 'bitcoin', 3))
  assert.equal(tip.height, height + 1)
})

test('blocks come by themselves, one per chain and time, however many miners run', async () => {
  const heights = async () =>
    Promise.all([open('sim-bitcoin'), open('sim-ethereum')].map(async (port) => (await port.tip()).height))
  await gateway.db.query("update sim_blocks set block_time = block_time - interval '1 hour'")
  const before = await heights()
  await Promise.all(Array.from({ length: 5 }, () => mineDueBlocks(gateway.db, 60_000)))
  await mineDueBlocks(gateway.db, 60_000)
  assert.deepEqual(
    await heights(),
    before.map((height) => height + 1),
  )

  const hinted = new Promise<void>((resolve) => {
    const stop = open('sim-litecoin').onHint(() => {
      stop()
      resolve()
    })
  })
  const miners = [startMiner(gateway, 50), startMiner(gateway, 50)]
  await hinted
  await Promise.all(miners.map((miner) => miner.stop()))
})

test('whoever mines on and on waits for the watchers, so that nobody waits behind his blocks for long', async () => {
  await follow(open('sim-litecoin'))
  const payment = await testPayment(gateway, account)
  await run((tx) => mineInSandbox(tx, account, 'litecoin', 50))
  await run((tx) => mineInSandbox(tx, account, 'litecoin', 1))
  const busy = refusal('unavailable', 'sandbox_busy')
  await assert.rejects(
    run((tx) => mineInSandbox(tx, account, 'litecoin', 1)),
    busy,
  )
  await assert.rejects(
    run((tx) => reorganiseInSandbox(tx, account, 'litecoin', 1)),
    busy,
  )
  await assert.rejects(
    run((tx) => payInSandbox(tx, account, payment.id, { confirmations: 1 })),
    busy,
  )
  await run((tx) => payInSandbox(tx, account, payment.id, {}))
  await run((tx) => mineInSandbox(tx, account, 'bitcoin', 1))
  await gateway.db.query(`update chains set tip_height = tip_height + 1 where chain = 'sim-litecoin'`)
  await run((tx) => mineInSandbox(tx, account, 'litecoin', 1))
})

test('an account adds so many blocks and no more, however it asks; what is refused costs nothing, and others mine on', async () => {
  const gateway = await testGateway({ freshPerChain: 5 })
  const run = <Result>(work: (tx: Tx) => Promise<Result>) => gateway.db.transaction(work)
  const port = createSimulatedChain({ db: gateway.db, chain: 'sim-bitcoin' })
  const mine = async (by: Account, count: number) => {
    await run((tx) => mineInSandbox(tx, by, 'bitcoin', count))
    await follow(port, gateway)
  }
  const miner = await testAccount(gateway)
  for (let i = 0; i < 3; i++) await mine(miner, 95)
  const busy = (wait: number) => (error: unknown) =>
    error instanceof Refusal &&
    error.reason === 'sandbox_busy' &&
    error.retryAfterSeconds === wait &&
    error.message.endsWith(` ${wait} s`)
  // As if it had been in one instant.
  const spent = () =>
    gateway.db.query(
      `update accounts set sandbox_mined_until = clock_timestamp() + interval '29.5 seconds' where id = $1`,
      [miner.id],
    )
  await spent()
  await assert.rejects(mine(miner, 100), busy(10))
  await spent()
  await assert.rejects(
    run((tx) => reorganiseInSandbox(tx, miner, 'bitcoin', 60)),
    busy(12),
  )
  const payment = await testPayment(gateway, miner)
  await spent()
  await assert.rejects(
    run((tx) => payInSandbox(tx, miner, payment.id, { confirmations: 100 })),
    busy(10),
  )
  await spent()
  await mine(miner, 5)
  await mine(await testAccount(gateway), 100)
})

/** One that is due to be followed by another, so far above the newest as if those between had been pruned. */
const addBlock = ({ db }: TestGateway, chain: SimulatedChainName, above: number) =>
  db.query(
    `insert into sim_blocks (chain, height, hash, parent_hash, block_time)
     select chain, height + $2, repeat('a', 64), hash, now() - interval '1 hour' from sim_blocks
     where chain = $1 order by height desc limit 1`,
    [chain, above],
  )

test('a chain that nobody follows stands still long before a block is pruned that nobody saw', async () => {
  const port = open('sim-litecoin')
  await addBlock(gateway, 'sim-litecoin', 6_000)
  const { height } = await port.tip()
  const seen = (to: number) =>
    gateway.db.query(`update chains set tip_height = $1 where chain = 'sim-litecoin'`, [to])
  await seen(height - 5_001)
  await mineDueBlocks(gateway.db, 60_000)
  assert.equal((await port.tip()).height, height)
  await seen(height - 5_000)
  await mineDueBlocks(gateway.db, 60_000)
  assert.equal((await port.tip()).height, height + 1)
})

test('where no watcher ever was, nothing is mined on before blocks that it has to see would be pruned', async () => {
  const gateway = await testGateway()
  const account = await testAccount(gateway)
  const port = createSimulatedChain({ db: gateway.db, chain: 'sim-bitcoin' })
  const mine = () => gateway.db.transaction((tx) => mineInSandbox(tx, account, 'bitcoin', 1))
  const { height } = await port.tip()
  await addBlock(gateway, 'sim-bitcoin', 5_000 - height)
  await mine()
  await assert.rejects(mine(), refusal('unavailable', 'sandbox_busy'))
  await gateway.db.query("update sim_blocks set block_time = block_time - interval '1 hour'")
  await mineDueBlocks(gateway.db, 60_000)
  assert.equal((await port.tip()).height, 5_001)
})
