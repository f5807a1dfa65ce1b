/** The proof after every block: what it freezes, what it does not, and how a coin pays out again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DESTINATIONS, tellPayouts } from '../../test/payout-story.ts'
import { payOnce } from '../../test/payouts.ts'
import { TEST_SECRETS } from '../../test/wallet.ts'
import type { ChainPort } from '../chains/chain.ts'
import { OutsideFailure } from '../core/errors.ts'
import { readHealth } from '../flows/operation/health.ts'
import { afterRestore } from '../flows/recovery/after-restore.ts'
import { listFreezes } from '../ledger/freezes.sql.ts'
import { type ProverMemory, proveBlock } from './prove-block.ts'
import { reconcile, unfreeze } from './reconcile.ts'

/** The chain as a thief left it: everything at our addresses counts so many atoms less. */
const robbed = (port: ChainPort, atoms: bigint): ChainPort => ({
  ...port,
  holdings: async (query) => {
    const held = await port.holdings(query)
    return { ...held, BTC: (held.BTC ?? 0n) - atoms }
  },
})

test('a sum that differs freezes its coin though the rows behind it can not be read', async () => {
  const story = await tellPayouts('sim-bitcoin')
  const { gateway, port } = story
  await story.earn('BTC', 65_000n)
  await gateway.db.query("update transfers set amount_atoms = amount_atoms + 1 where debit = 'wallet'")
  await gateway.db.query('alter table unresolved_funds rename to elsewhere')
  assert.equal(await proveBlock(gateway, port), 'unlike')
  assert.deepEqual(await listFreezes(gateway.db), [{ chain: 'sim-bitcoin', asset: 'BTC' }])
})

test('coins that are gone freeze their asset, nobody loses anything, and only the operator lifts it', async () => {
  const story = await tellPayouts('sim-bitcoin')
  const { gateway, port } = story
  await story.earn('BTC', 65_000n)
  assert.equal(await proveBlock(gateway, port), 'proven')
  assert.equal(await proveBlock(gateway, port), 'known')
  const waiting = await story.request('BTC', '0.002')
  const available = await story.balance('available')

  await story.mine(1)
  await story.look()
  assert.equal(await proveBlock(gateway, robbed(port, 7n)), 'unlike')
  await assert.rejects(story.request('BTC', '0.001'), { kind: 'unavailable', reason: 'withdrawals_frozen' })
  await story.turn()
  assert.equal((await story.now(waiting)).status, 'requested', 'the signer signs nothing')
  assert.equal(await story.balance('available'), available)
  const { ok, backlog } = await readHealth(gateway, ['sim-bitcoin'])
  assert.equal(ok, false)
  assert.match(backlog?.frozen[0]?.reason ?? '', /coin [0-9a-f]{64}:0 \(blocks = chain\): expected/)
  const { rows: alerts } = await gateway.db.query("select from alerts where kind = 'books_disagree'")
  assert.equal(alerts.length, 1)

  await story.mine(1)
  await story.look()
  const frozen = { chain: 'sim-bitcoin', asset: 'BTC' } as const
  assert.deepEqual(await unfreeze(gateway.db, await reconcile(gateway.db, [robbed(port, 7n)])), {
    lifted: [],
    kept: [{ ...frozen, reason: 'its books do not balance' }],
  })
  assert.equal(await proveBlock(gateway, port), 'proven')
  await assert.rejects(story.request('BTC', '0.001'), { reason: 'withdrawals_frozen' })
  const behind = { ...port, tip: async () => ({ ...(await port.tip()), hash: 'another' }) }
  for (const [ports, reason] of [
    [[], 'it was not asked'],
    [[behind], 'its tip moved while it was compared, or Beck is behind it; try again'],
  ] as const)
    assert.deepEqual(await unfreeze(gateway.db, await reconcile(gateway.db, ports)), {
      lifted: [],
      kept: [{ ...frozen, reason: `not compared with the chain: ${reason}` }],
    })

  assert.deepEqual(await unfreeze(gateway.db, await reconcile(gateway.db, [port])), {
    lifted: [frozen],
    kept: [],
  })
  await story.turn()
  await story.mineAndTurn(2)
  assert.equal((await story.now(waiting)).status, 'completed')
  await story.proveBooks()
})

test('coins of a chain that no node was ever set for do not stay frozen after a restore', async () => {
  const story = await tellPayouts('sim-bitcoin')
  const { db } = story.gateway
  await story.earn('BTC', 65_000n)
  await afterRestore({ db, secrets: TEST_SECRETS }, null, {
    chains: ['sim-bitcoin', 'litecoin'],
    addressesAhead: 1,
  })
  const lift = async (...ports: readonly ChainPort[]) =>
    (await unfreeze(db, await reconcile(db, ports))).lifted
  assert.deepEqual(await lift(), [{ chain: 'litecoin', asset: 'LTC' }])
  assert.deepEqual(await lift(story.port), [{ chain: 'sim-bitcoin', asset: 'BTC' }])
})

test('a node that is silent, or elsewhere, proves nothing and freezes nothing', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  await story.mine(1)
  assert.equal(await proveBlock(story.gateway, story.port), 'unproven', 'the watcher has not seen the block')
  await story.look()
  const fail = async () => {
    throw new OutsideFailure('the node does not answer', { retryable: true })
  }
  for (const silent of [{ tip: fail }, { holdings: fail }])
    assert.equal(await proveBlock(story.gateway, { ...story.port, ...silent }), 'unproven')
  assert.equal(await proveBlock(story.gateway, story.port), 'proven')
  assert.equal((await story.gateway.db.query('select from freezes')).rowCount, 0)
})

test('the past is added up once: a sum that is wrong is found out, and freezes nothing', async () => {
  const story = await tellPayouts('sim-bitcoin')
  const { gateway, port } = story
  await story.earn('BTC', 65_000n)
  const withdrawal = await story.request('BTC', '0.002')
  await story.turn()
  await story.mineAndTurn(160)
  assert.equal((await story.now(withdrawal)).status, 'completed')
  const past = async () =>
    (
      await gateway.db.query<{ height: bigint; observed_atoms: bigint }>(
        "select height, observed_atoms from proof_sums where asset = 'BTC'",
      )
    ).rows[0]
  assert.equal(await proveBlock(gateway, port), 'proven')
  const sums = await past()
  assert.ok(sums && sums.height > 50n && sums.observed_atoms > 0n)

  await gateway.db.query('update proof_sums set observed_atoms = observed_atoms + 1')
  await story.mine(1)
  await story.look()
  assert.equal(await proveBlock(gateway, port), 'proven')
  assert.equal((await past())?.height, -1n)
  await story.mine(1)
  await story.look()
  assert.equal(await proveBlock(gateway, port), 'proven')
  assert.equal((await past())?.observed_atoms, sums.observed_atoms)
  assert.equal((await gateway.db.query('select from freezes')).rowCount, 0)
})

test('ether that no block announced is taken in as capital and freezes nothing', async () => {
  const story = await tellPayouts('sim-ethereum')
  const { gateway, port } = story
  await story.earn('ETH', 500_000n)
  const { rows } = await gateway.db.query<{ address: string }>(
    "select address from addresses where chain = 'sim-ethereum' and branch = 1 and position = 0",
  )
  const hot = rows[0]?.address ?? ''
  const given = 5n * 10n ** 18n
  const generous: ChainPort = {
    ...port,
    holdings: async (query) => {
      const held = await port.holdings(query)
      return query.addresses.includes(hot) ? { ...held, ETH: (held.ETH ?? 0n) + given } : held
    },
  }
  const memory: ProverMemory = {}
  for (let block = 0; block < 2; block++) {
    await story.mine(1)
    await story.look()
    assert.equal(await proveBlock(gateway, generous, memory), 'proven')
  }
  await story.mine(12)
  await story.look()
  await payOnce(gateway, generous)
  const { rows: capital } = await gateway.db.query<{ amount_atoms: bigint }>(
    "select amount_atoms from transfers where credit = 'capital'",
  )
  assert.deepEqual(capital, [{ amount_atoms: given }])
  const proof = await reconcile(gateway.db, [generous])
  assert.deepEqual([proof.differences, proof.gifts], [[], []])
  const theft = await reconcile(gateway.db, [port])
  assert.deepEqual(
    theft.differences.map(({ subject, asset }) => [subject, asset]),
    [['the hot wallet', 'ETH']],
  )
})

test('a hot wallet that is emptied freezes ether and leaves tokens alone', async () => {
  const story = await tellPayouts('sim-ethereum')
  const { gateway, port } = story
  await story.earn('ETH', 500_000n)
  await story.earn('USDC', 50_000n)
  for (let round = 0; round < 8; round++) await story.mineAndTurn(6)
  await story.proveBooks()
  await story.mine(1)
  await story.look()
  const emptied: ChainPort = {
    ...port,
    holdings: async (query) => ({ ...(await port.holdings(query)), ETH: 0n }),
  }
  assert.equal(await proveBlock(gateway, emptied), 'unlike')
  const { rows } = await gateway.db.query('select chain, asset from freezes')
  assert.deepEqual(rows, [{ chain: 'sim-ethereum', asset: 'ETH' }])
  const withdrawal = await story.request('USDC', '100', DESTINATIONS['sim-ethereum'])
  await story.turn()
  assert.equal((await story.now(withdrawal)).status, 'broadcast')
})
