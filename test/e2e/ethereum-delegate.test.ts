/** The contract that sweeps run at, on a real Ethereum node where its deployment goes wrong. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DEPLOYER, delegateCreation } from '../../src/chains/ethereum/delegate.ts'
import { type EthereumPayouts, ethereumPayouts } from './ethereum-payouts.ts'

/** Code that reverts whatever it is called with. */
const REVERTS = '0x5f5ffd'
/** At this base fee a deployment may cost more than a first signature offers. */
const DEAR_WEI = 500n * 10n ** 9n
const DAY_MINUTES = 24 * 60

describe('the sweep delegate', () => {
  it('whose deployment reverted is deployed again a day later, and the tokens that waited are swept', async () => {
    const payouts = await ethereumPayouts({ confirmations: 2 })
    const { anvil } = payouts
    const code = await anvil.rpc<string>('eth_getCode', [DEPLOYER, 'latest'])
    await anvil.rpc('anvil_setCode', [DEPLOYER, REVERTS])
    const paid = await payouts.earn('USDC', 500n)
    await payouts.finish()
    await payouts.mineAndTurn(2)
    assert.deepEqual(await deployments(payouts), ['reverted'], 'it is not tried at once')
    assert.deepEqual(await alerts(payouts), [])

    await anvil.rpc('anvil_setCode', [DEPLOYER, code])
    await wantedSince(payouts, 2)
    await payouts.mineAndTurn(1)
    const [alert, ...others] = await alerts(payouts)
    assert.match(alert ?? '', /its deployment 0x\w+ waits for a block, or reverted/)
    assert.equal(others.length, 0)

    await payouts.pass(DAY_MINUTES)
    await payouts.mineAndTurn(1)
    await payouts.finish()
    await payouts.finish()
    assert.deepEqual(await deployments(payouts), ['reverted', 'confirmed'])
    assert.equal(await payouts.tokensOf('USDC', payouts.hotWallet), paid)
  })

  it('that nobody can afford is told of after an hour; one that somebody else deployed is not signed for', async () => {
    const payouts = await ethereumPayouts({ confirmations: 2 })
    const { anvil, hotWallet } = payouts
    await payouts.setBaseFee(DEAR_WEI)
    const paid = await payouts.earn('USDC', 20_000n)
    await payouts.setBaseFee(DEAR_WEI)
    await payouts.turn()
    await payouts.turn()
    assert.deepEqual([await deployments(payouts), await alerts(payouts)], [[], []])
    await wantedSince(payouts, 2)
    await payouts.turn()
    const [alert, ...others] = await alerts(payouts)
    assert.match(alert ?? '', /no deployment is signed: its gas is too dear, the hot wallet holds too little/)
    assert.equal(others.length, 0)

    await anvil.send({ to: DEPLOYER, data: delegateCreation(hotWallet) })
    await payouts.setBaseFee(10n ** 9n)
    await payouts.setBaseFee(DEAR_WEI)
    await payouts.turn()
    await payouts.setBaseFee(10n ** 9n)
    await payouts.turn()
    await payouts.finish()
    await payouts.finish()
    assert.deepEqual(await deployments(payouts), [])
    assert.equal(await payouts.tokensOf('USDC', hotWallet), paid)
  })
})

async function deployments({ gateway }: EthereumPayouts): Promise<string[]> {
  const { rows } = await gateway.db.query<{ status: string }>(
    "select status from signed_transactions where kind = 'deploy' order by nonce",
  )
  return rows.map(({ status }) => status)
}

async function alerts({ gateway }: EthereumPayouts): Promise<string[]> {
  const { rows } = await gateway.db.query<{ message: string }>(
    "select message from alerts where kind = 'sweep_delegate_missing'",
  )
  return rows.map(({ message }) => message)
}

async function wantedSince({ gateway }: EthereumPayouts, hours: number): Promise<void> {
  await gateway.db.query(`update sweep_delegates set wanted_since = wanted_since - $1 * interval '1 hour'`, [
    hours,
  ])
}
