import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { litecoinRoad } from './litecoin-road.ts'

const road = await litecoinRoad()
const { node, gateway } = road
const net = (due: bigint) => (due * 99n) / 100n
const LIFE = ['payment.created', 'payment.confirming', 'payment.completed']

describe('a replacement on a real Litecoin node', () => {
  afterEach(() => road.prove())

  it('that pays elsewhere gives the quote back, and the payment can still be paid', async () => {
    const payment = await road.create('LTC')
    const txid = await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['detected', ['seen']])

    await node.replace(txid)
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['pending', ['replaced']])
    assert.equal((await road.show(payment)).detected_at, null)
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['pending', ['replaced']])

    await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['completed', ['replaced', 'confirmed']])
  })

  it('that is first seen in its block replaces all the same', async () => {
    const payment = await road.create('LTC')
    const txid = await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await road.follow()
    await node.replace(txid)
    await node.mine()
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['pending', ['replaced']])
  })

  it('after the window fails the payment, with an event that says so', async () => {
    const payment = await road.create('LTC')
    const txid = await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await road.follow()
    await road.endWindow(payment)
    await node.replace(txid)
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['failed', ['replaced']])
    assert.deepEqual(await road.events(payment), ['payment.created', 'payment.confirming', 'payment.expired'])
  })
})

describe('a reorganisation on a real Litecoin node', () => {
  afterEach(() => road.prove())

  it('before completion takes the deposit out of its block; it waits again and confirms anew', async () => {
    const payment = await road.create('LTC')
    await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await node.mine(3)
    await road.follow()
    assert.equal((await road.show(payment)).confirmations, 3)

    await node.rollBack(3)
    for (let i = 0; i < 4; i++) await node.mineEmpty()
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['detected', ['seen']])
    assert.equal((await road.show(payment)).confirmations, 0)
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['completed', ['confirmed']])
    assert.deepEqual(await road.events(payment), LIFE)
  })

  it('after completion takes the credit back, and gives it again without a second event', async () => {
    const payment = await road.create('LTC')
    const before = await road.balance('LTC', 'available')
    await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await road.confirm()
    assert.equal((await road.balance('LTC', 'available')) - before, net(payment.dueAtoms))

    await node.rollBack(6)
    for (let i = 0; i < 7; i++) await node.mineEmpty()
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['detected', ['seen']])
    assert.equal(await road.balance('LTC', 'available'), before)
    await road.prove()

    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['completed', ['confirmed']])
    assert.equal((await road.balance('LTC', 'available')) - before, net(payment.dueAtoms))
    assert.deepEqual(await road.events(payment), LIFE)
  })

  it('after completion in which the buyer spends the coins elsewhere fails the payment', async () => {
    const payment = await road.create('LTC')
    const before = await road.balance('LTC', 'available')
    const txid = await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await road.confirm()
    assert.equal((await road.show(payment)).status, 'completed')

    await node.rollBack(6)
    await node.replace(txid)
    await node.mine(7)
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['failed', ['replaced']])
    assert.equal(await road.balance('LTC', 'available'), before)
    assert.deepEqual(await road.events(payment), [...LIFE, 'payment.expired'])
    const { rows } = await gateway.db.query<{ kind: string }>('select kind from alerts where subject = $1', [
      `payment:${payment.id}:settle:1`,
    ])
    assert.deepEqual(rows, [{ kind: 'settlement_reversed' }], 'the operator hears of it')
  })

  it('that only moves a deposit to another block of the same height counts it once', async () => {
    const payment = await road.create('LTC')
    await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await node.mine(2)
    await road.follow()
    const first = await node.rollBack(2)
    await node.mine(3)
    assert.notEqual(await node.call('getblockhash', (await node.tip()).height - 2), first)
    await road.follow()
    assert.equal((await road.show(payment)).confirmations, 3)
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['completed', ['confirmed']])
  })
})
