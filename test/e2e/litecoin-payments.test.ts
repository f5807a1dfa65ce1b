import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { litecoinRoad } from './litecoin-road.ts'

const road = await litecoinRoad()
const { node } = road
const net = (due: bigint) => (due * 99n) / 100n
const LIFE = ['payment.created', 'payment.confirming', 'payment.completed']

describe('a payment on a real Litecoin node', () => {
  afterEach(() => road.prove())

  it('is detected in the mempool, counts its blocks, and is completed at the sixth', async () => {
    const before = await road.balance('LTC', 'available')
    const payment = await road.create('LTC')
    assert.equal(payment.dueAtoms, 25_000_000n)
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['pending', []])

    const txid = await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await road.follow()
    const seen = await road.show(payment)
    assert.deepEqual([seen.status, seen.confirmations, seen.deposits[0]?.tx_hash], ['detected', 0, txid])
    assert.ok(seen.detected_at)
    for (let confirmations = 1; confirmations <= 5; confirmations++) {
      await node.mine()
      await road.follow()
      const view = await road.show(payment)
      assert.deepEqual([view.status, view.confirmations], ['detected', confirmations])
    }
    await node.mine()
    await road.follow()
    const done = await road.show(payment)
    assert.deepEqual([done.status, done.confirmations], ['completed', 6])
    assert.ok(done.completed_at)
    assert.equal((await road.balance('LTC', 'available')) - before, net(payment.dueAtoms))
    assert.deepEqual(await road.events(payment), LIFE)
  })

  it('that is lower is underpaid, and a top-up within the window completes it', async () => {
    const payment = await road.create('LTC')
    const available = await road.balance('LTC', 'available')
    await road.pay({ address: payment.address, atoms: payment.dueAtoms - 5_000n })
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['underpaid', ['confirmed']])
    assert.equal(await road.balance('LTC', 'unresolved'), payment.dueAtoms - 5_000n)
    assert.equal(await road.balance('LTC', 'available'), available)
    await road.prove()

    await road.pay({ address: payment.address, atoms: 5_000n })
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['detected', ['confirmed', 'seen']])
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['completed', ['confirmed', 'confirmed']])
    assert.equal(await road.balance('LTC', 'unresolved'), 0n)
    assert.equal((await road.balance('LTC', 'available')) - available, net(payment.dueAtoms))
    assert.deepEqual(await road.events(payment), LIFE)
  })

  it('in two parts, the second before the first confirms, is completed with the second', async () => {
    const payment = await road.create('LTC')
    await road.pay({ address: payment.address, atoms: 20_000_000n })
    await node.mine(3)
    await road.pay({ address: payment.address, atoms: payment.dueAtoms - 20_000_000n })
    await node.mine(3)
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['detected', ['confirmed', 'seen']])
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['completed', ['confirmed', 'confirmed']])
  })

  it('that is higher is overpaid: the quote is credited, the excess is held', async () => {
    const payment = await road.create('LTC')
    const held = await road.balance('LTC', 'unresolved')
    const available = await road.balance('LTC', 'available')
    await road.pay({ address: payment.address, atoms: payment.dueAtoms + 700_000n })
    await road.confirm()
    assert.equal((await road.show(payment)).status, 'overpaid')
    assert.equal((await road.balance('LTC', 'unresolved')) - held, 700_000n)
    assert.equal((await road.balance('LTC', 'available')) - available, net(payment.dueAtoms))
    assert.deepEqual(await road.events(payment), LIFE)
  })

  it('is no deposit below the dust threshold', async () => {
    const payment = await road.create('LTC')
    // What a miner may put into a block and nodes do not relay.
    const raw = await node.sign([[payment.address, '0.00002939']])
    await node.call('generateblock', await node.address(), [raw])
    node.forget()
    await road.confirm()
    assert.equal((await road.show(payment)).status, 'pending')
    assert.deepEqual(await road.events(payment), ['payment.created'])
    await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await road.confirm()
    assert.equal((await road.show(payment)).status, 'completed')
  })

  it('shares its transaction with another payment', async () => {
    const [one, two] = [await road.create('LTC'), await road.create('LTC', 50n)]
    const txid = await road.pay(
      { address: two.address, atoms: two.dueAtoms },
      { address: one.address, atoms: one.dueAtoms },
    )
    await road.confirm()
    for (const payment of [one, two]) {
      const view = await road.show(payment)
      assert.deepEqual([view.status, view.deposits.map((deposit) => deposit.tx_hash)], ['completed', [txid]])
    }
  })

  it('finds 50 payments in one block', async () => {
    await node.fanOut(50, '0.3')
    const payments = await Promise.all(Array.from({ length: 50 }, () => road.create('LTC')))
    const available = await road.balance('LTC', 'available')
    for (const { address, dueAtoms } of payments) await road.pay({ address, atoms: dueAtoms })
    await node.mine()
    const { height, hash } = await node.tip()
    assert.equal((await node.call<{ nTx: number }>('getblockheader', hash)).nTx, 51)
    await road.confirm()
    for (const payment of payments) assert.equal((await road.show(payment)).status, 'completed')
    assert.equal((await road.balance('LTC', 'available')) - available, 50n * net(25_000_000n))
    const { rows } = await road.gateway.db.query<{ blocks: bigint }>(
      'select count(*) as blocks from deposits where block_height = $1',
      [height],
    )
    assert.equal(rows[0]?.blocks, 50n)
  })

  it('out of the MWEB is found in the HogEx of its block', async () => {
    await node.approachMweb()
    await node.mine()
    await road.follow()
    const payment = await road.create('LTC')
    await node.pegOut(payment.address, '0.25')
    await road.follow()
    assert.equal(
      (await road.show(payment)).status,
      'pending',
      'nothing outside the MWEB shows it before its block',
    )
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['completed', ['confirmed']])
    assert.deepEqual(await road.events(payment), LIFE)
  })
})
