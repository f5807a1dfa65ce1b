import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { showId } from '../../src/core/ids.ts'
import { formatDecimal } from '../../src/core/money.ts'
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

describe('a fee that the buyer bumps on a real Litecoin node', () => {
  const coins = (atoms: bigint) => formatDecimal(atoms, 8)
  afterEach(() => road.prove())

  it('before, at and after the end of the window leaves the payment in time: it completes at its quote', async () => {
    const payment = await road.create('LTC')
    const amount = coins(payment.dueAtoms)
    let txid = await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await road.follow()
    const bump = async (): Promise<void> => {
      txid = await node.replace(txid, [[payment.address, amount]])
    }
    await bump()
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['detected', ['replaced', 'seen']])

    await road.endWindow(payment)
    await node.call('prioritisetransaction', txid, 0, -900_000)
    await bump()
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['detected', ['replaced', 'replaced', 'seen']])
    await node.call('prioritisetransaction', txid, 0, -900_000)
    await bump()
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), [
      'completed',
      ['replaced', 'replaced', 'replaced', 'confirmed'],
    ])
    const { deposits } = await road.show(payment)
    assert.ok(deposits.every((deposit) => !deposit.late))
    assert.deepEqual(await road.events(payment), LIFE)
  })

  it('and that is first seen in its block, after the window, counts all the same', async () => {
    const payment = await road.create('LTC')
    const txid = await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await road.follow()
    await road.endWindow(payment)
    await node.replace(txid, [[payment.address, coins(payment.dueAtoms)]])
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['completed', ['replaced', 'confirmed']])
  })

  it('completes the payment too where the account takes late funds by itself', async () => {
    await gateway.db.query('update accounts set accepts_late_funds = true where id = $1', [road.account.id])
    const payment = await road.create('LTC')
    const txid = await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await road.follow()
    await road.endWindow(payment)
    await node.replace(txid, [[payment.address, coins(payment.dueAtoms)]])
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['completed', ['replaced', 'confirmed']])
    assert.deepEqual(await road.events(payment), LIFE)
    await gateway.db.query('update accounts set accepts_late_funds = false where id = $1', [road.account.id])
  })

  it('makes nothing else that the same coins pay a part of a payment that is in time', async () => {
    const [payment, other] = [await road.create('LTC'), await road.create('LTC')]
    const txid = await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await road.follow()
    await road.endWindow(payment)
    await road.endWindow(other)
    await node.replace(txid, [[other.address, coins(other.dueAtoms)]])
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['failed', ['replaced']])
    const { status, deposits } = await road.show(other)
    assert.deepEqual([status, deposits.map((deposit) => deposit.late)], ['expired', [true]])
  })

  it('and that pays elsewhere in between comes too late: the merchant was told that it failed', async () => {
    const payment = await road.create('LTC')
    const txid = await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await road.follow()
    await road.endWindow(payment)
    const elsewhere = await node.replace(txid)
    await road.follow()
    assert.equal((await road.show(payment)).status, 'failed')
    await node.call('prioritisetransaction', elsewhere, 0, -900_000)
    await node.replace(elsewhere, [[payment.address, coins(payment.dueAtoms)]])
    await road.confirm()
    const { status, deposits } = await road.show(payment)
    assert.deepEqual([status, deposits.map((deposit) => deposit.late)], ['failed', [false, true]])
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
      `payment:${showId('pay', payment.id)}:settle:1`,
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
