/** Tokens and prices that are out of the ordinary: USDT with its fee turned on, gas that is very dear. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { proveBlock } from '../../src/proof/prove-block.ts'
import { payOnce, signAll } from '../payouts.ts'
import { ethereumPayouts } from './ethereum-payouts.ts'

const GWEI = 10n ** 9n
const payouts = await ethereumPayouts({ confirmations: 2 })
const { anvil, gateway, port, signer } = payouts
// The sweep delegate is there.
for (let count = 0; count < 2; count++) await payouts.earn('USDC', 500n)
await payouts.finish()
const stranger = () => `0x${randomBytes(20).toString('hex')}`

describe('gas that is very dear', () => {
  it('makes batches smaller: no node is asked to send what may cost more than an ether', async () => {
    const before = await payouts.tokensOf('USDC', payouts.hotWallet)
    let paid = 0n
    for (let count = 0; count < 12; count++) paid += await payouts.earn('USDC', 20_000n)
    await payouts.setBaseFee(300n * GWEI)
    await payouts.finish()
    assert.equal((await payouts.tokensOf('USDC', payouts.hotWallet)) - before, paid)
    const { rows } = await gateway.db.query<{ most: bigint; dearest: bigint }>(
      "select max(fee_atoms) as most, max(fee_rate) as dearest from signed_transactions where kind = 'batch'",
    )
    assert.ok(rows[0] && rows[0].dearest > 400n * GWEI && rows[0].most <= 10n ** 18n / 2n)
  })
})

describe('USDT whose fee is turned on', () => {
  it('pays what arrives, and freezes when its sweeps lose some; other coins are swept and paid', async () => {
    await anvil.call(payouts.usdt, 'setParams', [10])
    await anvil.mine()
    await payouts.follow()
    for (let count = 0; count < 2; count++) {
      const payment = await payouts.create('USDT', 500n)
      await anvil.call(payouts.usdt, 'transfer', [payment.address, payment.dueAtoms])
      await payouts.confirm()
      const { status, deposits } = await payouts.show(payment)
      assert.deepEqual(
        [status, deposits.map(({ amount_atoms }) => amount_atoms)],
        ['underpaid', [String(payment.dueAtoms - payment.dueAtoms / 1_000n)]],
      )
    }
    const paid = await payouts.earn('USDC', 500n)
    const before = await payouts.tokensOf('USDC', payouts.hotWallet)
    const withdrawal = await payouts.request('USDC', '50', stranger())
    let verdict = ''
    for (let turn = 0; turn < 8; turn++) {
      await signAll(signer)
      await payOnce(gateway, port)
      await anvil.mine()
      await payouts.follow()
      verdict = await proveBlock(gateway, port)
    }
    assert.equal(verdict, 'unlike')
    const { rows } = await gateway.db.query<{ asset: string }>('select asset from freezes')
    assert.deepEqual(rows, [{ asset: 'USDT' }])
    assert.equal((await payouts.now(withdrawal)).status, 'completed')
    assert.equal(await payouts.tokensOf('USDC', withdrawal.destination), withdrawal.netAtoms)
    assert.equal((await payouts.tokensOf('USDC', payouts.hotWallet)) - before, paid - withdrawal.netAtoms)
  })
})
