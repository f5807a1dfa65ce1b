/** Deposits on their way to the hot wallet, on real Ethereum nodes before and after EIP-7702; the books proven after every turn. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ChainPort } from '../../src/chains/chain.ts'
import type { Asset } from '../../src/core/assets.ts'
import { planSweeps } from '../../src/flows/treasury/sweep-deposits.ts'
import { confirmSigned } from '../../src/flows/withdrawals/confirm-withdrawal.ts'
import { reconcile } from '../../src/proof/reconcile.ts'
import { testApp } from '../api.ts'
import { feeRates, signAll } from '../payouts.ts'
import { type EthereumPayouts, ethereumPayouts } from './ethereum-payouts.ts'

const CONFIRMATIONS = 3

const older = await ethereumPayouts({ confirmations: CONFIRMATIONS, hardfork: 'cancun' })
const newer = await ethereumPayouts({ confirmations: CONFIRMATIONS })

describe('sweeping on a chain without EIP-7702', () => {
  const payouts = older

  it('brings ether by itself, and tokens after their gas, to the hot wallet to the atom', async () => {
    const before = await held(payouts)
    const paid = { ETH: await payouts.earn('ETH', 500n), USDC: 0n, USDT: 0n }
    for (const asset of ['USDC', 'USDT'] as const)
      for (let count = 0; count < 2; count++) paid[asset] += await payouts.earn(asset, 100n)
    await payouts.finish()
    const now = await held(payouts)
    assert.equal(now.USDC - before.USDC, paid.USDC)
    assert.equal(now.USDT - before.USDT, paid.USDT)
    assert.deepEqual(await kindsOf(payouts), { gas: 4, sweep: 5 })
    assert.equal(await atDepositAddresses(payouts, 'USDC'), 0n)
  })

  it('leaves what is not worth its gas where it is, and shows it', async () => {
    let atoms = 0n
    for (let count = 0; count < 3; count++) atoms += await payouts.earn('USDC', 4n)
    await payouts.finish()
    assert.equal(await atDepositAddresses(payouts, 'USDC'), atoms)
    const { unswept } = await reconcile(payouts.gateway.db, [payouts.port])
    assert.deepEqual(unswept, [{ chain: 'ethereum', asset: 'USDC', addresses: 3n, atoms }])
    const body = await (await testApp(payouts.gateway)).monitored.metrics()
    assert.match(
      body,
      new RegExp(`^beck_unswept_coins{chain="ethereum",asset="USDC"} ${Number(atoms) / 1e6}$`, 'm'),
    )
  })

  it('takes it all the same when a withdrawal waits for it', async () => {
    const destination = `0x${'9a'.repeat(20)}`
    const withdrawal = await payouts.request('USDC', '209', destination)
    assert.ok(withdrawal.netAtoms > (await held(payouts)).USDC)
    await payouts.finish()
    assert.equal((await payouts.now(withdrawal)).status, 'completed')
    assert.equal(await payouts.tokensOf('USDC', destination), withdrawal.netAtoms)
    assert.equal(await atDepositAddresses(payouts, 'USDC'), 0n)
  })

  for (const asset of ['ETH', 'USDC'] as const)
    it(`takes ${asset} that comes while its sum is read with the next sweep: nothing is left behind unseen`, async () => {
      const { anvil, gateway, port } = payouts
      const payment = await payouts.pay(asset, 100n)
      let isFirst = true
      const slow: ChainPort = {
        ...port,
        async holdings(query) {
          if (isFirst && query.addresses.includes(payment.address)) {
            isFirst = false
            if (asset === 'ETH') await anvil.send({ to: payment.address, value: payment.dueAtoms })
            else await anvil.call(payouts.usdc, 'transfer', [payment.address, payment.dueAtoms])
            await payouts.confirm()
          }
          return port.holdings(query)
        },
      }
      assert.equal(await planSweeps(gateway, slow, await feeRates(gateway, port)), 1)
      assert.ok(!isFirst)
      await payouts.finish()
      await payouts.finish()
      const left = await port.holdings({ outpoints: [], addresses: [payment.address] })
      assert.equal(left[asset], 0n)
    })

  it('proves that what is said to be swept has left its address', async () => {
    const { gateway } = payouts
    const payment = await payouts.pay('ETH', 100n)
    const lie =
      "update deposits set sweep = (select id from sweeps where status = 'done' limit 1) where address = $1"
    await gateway.db.query(lie, [payment.address])
    const { differences } = await reconcile(gateway.db, [])
    assert.deepEqual(
      differences.map(({ proof, subject, expectedAtoms, foundAtoms }) => [
        proof,
        subject,
        expectedAtoms,
        foundAtoms,
      ]),
      [['swept deposits = sweeps', `address ${payment.address}`, payment.dueAtoms, 0n]],
    )
    await gateway.db.query('update deposits set sweep = null where address = $1', [payment.address])
    await payouts.finish()
  })
})

describe('sweeping on a chain with EIP-7702', () => {
  const payouts = newer
  const { anvil, gateway, port } = payouts

  it('deploys the delegate with the wallet, once, and sweeps even one token through it', async () => {
    await payouts.turn()
    assert.deepEqual(await kindsOf(payouts), { deploy: 1 }, 'before there is anything to sweep')
    for (let round = 0; round < 2; round++) {
      await payouts.earn('USDC', 100n)
      await payouts.finish()
    }
    assert.deepEqual(await kindsOf(payouts), { deploy: 1, batch: 2 })
    assert.equal((await port.batchSweeping?.(payouts.hotWallet, []))?.isDeployed, true)
  })

  it('brings tokens of many addresses in one transaction, to the atom', async () => {
    const before = await held(payouts)
    const paid = { USDC: 0n, USDT: 0n }
    for (const asset of ['USDC', 'USDT', 'USDC', 'USDT', 'USDC'] as const)
      paid[asset] += await payouts.earn(asset, 100n)
    await payouts.finish()
    const now = await held(payouts)
    assert.deepEqual([now.USDC - before.USDC, now.USDT - before.USDT], [paid.USDC, paid.USDT])
    assert.equal((await kindsOf(payouts)).batch, 3)
  })

  it('takes a further deposit of an address without another authorisation, ether and a deposit not booked yet included', async () => {
    const payment = await payouts.pay('USDC', 100n)
    const other = await payouts.pay('USDC', 100n)
    await payouts.finish()
    const { batch } = await kindsOf(payouts)
    await anvil.call(payouts.usdc, 'transfer', [payment.address, 70_000_000n])
    await anvil.send({ to: other.address, value: 10n ** 17n })
    await payouts.confirm()
    await anvil.call(payouts.usdc, 'transfer', [payment.address, 50_000_000n])
    await anvil.mine()
    await payouts.follow()
    await payouts.finish()
    await payouts.finish()
    assert.equal(await payouts.tokensOf('USDC', payment.address), 0n)
    assert.equal(await anvil.balance(other.address), 0n)
    assert.equal((await kindsOf(payouts)).batch, (batch ?? 0) + 1)
    const { unswept } = await reconcile(gateway.db, [port])
    assert.deepEqual(unswept, [])
  })

  it('goes on when a token refuses one of a batch; that one is tried again after a day, not before', async () => {
    const blocked = await payouts.pay('USDC', 100n)
    await payouts.earn('USDC', 100n)
    await anvil.call(payouts.usdc, 'addBlackList', [blocked.address])
    await anvil.mine()
    await payouts.follow()
    await payouts.finish()
    assert.equal(await atDepositAddresses(payouts, 'USDC'), blocked.dueAtoms)
    const { unswept } = await reconcile(gateway.db, [port])
    assert.deepEqual(unswept, [{ chain: 'ethereum', asset: 'USDC', addresses: 1n, atoms: blocked.dueAtoms }])
    const kinds = await kindsOf(payouts)
    await payouts.finish()
    assert.deepEqual(await kindsOf(payouts), kinds)
    await gateway.db.query("update sweeps set created_at = created_at - interval '25 hours'")
    await anvil.call(payouts.usdc, 'removeBlackList', [blocked.address])
    await anvil.mine()
    await payouts.follow()
    await payouts.finish()
    assert.equal(await atDepositAddresses(payouts, 'USDC'), 0n)
  })

  it('plans nothing while the node is on another branch than was followed: nonces that are unused there are used again', async () => {
    const payment = await payouts.pay('USDC', 100n)
    await payouts.finish()
    const nonceOf = async () =>
      (await gateway.db.query('select next from nonces where sender = $1', [payment.address])).rows
    const used = await nonceOf()
    assert.deepEqual(used, [{ next: 1n }], 'the authorisation took the first one')
    await anvil.send({ to: payment.address, value: 10n ** 17n })
    await payouts.confirm()
    const rates = await feeRates(gateway, port)
    // The batch was in none of its blocks.
    const elsewhere: ChainPort = {
      ...port,
      blockHash: async () => `0x${'5e'.repeat(32)}`,
      nextNonce: async () => 0n,
    }
    assert.equal(await planSweeps(gateway, elsewhere, rates), 0)
    assert.deepEqual(await nonceOf(), used)
    // Where coins are not there yet, no earlier sweep took them.
    const empty: ChainPort = { ...elsewhere, holdings: async () => ({}) }
    assert.equal(await planSweeps(gateway, empty, rates), 0)
    await payouts.finish()
    await payouts.finish()
    assert.equal(await anvil.balance(payment.address), 0n)
    assert.deepEqual((await reconcile(gateway.db, [port])).differences, [])
  })

  it('plans nothing on a branch that a batch is to come back to: no sweep is signed with what it authorised with', async () => {
    const payment = await payouts.create('USDC', 100n)
    await anvil.call(payouts.usdc, 'transfer', [payment.address, payment.dueAtoms])
    await payouts.confirm()
    await anvil.send({ to: payment.address, value: 10n ** 17n })
    await anvil.mine()
    await payouts.turn()
    await payouts.turn()
    await anvil.mine(CONFIRMATIONS)
    await payouts.follow()
    await confirmSigned(gateway, port)
    const { rows } = await gateway.db.query<{ status: string; depth: bigint }>(
      `select s.status, c.tip_height - t.block_height + 1 as depth from sweeps s join chains c on c.chain = s.chain
       join signed_transactions t on t.chain = s.chain and t.txid = s.replacement_set where s.address = $1`,
      [payment.address],
    )
    assert.deepEqual(rows, [{ status: 'done', depth: BigInt(CONFIRMATIONS) }])
    // The watcher follows the other branch, and the payer has not looked since.
    await anvil.reorganise(CONFIRMATIONS)
    await payouts.follow()
    assert.equal(await port.nextNonce?.(payment.address), 0n)
    assert.equal(await planSweeps(gateway, port, await feeRates(gateway, port)), 0)
    await payouts.finish()
    await payouts.finish()
    assert.equal(await payouts.tokensOf('USDC', payment.address), 0n)
    assert.equal(await anvil.balance(payment.address), 0n)
    assert.deepEqual((await reconcile(gateway.db, [port])).differences, [])
  })

  for (const depth of [1, CONFIRMATIONS + 1])
    it(`a reorganisation of ${depth} takes the batch: it is sent again and counts once`, async () => {
      const before = await held(payouts)
      const paid = (await payouts.earn('USDC', 100n)) + (await payouts.earn('USDC', 100n))
      await payouts.turn()
      await payouts.turn()
      await payouts.mineAndTurn(depth)
      await anvil.reorganise(depth)
      await payouts.follow()
      await payouts.finish()
      assert.equal((await held(payouts)).USDC - before.USDC, paid)
    })

  it('an intruder who owns the database moves nothing to where we are not', async () => {
    const [paid, other] = [await payouts.pay('USDC', 100n), await payouts.pay('USDC', 100n)]
    const thief = `0x${'7e'.repeat(20)}`
    await payouts.turn()
    const kinds = await kindsOf(payouts)
    await gateway.db.query(
      `insert into sweep_delegates (chain, address, wanted_since) values ('ethereum', $1, now())`,
      [thief],
    )
    await gateway.db.query(`update sweeps set address = $1 where status = 'planned' and address = $2`, [
      thief,
      paid.address,
    ])
    await gateway.db.query(
      `update sweeps set position = position + 1 where status = 'planned' and address = $1`,
      [other.address],
    )
    await signAll(payouts.signer)
    assert.deepEqual(await kindsOf(payouts), kinds, 'nothing was signed')
    const { differences } = await reconcile(gateway.db, [])
    assert.deepEqual(
      differences.map(({ proof, subject }) => [proof, subject]),
      [['swept deposits = sweeps', `address ${paid.address}`]],
      'and it is noticed',
    )
    await gateway.db.query(`update sweeps set address = $1 where status = 'planned' and address = $2`, [
      paid.address,
      thief,
    ])
    await gateway.db.query(
      `update sweeps set position = position - 1 where status = 'planned' and address = $1`,
      [other.address],
    )
    await gateway.db.query('delete from sweep_delegates where address = $1', [thief])
    await payouts.finish()
    assert.equal(await payouts.tokensOf('USDC', thief), 0n)
    assert.equal(await payouts.tokensOf('USDC', paid.address), 0n)
  })

  it('a batch that no block takes is sent again at a higher fee, authorisations included', async () => {
    const before = await held(payouts)
    const paid = (await payouts.earn('USDT', 100n)) + (await payouts.earn('USDT', 100n))
    await payouts.turn()
    await payouts.turn()
    await payouts.setBaseFee(100n * 10n ** 9n)
    await payouts.pass(4)
    await payouts.turn()
    await payouts.turn()
    await payouts.finish()
    assert.equal((await held(payouts)).USDT - before.USDT, paid)
    assert.equal((await kindsOf(payouts)).replacement, 1)
  })
})

async function held({ port, hotWallet }: EthereumPayouts): Promise<Record<'ETH' | 'USDC' | 'USDT', bigint>> {
  const { ETH = 0n, USDC = 0n, USDT = 0n } = await port.holdings({ outpoints: [], addresses: [hotWallet] })
  return { ETH, USDC, USDT }
}

async function atDepositAddresses({ gateway, port }: EthereumPayouts, asset: Asset): Promise<bigint> {
  const { rows } = await gateway.db.query<{ address: string }>('select distinct address from deposits')
  return (await port.holdings({ outpoints: [], addresses: rows.map((row) => row.address) }))[asset] ?? 0n
}

/** How many transactions of each kind were signed. */
async function kindsOf({ gateway }: EthereumPayouts): Promise<Record<string, number>> {
  const { rows } = await gateway.db.query<{ kind: string; count: bigint }>(
    'select kind, count(*) as count from signed_transactions group by kind',
  )
  return Object.fromEntries(rows.map(({ kind, count }) => [kind, Number(count)]))
}
