/**
 * Reorganisations that take sweeps, batches, gas, refunds and payouts of ours, on a real Anvil: what they moved is back
 * where it was for a while, and is nobody's deposit. The books are proven after every turn.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { findChainProgress } from '../../src/chains/chain-progress.sql.ts'
import { SENT_BY_CONTRACT } from '../../src/core/ether-outputs.ts'
import { matchOwnAddresses } from '../../src/flows/watching/own-addresses.sql.ts'
import { recordDeposits } from '../../src/flows/watching/record-deposits.ts'
import { refundPayment } from '../../src/flows/withdrawals/refund-payment.ts'
import { listFreezes } from '../../src/ledger/freezes.sql.ts'
import type { Payment } from '../../src/payments/payment.ts'
import { markDecisionDue } from '../../src/payments/payments.sql.ts'
import type { Withdrawal } from '../../src/withdrawals/withdrawal.ts'
import { type EthereumPayouts, ethereumPayouts } from './ethereum-payouts.ts'

const stranger = () => `0x${randomBytes(20).toString('hex')}`
const passDay = ({ gateway }: EthereumPayouts) =>
  gateway.db.query("update chains set ether_checked_at = ether_checked_at - interval '25 hours'")

/** What of ours stands in the last blocks. */
async function kindsInLast({ gateway }: EthereumPayouts, blocks: number): Promise<string[]> {
  const { rows } = await gateway.db.query<{ kind: string }>(
    `select distinct case when w.kind = 'refund' then 'refund' else t.kind end as kind
     from chains c join signed_transactions t on t.chain = c.chain and t.block_height > c.tip_height - $1::bigint
     left join signed_payouts p on p.chain = t.chain and p.replacement_set = t.replacement_set
     left join withdrawals w on w.account_id = p.account_id and w.id = p.withdrawal_id`,
    [blocks],
  )
  return rows.map(({ kind }) => kind)
}

/** Tells them on a chain of its own; longer than a function should be, for its stories share that chain. */
export async function tellReorganisations({
  confirmations,
  hardfork,
}: {
  readonly confirmations: number
  readonly hardfork: 'prague' | 'cancun'
}): Promise<void> {
  const payouts = await ethereumPayouts({ confirmations, hardfork })
  const { anvil, gateway, account } = payouts
  await payouts.earn('ETH', 20_000n)
  await payouts.earn('USDC', 1_000n)
  await payouts.finish()

  describe(`with ETH=${confirmations} on ${hardfork}, a reorganisation`, () => {
    for (const depth of [1, 2, 3, 20])
      it(`of ${depth} that takes what moves our ether invents no deposit, and everybody gets what is his`, async () => {
        const before = await payouts.balance('ETH', 'available')
        const sent: Payment[] = []
        for (const asset of ['ETH', 'ETH', 'USDC', 'USDC'] as const) sent.push(await payouts.pay(asset, 100n))
        const excess = 10n ** 17n
        const overpaid = await payouts.create('ETH', 100n)
        await anvil.send({ to: overpaid.address, value: overpaid.dueAtoms + excess })
        await payouts.confirm()
        // What buyers sent is deeper than the reorganisation reaches; what we do is not.
        await anvil.mine(depth)
        await payouts.follow()
        const asked: Withdrawal[] = [
          await payouts.request('ETH', '0.01', stranger()),
          await payouts.request('USDC', '20', stranger()),
          await gateway.db.transaction((tx) =>
            refundPayment(gateway, tx, account, overpaid.id, {
              destination: stranger(),
              amount: null,
              askedBy: 'unknown',
            }),
          ),
        ]
        await payouts.turn()
        await payouts.turn()
        // Some of it settled, some did not.
        await payouts.mineAndTurn(Math.min(depth, confirmations + 1))
        const taken = await kindsInLast(payouts, depth)
        for (const kind of ['payout', 'refund', 'sweep', hardfork === 'prague' ? 'batch' : 'gas'])
          assert.ok(taken.includes(kind), `it takes a ${kind}, not only ${taken}`)
        await anvil.reorganise(depth)
        // What nobody saw in its block is sent again after half a minute.
        await payouts.pass(1)
        await payouts.follow()
        await payouts.prove()
        await passDay(payouts)
        await payouts.follow()
        await payouts.prove()
        await payouts.finish()
        await passDay(payouts)
        await payouts.follow()
        await payouts.finish()

        for (const payment of [...sent, overpaid]) {
          const { status, deposits } = await payouts.show(payment)
          assert.equal(status, payment === overpaid ? 'overpaid' : 'completed')
          assert.deepEqual(
            deposits.map(({ amount_atoms }) => BigInt(amount_atoms)),
            [payment === overpaid ? payment.dueAtoms + excess : payment.dueAtoms],
            'no deposit but the one that was sent',
          )
        }
        for (const withdrawal of asked) {
          assert.equal((await payouts.now(withdrawal)).status, 'completed')
          const held = await payouts.port.holdings({ outpoints: [], addresses: [withdrawal.destination] })
          assert.equal(held[withdrawal.asset], withdrawal.netAtoms)
        }
        assert.deepEqual(await listFreezes(gateway.db), [])
        assert.equal(await payouts.balance('ETH', 'unresolved'), 0n)
        assert.equal(await payouts.balance('ETH', 'held'), 0n)
        assert.ok((await payouts.balance('ETH', 'available')) > before)
      })

    it('could once invent one: it is taken back, booked back, and told', async () => {
      const payment = await payouts.pay('ETH', 100n)
      await payouts.finish()
      const phantom = payment.dueAtoms
      const progress = await findChainProgress(gateway.db, 'ethereum')
      assert.ok(progress)
      const block = { height: progress.tipHeight, hash: progress.tipHash }
      const lookup = Buffer.from(payment.address.slice(2), 'hex')
      const output = { lookup, index: SENT_BY_CONTRACT, asset: 'ETH', atoms: phantom } as const
      const invented = [{ key: `internal:${progress.tipHash}`, hash: null, outputs: [output], inputs: [] }]
      const own = await matchOwnAddresses(gateway.db, 'ethereum', invented)
      await gateway.db.transaction(async (tx) =>
        markDecisionDue(
          tx,
          await recordDeposits(gateway, tx, 'ethereum', own, { block, time: progress.tipTime }),
        ),
      )
      await anvil.mine(confirmations)
      await payouts.follow()
      assert.equal((await payouts.show(payment)).status, 'overpaid')
      assert.equal(await payouts.balance('ETH', 'unresolved'), phantom)
      await passDay(payouts)
      await payouts.follow()
      const { status, deposits } = await payouts.show(payment)
      assert.deepEqual(
        [status, deposits.map((deposit) => deposit.status)],
        ['completed', ['confirmed', 'dropped']],
      )
      assert.equal(await payouts.balance('ETH', 'unresolved'), 0n)
      await payouts.prove()
      const { rowCount } = await gateway.db.query("select from alerts where kind = 'deposit_withdrawn'")
      assert.equal(rowCount, 1)
    })
  })
}
