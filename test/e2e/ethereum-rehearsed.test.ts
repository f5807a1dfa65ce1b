/** What must revert is not signed: a real node is asked first, about payouts and about sweeps; the books proven after every turn. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { OutsideFailure } from '../../src/core/errors.ts'
import { rehearsePayouts } from '../../src/flows/withdrawals/rehearse-payouts.ts'
import { freeze, thaw } from '../../src/ledger/freezes.sql.ts'
import type { Withdrawal } from '../../src/withdrawals/withdrawal.ts'
import { feeRates, payOnce, signAll } from '../payouts.ts'
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

describe('what must revert is refused by the signer alone', () => {
  it('a restored database that forgot what it paid gives nothing back, and nobody is paid twice', async () => {
    const destination = stranger()
    const paid = await payouts.request('USDC', '20', destination)
    await payouts.sign()
    await payOnce(gateway, port)
    const { txHash } = await payouts.now(paid)
    assert.ok(txHash)
    await anvil.mine()
    assert.equal(await payouts.tokensOf('USDC', destination), paid.netAtoms)
    // As of a backup taken before; since then the receiver is blocked, and no book was compared with the chain yet.
    await forget(paid)
    await anvil.call(payouts.usdc, 'addBlackList', [destination])
    await anvil.mine()
    for (let turn = 0; turn < 3; turn++) await payOnce(gateway, port)
    const waiting = await payouts.now(paid)
    assert.deepEqual([waiting.status, waiting.refusedReason], ['requested', null])
    assert.equal(await payouts.balance('USDC', 'held'), paid.amountAtoms)
    await payouts.sign()
    await payouts.follow()
    await payouts.finish()
    const now = await payouts.now(paid)
    assert.deepEqual([now.status, now.txHash], ['completed', txHash])
    assert.equal(await payouts.balance('USDC', 'held'), 0n)
  })

  it('while its coin is frozen the node is not asked, and what it said before refuses nothing', async () => {
    const asked = await payouts.request('USDC', '20', await blocked())
    await rehearsePayouts(gateway, port, await feeRates(gateway, port))
    const unasked = await payouts.request('USDC', '20', await blocked())
    await freeze(gateway.db, 'ethereum', 'USDC', 'restored')
    for (let turn = 0; turn < 2; turn++) {
      await payouts.sign()
      await payOnce(gateway, port)
    }
    const { rows } = await gateway.db.query(
      'select status, refused_reason, rehearsal from withdrawals where id = any($1) order by created_at',
      [[asked.id, unasked.id]],
    )
    assert.deepEqual(rows, [
      { status: 'requested', refused_reason: null, rehearsal: 'reverts' },
      { status: 'requested', refused_reason: null, rehearsal: null },
    ])
    await thaw(gateway.db, 'ethereum', 'USDC')
    await payouts.finish()
    for (const each of [asked, unasked]) assert.equal((await payouts.now(each)).refusedReason, 'would_revert')
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

describe('a withdrawal whose gas limit follows from the price of gas', () => {
  it('is not signed with less gas than the node said yes to', async () => {
    const receiver = stranger()
    // It notes that it was paid: 43,000 gas together with the transfer.
    await anvil.rpc('anvil_setCode', [receiver, '0x6001600055'])
    await payouts.setBaseFee(10n ** 10n)
    const withdrawal = await payouts.request('ETH', '0.003', receiver)
    await rehearsePayouts(gateway, port, await feeRates(gateway, port))
    await payouts.setBaseFee(4n * 10n ** 10n)
    await feeRates(gateway, port)
    await signAll(payouts.signer)
    const { rows } = await gateway.db.query('select from signed_payouts where withdrawal_id = $1', [
      withdrawal.id,
    ])
    assert.equal(rows.length, 0)
    await payouts.setBaseFee(10n ** 10n)
    await payouts.finish()
    assert.equal((await payouts.now(withdrawal)).status, 'completed')
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

/** A database that was set back to before anything was signed for a withdrawal. */
async function forget({ accountId, id }: Withdrawal): Promise<void> {
  for (const statement of [
    `update nonces n set next = t.nonce from signed_transactions t join signed_payouts p using (chain, replacement_set)
     where p.withdrawal_id = $1 and n.chain = t.chain and n.sender = t.sender`,
    `with forgotten as (delete from signed_payouts where withdrawal_id = $1 returning chain, replacement_set)
     delete from signed_transactions t using forgotten f where t.chain = f.chain and t.replacement_set = f.replacement_set`,
  ])
    await gateway.db.query(statement, [id])
  await gateway.db.query(
    `update withdrawals set status = 'requested', tx_hash = null, broadcast_at = null, signing_since = null,
       rehearsal = null, rehearsed_at = null, rehearsed_gas = null where account_id = $1 and id = $2`,
    [accountId, id],
  )
}

async function signsNothing(withdrawal: Withdrawal): Promise<void> {
  const { rowCount } = await gateway.db.query('select from signed_payouts where withdrawal_id = $1', [
    withdrawal.id,
  ])
  assert.equal(rowCount, 0)
  assert.equal((await payouts.now(withdrawal)).status, 'requested')
}
