/** Withdrawals whose way is troubled: fees that rise, blocks that are taken back, nodes that fail in every way. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterEach, describe, it } from 'node:test'
import { OutsideFailure } from '../../src/core/errors.ts'
import { showId } from '../../src/core/ids.ts'
import { broadcastSigned } from '../../src/flows/withdrawals/broadcast-withdrawal.ts'
import type { Withdrawal } from '../../src/withdrawals/withdrawal.ts'
import { payOnce, signAll } from '../payouts.ts'
import { ethereumPayouts } from './ethereum-payouts.ts'

const GWEI = 10n ** 9n
const CONFIRMATIONS = 4
const payouts = await ethereumPayouts({ confirmations: CONFIRMATIONS })
const { anvil, gateway, connection, port, signer } = payouts
for (const asset of ['ETH', 'USDC'] as const) await payouts.earn(asset, 5_000n)
await payouts.finish()

const stranger = () => `0x${randomBytes(20).toString('hex')}`

describe('a withdrawal whose fee no block takes any more', () => {
  it('is sent again under its nonce at a higher fee, and pays once', async () => {
    const withdrawal = await sendOne('ETH', '0.1')
    const first = (await payouts.now(withdrawal)).txHash
    await payouts.setBaseFee(100n * GWEI)
    assert.equal((await payouts.now(withdrawal)).status, 'broadcast')
    assert.equal((await port.findTransaction(first ?? ''))?.block ?? null, null)
    await payouts.pass(4)
    await payouts.turn()
    await payouts.turn()
    const second = (await payouts.now(withdrawal)).txHash
    assert.ok(second && second !== first)
    await payouts.finish()
    await isPaidOnce(withdrawal, second)
    assert.equal(await port.findTransaction(first ?? ''), null)
  })

  it('is paid once when the original is mined after its replacement was sent', async () => {
    const withdrawal = await sendOne('USDC', '25')
    const first = (await payouts.now(withdrawal)).txHash ?? ''
    await payouts.setBaseFee(400n * GWEI)
    await payouts.pass(4)
    await payouts.turn()
    await payouts.turn()
    const second = (await payouts.now(withdrawal)).txHash ?? ''
    assert.notEqual(second, first)
    await anvil.rpc('anvil_dropTransaction', [second])
    await lowerBaseFee(await rawOf(first))
    assert.ok((await port.findTransaction(first))?.block)
    await payouts.finish()
    await isPaidOnce(withdrawal, first)
  })

  it('is sent at a higher one also when the node never took it', async () => {
    const withdrawal = await payouts.request('ETH', '0.1', stranger())
    connection.onSending('kept:max fee per gas less than block base fee')
    await payouts.sign()
    await broadcastSigned(gateway, port)
    await payouts.setBaseFee(100n * GWEI)
    await payouts.pass(4)
    await payouts.turn()
    await payouts.turn()
    connection.onSending(null)
    await payouts.pass(1)
    await payouts.turn()
    assert.equal((await payouts.now(withdrawal)).status, 'broadcast')
    assert.equal((await setOf(withdrawal)).length, 2)
    await payouts.finish()
    await isPaidOnce(withdrawal)
  })

  it('waits at the ceiling of what is ever paid for gas, and goes on when prices fall', async () => {
    const withdrawal = await payouts.request('ETH', '0.2', stranger())
    await payouts.setBaseFee(5_000n * GWEI)
    await payouts.turn()
    await payouts.pass(20)
    await payouts.turn()
    await payouts.turn()
    const { rows } = await gateway.db.query<{ most: bigint }>(
      'select max(fee_rate) as most from signed_transactions',
    )
    assert.ok(rows[0] && rows[0].most <= 1_000n * GWEI)
    assert.notEqual((await payouts.now(withdrawal)).status, 'completed')
    await lowerBaseFee()
    await payouts.finish()
    await isPaidOnce(withdrawal)
  })
})

describe('a reorganisation', () => {
  it("takes the payout's block: the same bytes are sent again and pay once", async () => {
    const withdrawal = await sendOne('ETH', '0.3')
    const { txHash } = await payouts.now(withdrawal)
    await payouts.mineAndTurn(2)
    await anvil.reorganise(2)
    assert.equal(await port.findTransaction(txHash ?? ''), null)
    await payouts.follow()
    await payouts.turn()
    await payouts.finish()
    await isPaidOnce(withdrawal, txHash ?? '')
  })

  it('deeper than the confirmations takes a completed one back: paid once, announced once', async () => {
    const withdrawal = await sendOne('USDC', '40')
    await payouts.mineAndTurn(CONFIRMATIONS)
    assert.equal((await payouts.now(withdrawal)).status, 'completed')
    await anvil.reorganise(CONFIRMATIONS + 1)
    await payouts.follow()
    await payouts.turn()
    await payouts.finish()
    await isPaidOnce(withdrawal)
  })

  it('brings back the original of a replacement that was settled: the other one counts no more', async () => {
    const withdrawal = await sendOne('USDC', '45')
    const first = (await payouts.now(withdrawal)).txHash ?? ''
    await payouts.setBaseFee(100n * GWEI)
    await payouts.pass(4)
    await payouts.turn()
    await payouts.turn()
    await payouts.mineAndTurn(CONFIRMATIONS)
    const settled = await payouts.now(withdrawal)
    assert.equal(settled.status, 'completed')
    assert.notEqual(settled.txHash, first)
    await anvil.reorganise(CONFIRMATIONS + 1)
    await payouts.follow()
    await lowerBaseFee(await rawOf(first))
    assert.ok((await port.findTransaction(first))?.block)
    await payouts.finish()
    await isPaidOnce(withdrawal, first)
  })

  it('in which a completed payout reverts gives its hold back', async () => {
    const before = await payouts.balance('USDC', 'available')
    const withdrawal = await sendOne('USDC', '50')
    await payouts.mineAndTurn(CONFIRMATIONS)
    assert.equal((await payouts.now(withdrawal)).status, 'completed')
    await anvil.reorganise(CONFIRMATIONS + 1)
    await anvil.call(payouts.usdc, 'addBlackList', [withdrawal.destination])
    await anvil.mine()
    await payouts.follow()
    await payouts.finish()
    assert.equal((await payouts.now(withdrawal)).status, 'failed')
    // Less the gas of the attempt, which is paid by who asked for it.
    assert.equal(await payouts.balance('USDC', 'available'), before - withdrawal.networkFeeAtoms)
    assert.equal(await payouts.balance('USDC', 'held'), 0n)
  })

  it('in which a payout that had reverted pays is a loss that the operator hears of', async () => {
    const destination = stranger()
    await anvil.call(payouts.usdc, 'addBlackList', [destination])
    const withdrawal = await payouts.rehearsed(await payouts.request('USDC', '60', destination))
    await payouts.turn()
    await payouts.mineAndTurn(CONFIRMATIONS)
    assert.equal((await payouts.now(withdrawal)).status, 'failed')
    await anvil.reorganise(CONFIRMATIONS + 1)
    await payouts.follow()
    await payouts.finish()
    const now = await payouts.now(withdrawal)
    assert.deepEqual([now.status, now.refusedReason], ['failed', 'paid_after_failure'])
    const { rows } = await gateway.db.query<{ kind: string }>('select kind from alerts where subject = $1', [
      showId('wd', withdrawal.id),
    ])
    assert.deepEqual(rows, [{ kind: 'payout_after_failure' }])
    assert.equal(await payouts.announced(withdrawal), 0)
  })
})

describe('a node', () => {
  afterEach(() => {
    connection.onSending(null)
    connection.cut(false)
  })

  it('that takes a transaction and drops the connection before it answers has it: nothing is sent twice', async () => {
    const withdrawal = await payouts.request('ETH', '0.4', stranger())
    connection.onSending('lost')
    await payouts.sign()
    await assert.rejects(payOnce(gateway, port), OutsideFailure)
    assert.equal((await payouts.now(withdrawal)).status, 'requested')
    connection.onSending(null)
    await payouts.turn()
    assert.equal((await payouts.now(withdrawal)).status, 'broadcast')
    await payouts.finish()
    await isPaidOnce(withdrawal)
  })

  for (const answer of ['already known', 'nonce too low', 'replacement transaction underpriced'] as const) {
    it(`that has the bytes and answers "${answer}" is success`, async () => {
      const withdrawal = await payouts.request('USDC', '15', stranger())
      connection.onSending(answer)
      await payouts.sign()
      await broadcastSigned(gateway, port)
      connection.onSending(null)
      assert.equal((await payouts.now(withdrawal)).status, 'broadcast')
      await payouts.finish()
      await isPaidOnce(withdrawal)
    })
  }

  for (const answer of ['nonce too low', 'replacement transaction underpriced', 'txpool is full'] as const) {
    it(`that refuses with "${answer}" for a while gets the same bytes again, never others`, async () => {
      const withdrawal = await payouts.request('USDC', '15', stranger())
      connection.onSending(`kept:${answer}`)
      for (let attempt = 0; attempt < 3; attempt++) {
        await payouts.turn()
        await payouts.pass(1)
      }
      assert.equal((await payouts.now(withdrawal)).status, 'requested')
      connection.onSending(null)
      await payouts.finish()
      await isPaidOnce(withdrawal)
      assert.equal((await setOf(withdrawal)).length, 1)
    })
  }

  it('that is down for minutes, and forgets what waited, gets it all again', async () => {
    const [waiting, asked] = [await sendOne('ETH', '0.05'), await payouts.request('USDC', '35', stranger())]
    await payouts.rehearsed(asked)
    await anvil.stop()
    connection.cut(true)
    await signAll(signer)
    for (let minute = 0; minute < 5; minute++) {
      await assert.rejects(payOnce(gateway, port), OutsideFailure)
      await payouts.pass(1)
    }
    assert.equal((await payouts.now(asked)).status, 'requested')
    await anvil.start()
    connection.cut(false)
    await payouts.finish()
    await isPaidOnce(waiting)
    await isPaidOnce(asked)
  })
})

async function sendOne(asset: 'ETH' | 'USDC', amount: string): Promise<Withdrawal> {
  const withdrawal = await payouts.request(asset, amount, stranger())
  await payouts.turn()
  const sent = await payouts.now(withdrawal)
  assert.equal(sent.status, 'broadcast')
  return sent
}

/** @param sending - Raw bytes that the next block takes, if it takes any. */
async function lowerBaseFee(sending?: string): Promise<void> {
  await anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(GWEI / 2n).toString(16)}`])
  if (sending) await anvil.rpc('eth_sendRawTransaction', [sending])
  await anvil.mine()
  await payouts.follow()
}

async function rawOf(txid: string): Promise<string> {
  const { rows } = await gateway.db.query<{ raw: string }>(
    'select raw from signed_transactions where txid = $1',
    [txid],
  )
  assert.ok(rows[0])
  return rows[0].raw
}

async function setOf(withdrawal: Withdrawal) {
  const { rows } = await gateway.db.query<{ txid: string }>(
    `select t.txid from signed_payouts p join signed_transactions t on t.chain = p.chain and t.replacement_set = p.replacement_set
     where p.account_id = $1 and p.withdrawal_id = $2`,
    [withdrawal.accountId, withdrawal.id],
  )
  return rows
}

/** Completed, by this transaction where one is named, announced once, and its receiver holds the net to the atom. */
async function isPaidOnce(withdrawal: Withdrawal, txid?: string): Promise<void> {
  const now = await payouts.now(withdrawal)
  assert.equal(now.status, 'completed')
  if (txid) assert.equal(now.txHash, txid)
  assert.equal(await payouts.announced(withdrawal), 1)
  const held = await port.holdings({ outpoints: [], addresses: [withdrawal.destination] })
  assert.equal(held[withdrawal.asset], withdrawal.netAtoms)
}
