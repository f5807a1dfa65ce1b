/** Sweeps of ether while gas gets dearer, on a real Anvil: what they move is never spent on moving it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Payment } from '../../src/payments/payment.ts'
import { wishBump } from '../../src/treasury/signed-transactions.sql.ts'
import { payOnce } from '../payouts.ts'
import { ethereumPayouts } from './ethereum-payouts.ts'

const GWEI = 10n ** 9n
const ETHER_GAS = 21_000n
const STRANGER = `0x${'7'.repeat(40)}`
const payouts = await ethereumPayouts({ confirmations: 2 })
const { anvil, gateway, port } = payouts
await payouts.setBaseFee(GWEI)

describe('a sweep of ether that was signed before gas became dearer', () => {
  it('waits while it is not worth its gas, however long, and offers more when it is', async () => {
    const { payment, set } = await signedSweep()
    await costs(payment, 10n)
    for (let quarter = 0; quarter < 4; quarter++) {
      await payouts.pass(16)
      await payouts.turn()
      await payouts.turn()
    }
    assert.equal((await feesOf(payment)).length, 1)

    await costs(payment, 30n)
    await payouts.turn()
    await payouts.turn()
    const fees = await feesOf(payment)
    assert.equal(fees.length, 2)
    assert.ok(fees.every((fee) => fee * 20n <= payment.dueAtoms))
    await payouts.finish()
    assert.equal(await anvil.balance(payment.address), 0n)
    assert.ok(await isSettled(set))
  })

  it('offers up to half of what it moves while a withdrawal waits for ether, and no more', async () => {
    const { payment, set } = await signedSweep()
    await payouts.pass(4)
    await costs(payment, 3n)
    const asked = await payouts.request('ETH', '0.001', STRANGER)
    await payOnce(gateway, port)
    await payouts.turn()
    const fees = await feesOf(payment)
    assert.equal(fees.length, 2)
    assert.ok(
      fees.every((fee) => fee * 2n <= payment.dueAtoms) && fees.some((fee) => fee * 20n > payment.dueAtoms),
    )

    // The operator asks for more than that.
    await costs(payment, 1n)
    assert.ok(await wishBump(gateway.db, 'ethereum', set))
    await payouts.sign()
    assert.equal((await feesOf(payment)).length, 2)
    await payouts.setBaseFee(GWEI)
    // The node has let go of what it would not have mined at that price.
    await payouts.pass(1)
    await payouts.turn()
    await payouts.finish()
    assert.equal((await payouts.now(asked)).status, 'completed')
    assert.equal(await anvil.balance(payment.address), 0n)
  })

  it('is bumped by hand where that leaves half of it', async () => {
    const { payment, set } = await signedSweep()
    await costs(payment, 5n)
    assert.ok(await wishBump(gateway.db, 'ethereum', set))
    await payouts.sign()
    assert.equal((await feesOf(payment)).length, 2)
    await payouts.finish()
    assert.equal(await anvil.balance(payment.address), 0n)
  })
})

describe('a sweep of ether that was planned before gas became dearer', () => {
  it('is taken back, and planned again when it is worth its gas', async () => {
    const payment = await payouts.pay('ETH', 100n)
    await payouts.setBaseFee(GWEI)
    await payOnce(gateway, port)
    assert.deepEqual(await sweepsOf(payment), ['planned'])
    await costs(payment, 10n)
    await payOnce(gateway, port)
    assert.deepEqual(await sweepsOf(payment), [])
    await payouts.sign()
    assert.deepEqual(await feesOf(payment), [])
    await payouts.setBaseFee(GWEI)
    await payouts.finish()
    assert.deepEqual(await sweepsOf(payment), ['done'])
    assert.equal(await anvil.balance(payment.address), 0n)
  })

  it('is signed at no price that takes more than half of it, though the worker is away', async () => {
    const payment = await payouts.pay('ETH', 40n)
    await payouts.setBaseFee(GWEI)
    await payOnce(gateway, port)
    await costs(payment, 1n)
    await payouts.sign()
    assert.deepEqual([await sweepsOf(payment), await feesOf(payment)], [['planned'], []])
    await payouts.setBaseFee(GWEI)
    await payouts.finish()
    assert.equal(await anvil.balance(payment.address), 0n)
  })
})

/** Signed while gas is cheap, and in no block. */
async function signedSweep(): Promise<{ payment: Payment; set: string }> {
  const payment = await payouts.pay('ETH', 100n)
  await payouts.setBaseFee(GWEI)
  await payOnce(gateway, port)
  await payouts.sign()
  const { rows } = await gateway.db.query<{ txid: string }>(
    'select txid from signed_transactions where sender = $1',
    [payment.address],
  )
  return { payment, set: rows[0]?.txid ?? assert.fail('a sweep is signed') }
}

/** From now on what was paid is worth so many times the gas of its sweep. */
const costs = (payment: Payment, times: bigint) =>
  payouts.setBaseFee((payment.dueAtoms * 4n) / (5n * times * ETHER_GAS))

async function feesOf(payment: Payment): Promise<bigint[]> {
  const { rows } = await gateway.db.query<{ fee: bigint }>(
    'select fee_atoms as fee from signed_transactions where sender = $1 order by created_at',
    [payment.address],
  )
  return rows.map(({ fee }) => fee)
}

async function sweepsOf(payment: Payment): Promise<string[]> {
  const { rows } = await gateway.db.query<{ status: string }>(
    'select status from sweeps where address = $1',
    [payment.address],
  )
  return rows.map(({ status }) => status)
}

async function isSettled(set: string): Promise<boolean> {
  const { rows } = await gateway.db.query<{ status: string }>(
    'select status from signed_transactions where chain = $1 and replacement_set = $2',
    ['ethereum', set],
  )
  return rows.some(({ status }) => status === 'confirmed')
}
