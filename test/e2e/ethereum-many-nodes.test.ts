/** Behind the URL of a provider stand many nodes, and the one that answers may be behind the one that answered before. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import type { ChainPort } from '../../src/chains/chain.ts'
import { OutsideFailure } from '../../src/core/errors.ts'
import { observeChain } from '../../src/flows/watching/observe-chain.ts'
import { proveBlock } from '../../src/proof/prove-block.ts'
import { payOnce } from '../payouts.ts'
import { ethereumPayouts } from './ethereum-payouts.ts'

const payouts = await ethereumPayouts({ confirmations: 4 })
const { anvil, gateway, port } = payouts
await payouts.earn('ETH', 2_000n)
await payouts.finish()
const stranger = () => `0x${randomBytes(20).toString('hex')}`

describe('a node that is behind the one that told the tip', () => {
  it('and has no such block yet is no reorganisation: nothing is taken back', async () => {
    const payment = await payouts.create('ETH')
    await anvil.send({ to: payment.address, value: payment.dueAtoms })
    await anvil.mine()
    await payouts.follow()
    const tip = await port.tip()
    const behind: ChainPort = {
      ...port,
      blockHash: async (height) => (height < tip.height ? port.blockHash(height) : null),
    }
    await assert.rejects(observeChain(gateway, behind, payouts.lease), OutsideFailure)
    assert.deepEqual(await payouts.statusOf(payment), ['detected', ['seen']])
    await anvil.mine(4)
    await payouts.follow()
    assert.equal((await payouts.show(payment)).status, 'completed')
  })

  it('is not asked what is there now, but after which block: what left is never paid again', async () => {
    const before = await port.tip()
    const held = await port.holdings({ outpoints: [], addresses: [payouts.hotWallet] })
    const withdrawal = await payouts.request('ETH', '0.2', stranger())
    await payouts.turn()
    await payouts.mineAndTurn(1)
    // It answers with what it knows, and has no block that is newer.
    const behind: ChainPort = {
      ...port,
      holdings: (query) => port.holdings({ ...query, at: query.at ?? before.hash }),
    }
    await payOnce(gateway, behind)
    const { rows } = await gateway.db.query<{ atoms: bigint }>(
      "select atoms from account_balances where address = $1 and asset = 'ETH'",
      [payouts.hotWallet],
    )
    assert.equal(rows[0]?.atoms, await anvil.balance(payouts.hotWallet))
    assert.notEqual(rows[0]?.atoms, held.ETH)
    await assert.rejects(
      port.holdings({ outpoints: [], addresses: [payouts.hotWallet], at: `0x${'ab'.repeat(32)}` }),
      OutsideFailure,
    )
    await anvil.mine()
    await payouts.follow()
    assert.equal(await proveBlock(gateway, behind), 'proven')
    await payouts.finish()
    assert.equal((await payouts.now(withdrawal)).status, 'completed')
  })

  it('and has not met the block of a payout freezes nothing, whether it says so or answers as if there were none', async () => {
    const withdrawal = await payouts.request('ETH', '0.2', stranger())
    await payouts.turn()
    await anvil.mine()
    await payouts.follow()
    const { txHash } = await payouts.now(withdrawal)
    assert.ok(txHash)
    const { hash } = await port.tip()
    assert.ok((await port.findTransaction(txHash, undefined, hash))?.block)
    await assert.rejects(port.findTransaction(txHash, undefined, `0x${'ab'.repeat(32)}`), OutsideFailure)
    let asked = 0
    const late: ChainPort = {
      ...port,
      findTransaction: async (txid, ...of) => {
        asked += 1
        return asked === 1 ? null : port.findTransaction(txid, ...of)
      },
    }
    assert.equal(await proveBlock(gateway, late), 'proven')
    assert.ok(asked > 1)
    await payouts.finish()
    assert.equal((await payouts.now(withdrawal)).status, 'completed')
  })

  it('and follows another chain settles nothing: a payout is complete in the blocks that the watcher followed', async () => {
    const withdrawal = await payouts.request('ETH', '0.2', stranger())
    await payouts.sign()
    await payOnce(gateway, port)
    await anvil.mine(6)
    await payouts.follow()
    const astray: ChainPort = {
      ...port,
      async findTransaction(txid) {
        const found = await port.findTransaction(txid)
        return found?.block ? { ...found, block: { ...found.block, hash: `0x${'cd'.repeat(32)}` } } : found
      },
    }
    await payOnce(gateway, astray)
    assert.equal((await payouts.now(withdrawal)).status, 'broadcast')
    await payouts.finish()
    assert.equal((await payouts.now(withdrawal)).status, 'completed')
    assert.equal(await payouts.announced(withdrawal), 1)
  })
})
