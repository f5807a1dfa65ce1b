/**
 * A chain that says it charges gas as since Amsterdam. Anvil charges less, and what is not used is not paid, so all limits show;
 * test/gas.test.ts runs the same transactions in an EVM of that fork.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scheduleOf } from '../../src/treasury/gas.ts'
import { payOnce, signAll } from '../payouts.ts'
import { ethereumPayouts } from './ethereum-payouts.ts'

describe('gas of a chain that shows Amsterdam', async () => {
  const payouts = await ethereumPayouts({ confirmations: 2 })
  const { gateway, hotWallet, port, signer } = payouts
  const { feeRates } = port
  Object.assign(port, { feeRates: async () => ({ ...(await feeRates()), fork: 'amsterdam' }) })
  const gas = scheduleOf({ fork: 'amsterdam' })

  it('is not spent on a sweep of ether to a hot wallet that the chain does not know', async () => {
    await payouts.earn('ETH', 500n)
    await payOnce(gateway, port)
    await gateway.db.query('update account_balances set atoms = 0 where address = $1', [hotWallet])
    await signAll(signer)
    const { rows } = await gateway.db.query('select status from sweeps')
    assert.deepEqual(rows, [{ status: 'planned' }])
    await payouts.finish()
  })

  it('suffices for new accounts, slots and delegations, and is quoted', async () => {
    await payouts.earn('USDC', 500n)
    await payouts.finish()
    const fresh = `0x${'c4'.repeat(20)}`
    const withdrawal = await payouts.request('ETH', '0.01', fresh)
    assert.equal(withdrawal.networkFeeAtoms % gas.quoted.ETH, 0n)
    await payouts.request('USDC', '100', fresh)
    await payouts.finish()
    assert.equal((await payouts.now(withdrawal)).status, 'completed')
    const { rows } = await gateway.db.query<{ kind: string; asset: string; gas: bigint }>(
      `select distinct kind, asset, div(fee_atoms, fee_rate) as gas from signed_transactions order by kind, asset`,
    )
    const { base, sweep, authorization } = gas.batch
    assert.deepEqual(
      rows.map((row) => [row.kind, row.asset, row.gas]),
      [
        ['batch', 'ETH', base + sweep + authorization],
        ['deploy', 'ETH', gas.deployment],
        ['payout', 'ETH', gas.payoutMost.ETH],
        ['payout', 'USDC', gas.payoutMost.token],
        ['sweep', 'ETH', gas.transfer],
      ],
    )
    await payouts.turn()
  })
})
