import assert from 'node:assert/strict'
import test, { describe } from 'node:test'
import { testCause, testPayment } from '../../../test/gateway.ts'
import { TEST_RATES } from '../../../test/rates.ts'
import { type Story, tellStory } from '../../../test/story.ts'
import { until } from '../../../test/wait-for.ts'
import type { SimulatedTransaction } from '../../chains/simulated/chain-store.ts'
import { withDescendants } from '../../chains/simulated/ledger.ts'
import { post } from '../../ledger/post.sql.ts'
import type { Payment } from '../../payments/payment.ts'
import { fixedRates } from '../../rates/fixed.ts'
import { settleNext } from '../../workers/settle.ts'
import { changeAccount } from '../accounts/change-account.ts'
import { observeChain } from '../watching/observe-chain.ts'
import { acceptPayment } from './resolve-payment.ts'
import { markWindowsOver } from './windows-over.sql.ts'

/** Litecoin at 100 dollars: a payment of 100 dollars is exactly one coin, its fee one hundredth of it. */
const COIN = 100_000_000n
const NET = 99_000_000n

const statuses = async (story: Story, ...payments: Payment[]) =>
  Promise.all(payments.map(async (payment) => (await story.read(payment)).status))

/** What takes a transaction's place, as it differs from it. */
type Replacement = (transaction: SimulatedTransaction) => Partial<SimulatedTransaction>[]

/** @returns The last that took its place. */
async function replace({ storage }: Story, txid: string, by: Replacement): Promise<string> {
  let last = txid
  await storage.change(async (store) => {
    const { transaction } = (await store.transactions([txid])).get(txid) ?? assert.fail('it is gone')
    await store.removeFromMempool(await withDescendants(store, [transaction]))
    for (const change of by(transaction)) {
      last = store.newHash()
      await store.addToMempool({ ...transaction, ...change, txid: last, bid: transaction.bid + 1n })
    }
  })
  return last
}

const accept = ({ gateway, account }: Story, payment: Payment) =>
  gateway.db.transaction((tx) => acceptPayment(gateway, tx, account, payment.id))

describe('a payment on a chain with six confirmations', () => {
  test('the exact amount: seen, confirmed, credited less the fee, told once', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    await story.pay(payment, COIN)
    await story.look()
    const seen = await story.read(payment)
    assert.equal(seen.status, 'detected')
    assert.equal(seen.confirmations, 0)
    assert.ok(seen.detected_at)
    await story.mine(5)
    await story.look()
    assert.equal((await story.read(payment)).confirmations, 5)
    assert.equal(await story.balance('available'), 0n)
    await story.mine(1)
    await story.look()
    const paid = await story.read(payment)
    assert.equal(paid.status, 'completed')
    assert.ok(paid.completed_at)
    assert.equal(await story.balance('available'), NET)
    assert.equal(await story.balance('unresolved'), 0n)
    assert.deepEqual(await story.events(), ['payment.created', 'payment.confirming', 'payment.completed'])
    await story.look()
    await story.proveBooks()
  })

  test('a lower amount is held, and a top-up within the window completes it at the locked rate', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    await story.payAndConfirm(payment, 60_000_000n)
    assert.deepEqual(await statuses(story, payment), ['underpaid'])
    assert.equal(await story.balance('unresolved'), 60_000_000n)
    await story.proveBooks()
    await story.pay(payment, 40_000_000n)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['detected'])
    await story.mine(6)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['completed'])
    assert.equal(await story.balance('available'), NET)
    await story.proveBooks()
  })

  test('a higher amount credits the quote and holds the excess until it is accepted', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    await story.payAndConfirm(payment, COIN + 50_000_000n)
    assert.deepEqual(await statuses(story, payment), ['overpaid'])
    assert.equal(await story.balance('available'), NET)
    assert.equal(await story.balance('unresolved'), 50_000_000n)
    await accept(story, payment)
    const accepted = await story.read(payment)
    assert.equal(accepted.status, 'completed')
    assert.equal(accepted.net_fiat, 148.5)
    assert.equal(await story.balance('available'), NET + 49_500_000n)
    assert.deepEqual((await story.events()).filter((type) => type === 'payment.completed').length, 1)
    await story.proveBooks()
    await assert.rejects(accept(story, payment), { reason: 'nothing_to_accept' })
  })

  test('what nobody could send any more counts as paid: the remainder of a rounded amount is never asked for', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    const sent = COIN - 2_939n
    await story.payAndConfirm(payment, sent)
    const paid = await story.read(payment)
    assert.deepEqual([paid.status, paid.missing], ['completed', null])
    assert.equal(paid.net_fiat, 99)
    // What came, less the fee on it: the merchant bears what is missing.
    assert.equal(await story.balance('available'), (sent * 99n) / 100n)
    assert.equal(await story.balance('unresolved'), 0n)
    await story.proveBooks()

    const other = await testPayment(story.gateway, story.account)
    await story.payAndConfirm(other, COIN - 2_940n)
    const { status, missing } = await story.read(other)
    assert.deepEqual([status, missing], ['underpaid', '0.0000294'])
  })

  test("a merchant's tolerance completes a payment that lacks less, in figures that say what was credited", async () => {
    const story = await tellStory()
    const account = await story.gateway.db.transaction((tx) =>
      changeAccount(tx, story.account.id, { tolerance: '2.5' }),
    )
    const payment = await testPayment(story.gateway, account)
    await story.payAndConfirm(payment, 97_500_000n)
    const paid = await story.read(payment)
    assert.deepEqual(
      [paid.status, paid.fiat_amount, paid.net_fiat, paid.fee_fiat],
      ['completed', 100, 96.52, 0.98],
    )
    assert.equal(await story.balance('available'), 96_525_000n)
    assert.deepEqual(await story.events(), ['payment.created', 'payment.confirming', 'payment.completed'])
    // A reorganisation takes it back to the quote, and it settles the same again.
    await story.reorganise(7)
    await story.look()
    assert.equal(await story.balance('available'), 0n)
    await story.mine(8)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['completed'])
    assert.equal(await story.balance('available'), 96_525_000n)
    await story.proveBooks()
    for (const tolerance of ['5.01', '-1', '0.001', 'much'])
      await assert.rejects(
        story.gateway.db.transaction((tx) => changeAccount(tx, account.id, { tolerance })),
        { reason: 'invalid_tolerance' },
      )
  })

  test('a further deposit to a completed payment makes it overpaid and tells nobody twice', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    await story.payAndConfirm(payment, COIN)
    await story.pay(payment, 1_000_000n)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['completed'])
    await story.mine(6)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['overpaid'])
    assert.equal(await story.balance('unresolved'), 1_000_000n)
    assert.equal((await story.events()).filter((type) => type === 'payment.completed').length, 1)
    await story.proveBooks()
  })

  test('a replaced deposit gives the quote back, and fails the payment once the window is over', async () => {
    const story = await tellStory()
    const [early, last] = [
      await testPayment(story.gateway, story.account),
      await testPayment(story.gateway, story.account),
    ]
    const [first, second] = [await story.pay(early, COIN), await story.pay(last, COIN)]
    await story.look()
    await story.replace(first)
    await story.look()
    assert.deepEqual(await statuses(story, early, last), ['pending', 'detected'])
    assert.equal((await story.read(early)).detected_at, null)
    await story.endWindow(last)
    await story.replace(second)
    await story.look()
    await story.look()
    assert.deepEqual(await statuses(story, early, last), ['pending', 'failed'])
    assert.equal((await story.events()).at(-1), 'payment.expired')
    await story.proveBooks()
  })

  test('a reorganisation before completion waits for the chain to show the deposit again', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    await story.pay(payment, COIN)
    await story.mine(3)
    await story.look()
    await story.reorganise(3)
    await story.look()
    const shown = await story.read(payment)
    assert.equal(shown.status, 'detected')
    assert.equal(shown.confirmations, 0)
    await story.mine(6)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['completed'])
    await story.proveBooks()
  })

  test('a reorganisation after completion takes the credit back and settles again without a second event', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account, { customerEmail: 'buyer@example.com' })
    const txid = await story.payAndConfirm(payment, COIN)
    await story.reorganise(6)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['detected'])
    assert.equal(await story.balance('available'), 0n)
    await story.proveBooks()
    await story.mine(6)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['completed'])
    assert.equal(await story.balance('available'), NET)
    assert.deepEqual(await story.events(), ['payment.created', 'payment.confirming', 'payment.completed'])
    const { rows } = await story.gateway.db.query<{ order_count: number; total_spent_minor: bigint }>(
      'select order_count, total_spent_minor from customers',
    )
    assert.deepEqual(rows, [{ order_count: 1, total_spent_minor: 9_900n }])
    await story.proveBooks()
    await story.reorganise(6)
    await story.look()
    assert.equal(await story.replace(txid), true)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['failed'])
    await story.proveBooks()
  })

  test('a reversal that finds the money withdrawn is a loss, paid back when the payment settles again', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    await story.payAndConfirm(payment, COIN)
    const withdraw = { asset: 'LTC', debit: 'available', credit: 'held', atoms: 90_000_000n } as const
    await story.gateway.db.transaction((tx) =>
      post(tx, {
        accountId: story.account.id,
        chain: 'sim-litecoin',
        cause: testCause('withdraw'),
        transfers: [withdraw],
      }),
    )
    await story.reorganise(6)
    await story.look()
    assert.equal(await story.balance('available'), 0n)
    const { rows: alerts } = await story.gateway.db.query<{ kind: string }>('select kind from alerts')
    assert.deepEqual(alerts, [{ kind: 'settlement_reversed_with_loss' }])
    await story.proveBooks()
    await story.mine(6)
    await story.look()
    assert.equal(await story.balance('available'), 9_000_000n)
    assert.equal(await story.balance('held'), 90_000_000n)
    await story.proveBooks()
  })

  test('nothing expires while the chain is out of sight', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    await story.look()
    await story.endWindow(payment)
    assert.equal(await story.gateway.db.transaction((tx) => markWindowsOver(tx, 10)), 0)
    assert.deepEqual(await statuses(story, payment), ['pending'])
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['expired'])
    assert.deepEqual(await story.events(), ['payment.created', 'payment.expired'])
  })

  test('late funds are recorded, held and shown; accepting them credits the rate of that moment', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    await story.endWindow(payment)
    await story.look()
    await story.payAndConfirm(payment, 50_000_000n)
    const late = await story.read(payment)
    assert.equal(late.status, 'expired')
    assert.deepEqual(
      late.deposits.map((deposit) => [deposit.late, deposit.status]),
      [[true, 'confirmed']],
    )
    assert.equal(await story.balance('unresolved'), 50_000_000n)
    await accept(story, payment)
    const accepted = await story.read(payment)
    assert.deepEqual([accepted.status, accepted.net_fiat, accepted.fee_fiat], ['completed', 49.5, 0.5])
    assert.equal(accepted.detected_at, accepted.deposits[0]?.seen_at)
    assert.equal(await story.balance('available'), 49_500_000n)
    await story.proveBooks()
  })

  test('of what is accepted, coins of the window count at the quote and late ones at the rate of that moment', async () => {
    const story = await tellStory()
    const [under, over] = [
      await testPayment(story.gateway, story.account),
      await testPayment(story.gateway, story.account),
    ]
    await story.pay(under, 60_000_000n)
    await story.payAndConfirm(over, COIN + 20_000_000n)
    for (const payment of [under, over]) await story.endWindow(payment)
    await story.look()
    for (const payment of [under, over]) await story.pay(payment, 40_000_000n)
    await story.mine(6)
    await story.look()
    assert.deepEqual(await statuses(story, under, over), ['underpaid', 'overpaid'])

    const half = fixedRates(TEST_RATES.replace('LTC/USD=100', 'LTC/USD=50'))
    const later = { ...story, gateway: { ...story.gateway, rates: { live: half, test: half } } }
    for (const payment of [under, over]) await accept(later, payment)
    const [first, second] = [await story.read(under), await story.read(over)]
    // 0.6 coins at 100 dollars and 0.4 at 50; the quote, 0.2 at 100 and 0.4 at 50.
    assert.deepEqual([first.status, first.net_fiat, first.fee_fiat], ['completed', 79.2, 0.8])
    assert.deepEqual([second.status, second.net_fiat, second.fee_fiat], ['completed', 138.6, 1.4])
    assert.equal(await story.balance('available'), NET + NET + 59_400_000n)
    assert.equal(await story.balance('unresolved'), 0n)
    await story.proveBooks()

    // All that came in time was credited: what comes now is late, whatever the payment was.
    await story.payAndConfirm(over, 20_000_000n)
    await accept(later, over)
    const third = await story.read(over)
    assert.deepEqual([third.status, third.net_fiat, third.fee_fiat], ['completed', 148.5, 1.5])
    await story.proveBooks()
  })

  test('what was accepted settles again as it was credited when a reorganisation took its block', async () => {
    const story = await tellStory()
    const [under, over, expired] = [
      await testPayment(story.gateway, story.account, { customerEmail: 'buyer@example.com' }),
      await testPayment(story.gateway, story.account),
      await testPayment(story.gateway, story.account),
    ]
    await story.endWindow(expired)
    await story.look()
    await story.pay(under, 60_000_000n)
    await story.pay(over, COIN + 20_000_000n)
    await story.payAndConfirm(expired, 70_000_000n)
    const half = fixedRates(TEST_RATES.replace('LTC/USD=100', 'LTC/USD=50'))
    const later = { ...story, gateway: { ...story.gateway, rates: { live: half, test: half } } }
    for (const payment of [under, over, expired]) await accept(later, payment)
    const shown = async () =>
      Promise.all(
        [under, over, expired].map(async (payment) => {
          const { status, net_fiat, fee_fiat, missing } = await story.read(payment)
          return [status, net_fiat, fee_fiat, missing]
        }),
      )
    const customers = async () =>
      (await story.gateway.db.query('select order_count, total_spent_minor from customers')).rows
    const [told, bought, credited] = [await shown(), await customers(), await story.balance('available')]
    assert.deepEqual(told, [
      ['completed', 59.4, 0.6, null],
      ['completed', 118.8, 1.2, null],
      ['completed', 34.65, 0.35, null],
    ])
    for (let again = 0; again < 2; again++) {
      await story.reorganise(6)
      await story.look()
      assert.deepEqual(await statuses(story, under, over, expired), ['detected', 'detected', 'detected'])
      assert.equal(await story.balance('available'), 0n)
      await story.proveBooks()
      await story.mine(6)
      await story.look()
      assert.deepEqual(await shown(), told)
      assert.deepEqual(await customers(), bought)
      assert.equal(await story.balance('available'), credited)
      assert.equal(await story.balance('unresolved'), 0n)
      await story.proveBooks()
    }
    assert.equal((await story.events()).filter((type) => type === 'payment.completed').length, 3)
  })

  test('what completed once is not told of again when its events are forgotten already', async () => {
    const story = await tellStory()
    const [over, lost] = [
      await testPayment(story.gateway, story.account),
      await testPayment(story.gateway, story.account),
    ]
    await story.pay(over, COIN + 20_000_000n)
    await story.payAndConfirm(lost, COIN)
    await story.gateway.db.query('delete from events')
    await accept(story, over)
    await story.reorganise(6)
    await story.look()
    assert.deepEqual(await statuses(story, over, lost), ['detected', 'detected'])
    await story.mine(6)
    await story.look()
    assert.deepEqual(await statuses(story, over, lost), ['completed', 'completed'])
    assert.deepEqual(await story.events(), [])
  })

  test('a payment that failed, was accepted and is lost is told of as failed once more', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    const first = await story.pay(payment, COIN)
    await story.look()
    await story.endWindow(payment)
    await story.replace(first)
    await story.look()
    await story.look()
    const late = await story.payAndConfirm(payment, COIN)
    await accept(story, payment)
    await story.reorganise(6)
    await story.look()
    assert.equal(await story.replace(late), true)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['failed'])
    assert.deepEqual((await story.events()).slice(2), [
      'payment.expired',
      'payment.completed',
      'payment.expired',
    ])
    await story.proveBooks()
  })

  test('an account that accepts late funds worth the price need not ask', async () => {
    const story = await tellStory()
    await story.gateway.db.query('update accounts set accepts_late_funds = true')
    const [enough, little] = [
      await testPayment(story.gateway, story.account),
      await testPayment(story.gateway, story.account),
    ]
    for (const payment of [enough, little]) await story.endWindow(payment)
    await story.look()
    await story.pay(enough, COIN)
    await story.payAndConfirm(little, COIN - 1_000_000n)
    assert.deepEqual(await statuses(story, enough, little), ['completed', 'expired'])
    await story.proveBooks()
  })

  test("late funds that waited are support's: nothing that comes later accepts them at another rate", async () => {
    const story = await tellStory()
    const { db } = story.gateway
    const payment = await testPayment(story.gateway, story.account)
    await story.endWindow(payment)
    await story.look()
    await story.payAndConfirm(payment, COIN)
    await db.query('update accounts set accepts_late_funds = true')
    await story.payAndConfirm(payment, 1_000n)
    assert.deepEqual(await statuses(story, payment), ['expired'], 'dust decides nothing')
    await db.query(`update payments set expires_at = expires_at - interval '2 days'`)
    await db.query(`update deposits set seen_at = seen_at - interval '2 days'`)
    await story.payAndConfirm(payment, 1_000_000n)
    assert.deepEqual(await statuses(story, payment), ['expired'], 'nor does what comes after a day')
    await accept(story, payment)
    assert.deepEqual(await statuses(story, payment), ['completed'])
    await story.proveBooks()
  })

  test('what was seen in time keeps the quote for no more than itself, however it is replaced', async () => {
    const replacements: Record<string, [inTime: bigint, by: Replacement]> = {
      'by the whole price': [
        3_000n,
        ({ outputs }) => [{ outputs: outputs.map((each) => ({ ...each, atoms: COIN })) }],
      ],
      'by ten outputs of as much': [
        COIN / 10n,
        ({ outputs: [output = assert.fail()] }) => [
          { outputs: Array.from({ length: 10 }, (_, index) => ({ ...output, index })) },
        ],
      ],
      'by two, each with one of its inputs': [
        COIN / 2n,
        ({ claims }) => claims.map((claim) => ({ claims: [claim] })),
      ],
    }
    for (const [how, [inTime, by]] of Object.entries(replacements)) {
      const story = await tellStory()
      const payment = await testPayment(story.gateway, story.account)
      const first = await replace(story, await story.pay(payment, inTime), ({ claims }) => [
        { claims: [...claims, { txid: 'cd'.repeat(32), index: 0 }] },
      ])
      await story.look()
      assert.deepEqual(await statuses(story, payment), ['detected'])
      await story.endWindow(payment)
      await replace(story, first, by)
      await story.mine(6)
      await story.look()
      const { status, deposits } = await story.read(payment)
      assert.equal(status, 'failed', how)
      assert.ok(
        deposits.every(({ late, status: of }) => late || of === 'replaced'),
        how,
      )
      await accept(story, payment)
      assert.deepEqual(await statuses(story, payment), ['completed'])
      await story.proveBooks()
    }
  })

  test('with another fee it is what was seen in time', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    const txid = await story.pay(payment, COIN)
    await story.look()
    await story.endWindow(payment)
    await replace(story, txid, ({ claims }) => [{ claims: [...claims, { txid: 'cd'.repeat(32), index: 0 }] }])
    await story.mine(6)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['completed'])
    await story.proveBooks()
  })

  test('a payment of which a part waits for good is left to support when its window ends', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    await story.payAndConfirm(payment, COIN / 2n)
    await story.pay(payment, 3_000n)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['detected'])
    await story.endWindow(payment)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['underpaid'])
    assert.equal(await story.gateway.db.transaction((tx) => markWindowsOver(tx, 10)), 0)
  })

  test('late funds are accepted by themselves whatever blocks were read at once while a watcher catches up', async () => {
    for (const blocksMax of [50, 5, 1]) {
      const story = await tellStory()
      const { gateway, port, lease } = story
      await gateway.db.query('update accounts set accepts_late_funds = true')
      const payment = await testPayment(gateway, story.account)
      await story.endWindow(payment)
      await story.pay(payment, COIN)
      await story.mine(12)
      for (let behind = true; behind; ) {
        ;({ behind } = await observeChain(gateway, port, lease, { blocksMax }))
        while (await settleNext(gateway));
      }
      await story.look()
      assert.deepEqual(await statuses(story, payment), ['completed'], `${blocksMax} blocks a poll`)
    }
  })

  test('what waits in the mempool for good keeps nobody from deciding about what came late', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    const stuck = await story.pay(payment, 3_000n)
    await story.look()
    await story.endWindow(payment)
    await story.look()
    const { transaction } = await story.storage.change(async (store) => {
      const placed = (await store.transactions([stuck])).get(stuck) ?? assert.fail('it is gone')
      await store.removeFromMempool(await withDescendants(store, [placed.transaction]))
      return placed
    })
    await story.pay(payment, COIN)
    await story.mine(6)
    await story.storage.change((store) => store.addToMempool(transaction))
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['underpaid'])
    await accept(story, payment)
    assert.deepEqual(await statuses(story, payment), ['completed'])
    await story.mine(6)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['overpaid'])
    assert.equal(await story.balance('unresolved'), 3_000n)
    await story.proveBooks()
  })

  test('confirmations are those of what is needed: nothing that comes beside it sets them back', async () => {
    const story = await tellStory()
    const [whole, part] = [
      await testPayment(story.gateway, story.account),
      await testPayment(story.gateway, story.account),
    ]
    await story.pay(whole, COIN)
    await story.pay(part, COIN / 2n)
    await story.mine(5)
    await story.look()
    const confirmations = async () => [
      (await story.read(whole)).confirmations,
      (await story.read(part)).confirmations,
    ]
    assert.deepEqual(await confirmations(), [5, 5])
    await story.endWindow(part)
    for (const payment of [whole, part]) await story.pay(payment, 3_000n)
    await story.look()
    assert.deepEqual(await confirmations(), [5, 5])
  })

  test('what a block dates before the end of the window, and shows after the payment expired, is accepted like other late funds', async () => {
    const story = await tellStory()
    const { db } = story.gateway
    await db.query('update accounts set accepts_late_funds = true')
    const payment = await testPayment(story.gateway, story.account)
    await story.pay(payment, COIN)
    await story.mine(1)
    // A node that does not know the block yet is all that was looked at.
    await db.query(`update payments set expires_at = clock_timestamp(), decision_due = true`)
    await db.query(`update chains set polled_at = clock_timestamp() + interval '1 millisecond'`)
    await until('the window is over', async () => {
      await settleNext(story.gateway)
      const { status } = await story.read(payment)
      await db.query(`update payments set decision_due = true`)
      return status === 'expired'
    })
    await story.look()
    const [deposit] = (await story.read(payment)).deposits
    assert.equal(deposit?.late, true)
    assert.ok(deposit.seen_at < (await story.read(payment)).expires_at)
    await story.mine(5)
    await story.look()
    assert.deepEqual(await statuses(story, payment), ['completed'])
    assert.equal(await story.balance('available'), NET)
    await story.proveBooks()
  })

  test('dust is recorded and moves nothing', async () => {
    const story = await tellStory()
    const payment = await testPayment(story.gateway, story.account)
    await story.payAndConfirm(payment, 2_939n)
    const shown = await story.read(payment)
    assert.equal(shown.status, 'pending')
    assert.equal(shown.deposits.length, 1)
    await story.proveBooks()
  })
})

test('a coin that reaches the address of a payment in another coin is held and shown', async () => {
  const story = await tellStory({ chain: 'sim-ethereum' })
  const payment = await testPayment(story.gateway, story.account, { asset: 'ETH' })
  await story.payAndConfirm(payment, 5_000_000n, 'USDC')
  const shown = await story.read(payment)
  assert.equal(shown.status, 'pending')
  assert.deepEqual(
    shown.deposits.map((deposit) => [deposit.asset, deposit.amount, deposit.status]),
    [['USDC', '5', 'confirmed']],
  )
  assert.equal(await story.balance('unresolved'), 5_000_000n)
  await story.proveBooks()
})
