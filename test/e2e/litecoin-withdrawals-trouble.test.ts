import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { bech32 } from '@scure/base'
import { Refusal } from '../../src/core/errors.ts'
import type { Withdrawal } from '../../src/withdrawals/withdrawal.ts'
import { payoutRoad } from './payout-road.ts'

const road = await payoutRoad('litecoin')
const { node, gateway } = road
const COIN = 100_000_000n

/** A withdrawal of half a coin that the node has. */
async function sent(destination?: string): Promise<{ withdrawal: Withdrawal; txid: string }> {
  await road.earn(200n)
  const withdrawal = await road.request(COIN / 2n, destination ?? (await road.stranger()))
  await road.turn()
  const { status, txHash } = await road.now(withdrawal)
  assert.equal(status, 'broadcast')
  assert.ok(txHash)
  return { withdrawal, txid: txHash }
}

async function completedOnce({ withdrawal, txid }: { withdrawal: Withdrawal; txid: string }): Promise<void> {
  const done = await road.now(withdrawal)
  assert.deepEqual([done.status, done.txHash], ['completed', txid])
  assert.deepEqual(await road.paid(txid, withdrawal.destination), [withdrawal.netAtoms])
  assert.deepEqual(await road.announced(withdrawal), ['payout.completed'])
  assert.equal((await road.replacementSet(withdrawal)).length, 1, 'nothing else was signed')
}

/** What half a minute without an answer of the node leads to. */
async function halfAMinuteLater(): Promise<void> {
  await gateway.db.query(
    "update signed_transactions set send_at = send_at - interval '31 seconds' where status not in ('confirmed', 'reverted', 'displaced', 'impossible')",
  )
}

describe('a reorganisation of a real Litecoin node', () => {
  afterEach(() => road.prove())

  it('that takes the block of a payout leaves it broadcast; it confirms anew, once', async () => {
    const payout = await sent()
    await road.mine(2)
    await node.rollBack(2)
    for (let count = 0; count < 3; count++) await node.mineEmpty()
    await road.follow()
    await road.turn()
    assert.equal((await road.now(payout.withdrawal)).status, 'broadcast')
    await road.prove()
    assert.deepEqual(await road.waiting(), [payout.txid])
    await road.mine(6)
    await completedOnce(payout)
  })

  it('that forgets the payout altogether makes us send the same bytes again', async () => {
    // A wallet of the node's own would send what it received again.
    const payout = await sent(bech32.encode('rltc', [0, ...bech32.toWords(new Uint8Array(20).fill(9))]))
    await road.mine(1)
    await node.rollBack(1)
    // A restarted node that does not keep its mempool.
    await node.stop()
    await node.start('-persistmempool=0')
    for (let count = 0; count < 2; count++) await node.mineEmpty()
    assert.deepEqual(await road.waiting(), [])
    await road.follow()
    await road.turn()
    await road.turn()
    assert.deepEqual(await road.waiting(), [payout.txid])
    await road.mine(6)
    await completedOnce(payout)
  })

  it('deeper than its confirmations leaves it completed, and the books follow the chain there and back', async () => {
    const payout = await sent()
    await road.mine(6)
    await completedOnce(payout)
    await node.rollBack(6)
    for (let count = 0; count < 7; count++) await node.mineEmpty()
    await road.follow()
    await road.turn()
    assert.equal((await road.now(payout.withdrawal)).status, 'completed')
    await road.prove()
    await road.mine(1)
    await road.prove()
    await road.mine(6)
    await completedOnce(payout)
  })

  it('in which the buyer takes back the coin that a payout spends gives its hold back', async () => {
    await road.mine(1)
    const payment = await road.create('LTC', 1_000n)
    const deposit = await road.pay(payment)
    await node.mine(6)
    await road.follow()
    const withdrawal = await road.request(9n * COIN, await road.stranger())
    await road.turn()
    const before = await road.balance('LTC', 'available')
    const credited = (payment.dueAtoms * 99n) / 100n
    await road.mine(1)
    await node.rollBack(7)
    await node.replace(deposit)
    await node.mine(6)
    for (let count = 0; count < 2; count++) {
      await node.mine()
      await road.follow()
      await road.prove()
      await road.turn()
    }
    assert.equal((await road.show(payment)).status, 'failed')
    const { status, refusedReason } = await road.now(withdrawal)
    assert.deepEqual([status, refusedReason], ['failed', 'coins_spent'])
    const left = before > credited ? before - credited : 0n
    assert.equal(await road.balance('LTC', 'available'), left + 9n * COIN)
    assert.deepEqual(await road.announced(withdrawal), ['payout.failed'])
    const next = await road.request(COIN / 10n, await road.stranger())
    await road.turn()
    assert.equal((await road.now(next)).status, 'broadcast', 'other coins pay what is asked for next')
    await road.mine(6)
  })
})

describe('a real Litecoin node that fails while a payout is sent', () => {
  afterEach(() => road.prove())

  it('by breaking off before it answers has it all the same, and it is paid once', async () => {
    await road.earn(200n)
    const withdrawal = await road.request(COIN / 2n, await road.stranger())
    await road.sign()
    road.proxy.loseAnswersTo('sendrawtransaction')
    await assert.rejects(road.send(), /cannot be reached|broke off/)
    assert.ok(road.proxy.lost > 0)
    const [txid = ''] = await road.waiting()
    assert.equal((await road.now(withdrawal)).status, 'requested')
    await road.sign()
    road.proxy.answerAgain()
    await halfAMinuteLater()
    await road.send()
    assert.equal((await road.now(withdrawal)).status, 'broadcast')
    await road.mine(6)
    await completedOnce({ withdrawal, txid })
  })

  it('and mines it before we ask again is believed, whatever it answers then', async () => {
    await road.earn(200n)
    const withdrawal = await road.request(COIN / 2n, await road.stranger())
    await road.sign()
    road.proxy.loseAnswersTo('sendrawtransaction')
    await assert.rejects(road.send(), /cannot be reached|broke off/)
    const [txid = ''] = await road.waiting()
    await node.mine(1)
    road.proxy.answerAgain()
    await halfAMinuteLater()
    // The node says that it is in the chain already.
    await road.send()
    assert.equal((await road.now(withdrawal)).status, 'broadcast')
    await road.follow()
    await road.mine(5)
    await completedOnce({ withdrawal, txid })
  })

  it('is found paid though the recipient spent it at once and no change shows where it is', async () => {
    await road.earn(2n)
    // All of the coin but a fee goes to the recipient: see the withdrawal that leaves its change to the miner.
    const destination = await road.stranger()
    const withdrawal = await road.request(2_003_223n, destination)
    await road.sign()
    road.proxy.loseAnswersTo('sendrawtransaction')
    await assert.rejects(road.send(), /cannot be reached|broke off/)
    const [txid = ''] = await road.waiting()
    const spending = await node.call<string>('createrawtransaction', [{ txid, vout: 0 }], {
      [await node.address()]: '0.019',
    })
    const { hex } = await node.call<{ hex: string }>('signrawtransactionwithwallet', spending)
    await node.call('sendrawtransaction', hex)
    await node.mine(1)
    road.proxy.answerAgain()
    await halfAMinuteLater()
    // The node refuses it; that its block holds it is known once the watcher has read that block.
    await road.send()
    await road.send()
    assert.equal((await road.now(withdrawal)).status, 'broadcast')
    await road.mine(5)
    const done = await road.now(withdrawal)
    assert.deepEqual([done.status, done.txHash], ['completed', txid])
    assert.deepEqual(await road.announced(withdrawal), ['payout.completed'])
  })

  it('by being down for minutes pays what waited when it is back', async () => {
    await road.earn(200n)
    const waiting = await road.request(COIN / 4n, await road.stranger())
    const destination = await road.stranger()
    await node.stop()
    await road.sign()
    await assert.rejects(road.send(), /cannot be reached/)
    const second = await road.request(COIN / 4n, destination)
    await gateway.db.query("update fee_rates set seen_at = seen_at - interval '11 minutes'")
    await road.sign()
    await assert.rejects(
      road.request(COIN / 4n, waiting.destination),
      (error) => error instanceof Refusal && error.reason === 'no_fee_estimate',
    )
    for (const each of [waiting, second]) assert.equal((await road.now(each)).status, 'requested')
    await node.start()
    await road.send()
    await road.turn()
    await road.mine(6)
    await road.mine(1)
    for (const each of [waiting, second]) {
      const done = await road.now(each)
      assert.equal(done.status, 'completed')
      assert.deepEqual(await road.paid(done.txHash ?? '', each.destination), [each.netAtoms])
      assert.deepEqual(await road.announced(each), ['payout.completed'])
    }
  })
})
