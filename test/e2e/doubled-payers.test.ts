/** Two signers, each with a journal of its own, and two payers, started on one database by mistake. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { formatDecimal } from '../../src/core/money.ts'
import { openDatabase } from '../../src/db/database.ts'
import { requestWithdrawal } from '../../src/flows/withdrawals/request-withdrawal.ts'
import { gatewayOn } from '../gateway-on.ts'
import { DESTINATIONS, PAYOUT_CONFIRMATIONS, tellPayouts } from '../payout-story.ts'
import { payOnce, signAll, testSigner } from '../payouts.ts'
import { TEST_SECRETS } from '../wallet.ts'

const CASES = [
  ['sim-bitcoin', 'BTC', 8, 50],
  ['sim-litecoin', 'LTC', 8, 1],
  ['sim-ethereum', 'ETH', 18, 20],
] as const

for (const [chain, asset, decimals, share] of CASES) {
  async function openTwice() {
    const story = await tellPayouts(chain)
    await story.earn(asset, 500_000n)
    for (let round = 0; chain === 'sim-ethereum' && round < 3; round++) await story.mineAndTurn(12)
    const db = openDatabase({ url: story.gateway.db.url })
    after(() => db.close())
    const gateways = [story.gateway, gatewayOn(db, TEST_SECRETS)] as const
    const signers = [story.signer, await testSigner(gateways[1], [chain])] as const
    return {
      story,
      gateways,
      /** Everybody at once, block after block, until nothing is on its way. */
      async settleAll() {
        for (let round = 0; round < 12; round++) {
          // What a payer sent before the other one sent the nonce below it was refused, and would be due in three seconds.
          await db.query(`update signed_transactions set send_at = now() where status = 'refused'`)
          await Promise.all([
            ...signers.map(signAll),
            ...gateways.map((gateway) => payOnce(gateway, story.port)),
          ])
          await story.mine(round < 2 ? 1 : PAYOUT_CONFIRMATIONS[chain])
          await story.look()
          const { rowCount } = await db.query(
            `select from withdrawals where status in ('requested', 'broadcast')`,
          )
          if (rowCount === 0) return
        }
        assert.fail('withdrawals are still on their way')
      },
      async paymentsOf(atoms: bigint): Promise<number> {
        const { height } = await story.port.tip()
        let count = 0
        for (let at = 0; at <= height; at++) {
          const hash = await story.port.blockHash(at)
          assert(hash)
          for (const { outputs } of (await story.port.readBlock(hash)).transactions)
            count += outputs.filter((output) => output.atoms === atoms).length
        }
        return count
      },
    }
  }

  test(`${asset}: of 100 parallel withdrawals of the whole balance one is paid, once`, async () => {
    const { story, gateways, settleAll, paymentsOf } = await openTwice()
    const amount = formatDecimal(await story.balance('available'), decimals)
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, index) => {
        const gateway = gateways[index % 2 === 0 ? 0 : 1]
        return gateway.db.transaction((tx) =>
          requestWithdrawal(gateway, tx, story.account, {
            asset,
            amount,
            destination: DESTINATIONS[chain],
            askedBy: 'unknown',
          }),
        )
      }),
    )
    const asked = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.equal(outcome.reason.reason, 'insufficient_balance')
    assert.equal(asked.length, 1)
    await settleAll()
    const [paid] = asked
    assert(paid)
    assert.equal((await story.now(paid)).status, 'completed')
    assert.equal(await paymentsOf(paid.netAtoms), 1)
    assert.deepEqual([await story.balance('available'), await story.balance('held')], [0n, 0n])
    await story.proveBooks()
  })

  test(`${asset}: twenty withdrawals that both signers want are paid once each`, async () => {
    const { story, settleAll, paymentsOf } = await openTwice()
    const before = await story.balance('available')
    const asked = await Promise.all(
      Array.from({ length: 20 }, (_, index) => story.request(asset, ((index + 1) / share / 100).toFixed(5))),
    )
    await settleAll()
    for (const each of asked) {
      assert.equal((await story.now(each)).status, 'completed')
      assert.equal(await paymentsOf(each.netAtoms), 1)
    }
    const gross = asked.reduce((sum, each) => sum + each.amountAtoms, 0n)
    assert.deepEqual([await story.balance('available'), await story.balance('held')], [before - gross, 0n])
    await story.proveBooks()
  })
}
