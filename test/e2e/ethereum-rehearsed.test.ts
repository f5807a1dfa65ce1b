/** What must revert is not signed: a real node is asked first, about payouts and about sweeps; the books proven after every turn. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { OutsideFailure } from '../../src/core/errors.ts'
import type { Withdrawal } from '../../src/withdrawals/withdrawal.ts'
import { ethereumPayouts } from './ethereum-payouts.ts'

const payouts = await ethereumPayouts({ confirmations: 2 })
const { anvil, gateway, connection, port } = payouts
for (const asset of ['ETH', 'USDC', 'USDT'] as const) await payouts.earn(asset, 500n)
await payouts.finish()

const stranger = () => `0x${randomBytes(20).toString('hex')}`
const nonceOfHotWallet = async () => (await port.nextNonce?.(payouts.hotWallet)) ?? 0n

describe('a withdrawal that must revert', () => {
  for (const [what, asset, amount, receiver] of [
    ['of a token to a blocked address', 'USDC', '50', blocked],
    ['of ether to a contract that takes none', 'ETH', '0.01', () => anvil.deploy('OddLogs')],
    ['of ether to a contract that burns all gas', 'ETH', '0.01', () => anvil.deploy('Burner')],
  ] as const)
    it(`${what} is not signed: all of it comes back, and nobody pays gas`, async () => {
      const destination = await receiver()
      const before = await payouts.balance(asset, 'available')
      const [nonce, ether] = [await nonceOfHotWallet(), await anvil.balance(payouts.hotWallet)]
      const withdrawal = await payouts.request(asset, amount, destination)
      const good = await payouts.request('USDT', '10', stranger())
      await payouts.turn()
      await payouts.finish()
      const { status, refusedReason, txHash } = await payouts.now(withdrawal)
      assert.deepEqual([status, refusedReason, txHash], ['failed', 'would_revert', null])
      assert.equal(await payouts.balance(asset, 'available'), before)
      assert.equal(await payouts.balance(asset, 'held'), 0n)
      assert.equal((await payouts.now(good)).status, 'completed', 'what came after it is paid')
      assert.equal(await nonceOfHotWallet(), nonce + 1n)
      const { rows } = await gateway.db.query<{ fee: bigint }>(
        `select t.paid_fee_atoms as fee from signed_transactions t join signed_payouts p using (chain, replacement_set)
         where p.withdrawal_id = $1 and t.paid_fee_atoms is not null`,
        [good.id],
      )
      assert.equal(ether - (await anvil.balance(payouts.hotWallet)), rows[0]?.fee)
    })
})

describe('a withdrawal whose fate the node does not tell', () => {
  it('waits while the node is away, and is paid when it is back', async () => {
    const withdrawal = await payouts.request('ETH', '0.01', stranger())
    connection.cut(true)
    await assert.rejects(payouts.sign(), OutsideFailure)
    await signsNothing(withdrawal)
    connection.cut(false)
    await payouts.finish()
    assert.equal((await payouts.now(withdrawal)).status, 'completed')
  })

  it('waits for coins that are not swept yet: a sender without them says nothing about the receiver', async () => {
    const withdrawal = await payouts.request('USDT', '300', stranger())
    const held = await payouts.tokensOf('USDT', payouts.hotWallet)
    const [answer] =
      (await port.rehearse?.([
        { from: payouts.hotWallet, asset: 'USDT', to: stranger(), atoms: held + 1n, gasMax: 120_000n },
      ])) ?? []
    assert.deepEqual(answer, { kind: 'short' })
    await payouts.finish()
    assert.equal((await payouts.now(withdrawal)).status, 'completed')
  })

  it('is asked about again: a yes that is old is none', async () => {
    const withdrawal = await payouts.rehearsed(await payouts.request('USDC', '10', stranger()))
    await gateway.db.query("update withdrawals set rehearsed_at = rehearsed_at - interval '6 minutes'")
    await anvil.call(payouts.usdc, 'addBlackList', [withdrawal.destination])
    await anvil.mine()
    await payouts.follow()
    await payouts.turn()
    await payouts.finish()
    assert.equal((await payouts.now(withdrawal)).refusedReason, 'would_revert')
  })
})

describe('a sweep of a token that refuses', () => {
  it('is not signed; it is planned again a day later, and the others go on', async () => {
    const refusing = await payouts.pay('USDC', 100n)
    const other = await payouts.pay('USDC', 100n)
    await anvil.call(payouts.usdc, 'addBlackList', [refusing.address])
    await anvil.mine()
    await payouts.follow()
    await payouts.finish()
    assert.equal(await payouts.tokensOf('USDC', refusing.address), refusing.dueAtoms)
    assert.equal(await payouts.tokensOf('USDC', other.address), 0n)
    const sweepsOf = async () => {
      const { rows } = await gateway.db.query<{ status: string; replacement_set: string | null }>(
        'select status, replacement_set from sweeps where address = $1 order by created_at',
        [refusing.address],
      )
      return rows
    }
    assert.deepEqual(await sweepsOf(), [{ status: 'failed', replacement_set: null }])
    await payouts.finish()
    assert.equal((await sweepsOf()).length, 1)
    await anvil.call(payouts.usdc, 'removeBlackList', [refusing.address])
    await gateway.db.query("update sweeps set created_at = created_at - interval '25 hours'")
    await anvil.mine()
    await payouts.follow()
    await payouts.finish()
    assert.equal(await payouts.tokensOf('USDC', refusing.address), 0n)
  })
})

async function blocked(): Promise<string> {
  const address = stranger()
  await anvil.call(payouts.usdc, 'addBlackList', [address])
  await anvil.mine()
  await payouts.follow()
  return address
}

async function signsNothing(withdrawal: Withdrawal): Promise<void> {
  const { rowCount } = await gateway.db.query('select from signed_payouts where withdrawal_id = $1', [
    withdrawal.id,
  ])
  assert.equal(rowCount, 0)
  assert.equal((await payouts.now(withdrawal)).status, 'requested')
}
