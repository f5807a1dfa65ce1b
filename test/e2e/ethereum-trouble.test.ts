import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { ethereumRoad } from './ethereum-road.ts'
import { outlastOutage } from './outage.ts'

const road = await ethereumRoad()
const { anvil, gateway } = road
const buyer = anvil.accounts[2] ?? ''
const rival = anvil.accounts[3] ?? ''
for (const account of [buyer, rival]) await anvil.call(road.usdc, 'transfer', [account, 10n ** 12n])

describe('a reorganisation on a real Ethereum node', () => {
  afterEach(() => road.prove())

  it('before completion takes a deposit out of its block; it confirms anew when its bytes come back', async () => {
    const payment = await road.create('ETH')
    await anvil.send({ from: buyer, to: payment.address, value: payment.dueAtoms })
    await anvil.mine(3)
    await road.follow()
    assert.equal((await road.show(payment)).confirmations, 3)

    const sendAgain = await anvil.reorganise(3)
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['detected', ['reorganised']])
    await sendAgain()
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['completed', ['confirmed']])
    assert.deepEqual(await road.events(payment), [
      'payment.created',
      'payment.confirming',
      'payment.completed',
    ])
  })

  it('that moves a token transfer within its block is no second deposit', async () => {
    const payment = await road.create('USDC')
    await anvil.call(road.usdc, 'transfer', [payment.address, payment.dueAtoms], { from: buyer })
    await anvil.mine(2)
    await road.follow()
    const sendAgain = await anvil.reorganise(2)
    await anvil.call(road.usdc, 'transfer', [anvil.accounts[4] ?? '', 1n], { from: rival })
    await sendAgain()
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['completed', ['confirmed']])
  })

  it('in which the buyer uses its nonce elsewhere gives the quote back at once, as on Bitcoin', async () => {
    const payment = await road.create('ETH')
    const token = await road.create('USDC')
    const nonce = Number(await anvil.rpc<string>('eth_getTransactionCount', [buyer, 'latest']))
    await anvil.send({ from: buyer, to: payment.address, value: payment.dueAtoms })
    await anvil.call(road.usdc, 'transfer', [token.address, token.dueAtoms], { from: buyer })
    await anvil.mine(2)
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['detected', ['seen']])
    await anvil.reorganise(2)
    await anvil.send({ from: buyer, to: rival, value: 1n, nonce })
    // Reverts, and uses the nonce all the same.
    await anvil.send({ from: buyer, to: road.usdc, data: '0xdeadbeef', nonce: nonce + 1 })
    await anvil.mine(1)
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['pending', ['replaced']])
    assert.deepEqual(await road.statusOf(token), ['pending', ['replaced']])
    assert.equal((await road.show(payment)).detected_at, null)

    await anvil.send({ from: buyer, to: payment.address, value: payment.dueAtoms })
    await road.confirm()
    // The times of the node's blocks decide which of them was seen first.
    const [status, deposits] = await road.statusOf(payment)
    assert.deepEqual([status, deposits.toSorted()], ['completed', ['confirmed', 'replaced']])
  })

  it('in which the buyer pays again with the same nonce counts from when it was first seen', async () => {
    const payment = await road.create('ETH')
    const nonce = Number(await anvil.rpc<string>('eth_getTransactionCount', [buyer, 'latest']))
    await anvil.send({ from: buyer, to: payment.address, value: payment.dueAtoms })
    await anvil.mine()
    await road.follow()
    await road.endWindow(payment)
    await anvil.reorganise(1)
    await anvil.send({ from: buyer, to: payment.address, value: payment.dueAtoms, data: '0xbb', nonce })
    await road.confirm()
    // The times of the node's blocks decide which of them was seen first.
    const [status, deposits] = await road.statusOf(payment)
    assert.deepEqual([status, deposits.toSorted()], ['completed', ['confirmed', 'replaced']])
  })

  it('of ether that a contract sent ends the old deposit: it comes back as another, counted once', async () => {
    const payer = await anvil.deploy('Payer')
    const payment = await road.create('ETH')
    await anvil.call(payer, 'payAll', [[payment.address]], { from: buyer, value: payment.dueAtoms })
    await anvil.mine(2)
    await road.follow()
    const sendAgain = await anvil.reorganise(2)
    await road.follow()
    await sendAgain()
    await road.confirm()
    // The times of the node's blocks decide which of them was seen first.
    const [status, deposits] = await road.statusOf(payment)
    assert.deepEqual([status, deposits.toSorted()], ['completed', ['confirmed', 'replaced']])
  })

  it('after completion takes the credit back, and gives it again without a second event', async () => {
    const payment = await road.create('USDC')
    const before = await road.balance('USDC', 'available')
    await anvil.call(road.usdc, 'transfer', [payment.address, payment.dueAtoms], { from: buyer })
    await road.confirm()
    const credited = await road.balance('USDC', 'available')
    assert.equal(credited - before, (payment.dueAtoms * 99n) / 100n)

    const sendAgain = await anvil.reorganise(12)
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['detected', ['reorganised']])
    assert.equal(await road.balance('USDC', 'available'), before)
    await road.prove()

    await sendAgain()
    await road.confirm()
    assert.deepEqual(await road.statusOf(payment), ['completed', ['confirmed']])
    assert.equal(await road.balance('USDC', 'available'), credited)
    assert.deepEqual(await road.events(payment), [
      'payment.created',
      'payment.confirming',
      'payment.completed',
    ])
  })

  it('after completion that lets the buyer spend the coins elsewhere leaves nothing credited', async () => {
    const payment = await road.create('ETH')
    const before = await road.balance('ETH', 'available')
    await anvil.send({ from: buyer, to: payment.address, value: payment.dueAtoms })
    await road.confirm()
    assert.equal((await road.show(payment)).status, 'completed')
    const sendAgain = await anvil.reorganise(12)
    // The same nonce pays somebody else.
    await anvil.send({ from: buyer, to: rival, value: 1n })
    await road.confirm()
    await assert.rejects(sendAgain(), /nonce too low/i)
    assert.deepEqual(await road.statusOf(payment), ['failed', ['replaced']])
    assert.equal(await road.balance('ETH', 'available'), before)
    assert.equal((await road.events(payment)).at(-1), 'payment.expired')
  })

  it('after which nobody sees a transaction again waits an hour for it, and ends the payment then', async () => {
    const payment = await road.create('ETH')
    await anvil.send({ from: buyer, to: payment.address, value: payment.dueAtoms })
    await road.confirm()
    await anvil.reorganise(12)
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['detected', ['reorganised']])
    await gateway.db.query("update deposits set missing_since = missing_since - interval '61 minutes'")
    await gateway.db.query("update payments set expires_at = now() - interval '1 second' where id = $1", [
      payment.id,
    ])
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['failed', ['dropped']])
    assert.equal((await road.events(payment)).at(-1), 'payment.expired')
  })
})

describe('a real Ethereum node that is stopped', () => {
  afterEach(() => road.prove())

  it('refuses new payments, expires none, and is caught up with when it is back', async () => {
    const waiting = await road.create('ETH')
    const paid = await road.create('ETH')
    await anvil.send({ from: buyer, to: paid.address, value: paid.dueAtoms })
    await anvil.mine()
    await anvil.stop()
    await assert.rejects(road.follow(), /cannot be reached/)
    await outlastOutage(road, { waiting, paid }, () => anvil.start())
  })

  it('and has mined a hundred blocks alone is followed through all of them', async () => {
    const payments = [await road.create('ETH'), await road.create('USDC')]
    for (const payment of payments) {
      if (payment.asset === 'ETH')
        await anvil.send({ from: buyer, to: payment.address, value: payment.dueAtoms })
      else await anvil.call(road.usdc, 'transfer', [payment.address, payment.dueAtoms], { from: buyer })
      await anvil.mine(50)
    }
    await road.follow()
    for (const payment of payments)
      assert.deepEqual(await road.statusOf(payment), ['completed', ['confirmed']])
  })
})
