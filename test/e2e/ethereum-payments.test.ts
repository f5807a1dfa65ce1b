import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterEach, describe, it } from 'node:test'
import { ethereumRoad } from './ethereum-road.ts'

const road = await ethereumRoad()
const { anvil } = road
const net = (due: bigint) => (due * 99n) / 100n
/** A dev account that pays, so that it is not the coinbase or a deployer. */
const buyer = anvil.accounts[2] ?? ''
for (const token of [road.usdc, road.usdt]) await anvil.call(token, 'transfer', [buyer, 10n ** 12n])

describe('a payment on a real Ethereum node', () => {
  afterEach(() => road.prove())

  it('in ether is detected in its first block and completed at its twelfth', async () => {
    const before = await road.balance('ETH', 'available')
    const payment = await road.create('ETH')
    assert.equal(payment.dueAtoms, 10n ** 16n)
    const hash = await anvil.send({ from: buyer, to: payment.address, value: payment.dueAtoms })
    await road.follow()
    assert.equal((await road.show(payment)).status, 'pending', 'Ethereum is read from blocks only')
    await anvil.mine()
    await road.follow()
    const seen = await road.show(payment)
    assert.deepEqual([seen.status, seen.confirmations, seen.deposits[0]?.tx_hash], ['detected', 1, hash])
    await anvil.mine(10)
    await road.follow()
    assert.deepEqual(
      [(await road.show(payment)).status, (await road.show(payment)).confirmations],
      ['detected', 11],
    )
    await anvil.mine()
    await road.follow()
    const done = await road.show(payment)
    assert.equal(done.status, 'completed')
    assert.ok(done.completed_at)
    assert.equal((await road.balance('ETH', 'available')) - before, net(payment.dueAtoms))
    assert.deepEqual(await road.events(payment), [
      'payment.created',
      'payment.confirming',
      'payment.completed',
    ])
  })

  for (const asset of ['USDC', 'USDT'] as const) {
    it(`in ${asset} is completed${asset === 'USDT' ? ', though the token answers nothing' : ''}`, async () => {
      const payment = await road.create(asset)
      assert.equal(payment.dueAtoms, 25_000_000n)
      const token = asset === 'USDC' ? road.usdc : road.usdt
      await anvil.call(token, 'transfer', [payment.address, payment.dueAtoms], { from: buyer })
      await road.confirm()
      assert.equal((await road.show(payment)).status, 'completed')
      assert.equal(await road.balance(asset, 'available'), net(payment.dueAtoms))
    })
  }

  it('that is lower is underpaid, and a top-up within the window completes it', async () => {
    const payment = await road.create('ETH')
    await anvil.send({ from: buyer, to: payment.address, value: payment.dueAtoms - 10n ** 15n })
    await road.confirm()
    assert.equal((await road.show(payment)).status, 'underpaid')
    assert.equal(await road.balance('ETH', 'unresolved'), payment.dueAtoms - 10n ** 15n)
    await anvil.send({ from: buyer, to: payment.address, value: 10n ** 15n })
    await anvil.mine()
    await road.follow()
    assert.equal((await road.show(payment)).status, 'detected')
    await road.confirm()
    assert.equal((await road.show(payment)).status, 'completed')
    assert.equal(await road.balance('ETH', 'unresolved'), 0n)
  })

  it('that is higher is overpaid: the quote is credited, the excess is held', async () => {
    const payment = await road.create('USDC')
    const before = await road.balance('USDC', 'available')
    await anvil.call(road.usdc, 'transfer', [payment.address, payment.dueAtoms + 5_000_000n], { from: buyer })
    await road.confirm()
    assert.equal((await road.show(payment)).status, 'overpaid')
    assert.equal((await road.balance('USDC', 'available')) - before, net(payment.dueAtoms))
    assert.equal(await road.balance('USDC', 'unresolved'), 5_000_000n)
  })

  it('forwarded by contracts three calls deep is completed, and names its transaction', async () => {
    const hops = [await anvil.deploy('Hop'), await anvil.deploy('Hop'), await anvil.deploy('Hop')]
    const payment = await road.create('ETH')
    const hash = await anvil.call(hops[0] ?? '', 'pass', [[...hops.slice(1), payment.address]], {
      from: buyer,
      value: payment.dueAtoms,
    })
    await road.confirm()
    const done = await road.show(payment)
    assert.deepEqual([done.status, done.deposits.map((deposit) => deposit.tx_hash)], ['completed', [hash]])
  })

  it('half sent directly and half by a contract, in one block, is completed', async () => {
    const payer = await anvil.deploy('Payer')
    const payment = await road.create('ETH')
    const half = payment.dueAtoms / 2n
    await anvil.send({ from: buyer, to: payment.address, value: half })
    await anvil.call(payer, 'payAll', [[payment.address]], { from: buyer, value: half })
    await road.confirm()
    const done = await road.show(payment)
    assert.equal(done.status, 'completed')
    assert.deepEqual(
      done.deposits.map((deposit) => deposit.amount_atoms),
      [String(half), String(half)],
    )
  })

  it('is not moved by reverted calls, fake tokens of the same symbol, or zero-value transfers in our name', async () => {
    const payer = await anvil.deploy('Payer')
    const fake = await anvil.deploy('UsdCoin')
    const ether = await road.create('ETH')
    const token = await road.create('USDC')
    await anvil.call(payer, 'payAndRevert', [ether.address], { from: buyer, value: ether.dueAtoms })
    await anvil.call(payer, 'tryToPay', [ether.address], { from: buyer, value: ether.dueAtoms })
    await anvil.call(fake, 'transfer', [token.address, token.dueAtoms])
    await anvil.call(road.usdc, 'transferFrom', [randomAddress(), token.address, 0n])
    await anvil.call(road.usdc, 'transferFrom', [token.address, randomAddress(), 0n])
    await road.confirm()
    for (const payment of [ether, token]) {
      const view = await road.show(payment)
      assert.deepEqual([view.status, view.deposits], ['pending', []])
      assert.deepEqual(await road.events(payment), ['payment.created'])
    }
  })

  it('that receives another coin records it, holds it and shows it, and still waits for its own', async () => {
    const payment = await road.create('ETH')
    const held = await road.balance('USDC', 'unresolved')
    await anvil.call(road.usdc, 'transfer', [payment.address, 7_000_000n], { from: buyer })
    await road.confirm()
    const view = await road.show(payment)
    assert.equal(view.status, 'pending')
    assert.deepEqual(
      view.deposits.map((deposit) => [deposit.asset, deposit.amount, deposit.status]),
      [['USDC', '7', 'confirmed']],
    )
    assert.equal((await road.balance('USDC', 'unresolved')) - held, 7_000_000n)
    await anvil.send({ from: buyer, to: payment.address, value: payment.dueAtoms })
    await road.confirm()
    assert.equal((await road.show(payment)).status, 'completed')
  })

  it('finds 50 payments in one block, whichever way each was paid', async () => {
    const payer = await anvil.deploy('Payer')
    const payments = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        road.create((['ETH', 'USDC', 'USDT', 'ETH'] as const)[i % 4] ?? 'ETH'),
      ),
    )
    const byContract = payments.filter((_, i) => i % 4 === 3)
    for (const [i, payment] of payments.entries()) {
      if (i % 4 === 3) continue
      if (payment.asset === 'ETH')
        await anvil.send({ from: buyer, to: payment.address, value: payment.dueAtoms })
      else
        await anvil.call(
          payment.asset === 'USDC' ? road.usdc : road.usdt,
          'transfer',
          [payment.address, payment.dueAtoms],
          {
            from: buyer,
          },
        )
    }
    await anvil.call(payer, 'payAll', [byContract.map((payment) => payment.address)], {
      from: buyer,
      value: byContract.reduce((sum, payment) => sum + payment.dueAtoms, 0n),
    })
    await road.confirm()
    for (const payment of payments) assert.equal((await road.show(payment)).status, 'completed')
  })
})

const randomAddress = (): string => `0x${randomBytes(20).toString('hex')}`
