/** What a payment holds and nobody may have yet: returned to an address of the buyer's, or accepted; once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testCause, testPayment } from '../../../test/gateway.ts'
import { tellPayouts } from '../../../test/payout-story.ts'
import { signAll } from '../../../test/payouts.ts'
import { TEST_RATES } from '../../../test/rates.ts'
import { until } from '../../../test/wait-for.ts'
import { lockBalance, post } from '../../ledger/post.sql.ts'
import type { Payment } from '../../payments/payment.ts'
import { lockPayment } from '../../payments/payments.sql.ts'
import { fixedRates } from '../../rates/fixed.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'
import { cancelWithdrawal } from '../withdrawals/cancel-withdrawal.ts'
import { refundPayment } from '../withdrawals/refund-payment.ts'
import { cancelPayment } from './cancel-payment.ts'
import { acceptPayment } from './resolve-payment.ts'

const BUYER = 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0'
const COIN = 100_000_000n

async function tellRefunds() {
  const story = await tellPayouts('sim-litecoin')
  const { gateway, account } = story
  const refund = (payment: Payment, amount: string | null = null, by = account) =>
    gateway.db.transaction((tx) =>
      refundPayment(gateway, tx, by, payment.id, { destination: BUYER, amount, askedBy: 'unknown' }),
    )
  return {
    ...story,
    refund,
    accept: (payment: Payment) =>
      gateway.db.transaction((tx) => acceptPayment(gateway, tx, account, payment.id)),
    async payAndConfirm(payment: Payment, atoms: bigint) {
      await story.pay(payment, atoms)
      await story.look()
      await story.mineAndTurn(6)
    },
    /** Signed, sent and confirmed. */
    async complete(withdrawal: Withdrawal) {
      await story.turn()
      await story.mineAndTurn(6)
      const { txHash, status } = await story.now(withdrawal)
      assert.equal(status, 'completed')
      const outputs = await story.outputsOf(txHash ?? '')
      assert.equal(outputs.filter((output) => output.atoms === withdrawal.netAtoms).length, 1)
    },
    async status(payment: Payment) {
      return (await story.read(payment)).status
    },
  }
}

const WAYS = {
  async underpaid(story) {
    const payment = await testPayment(story.gateway, story.account)
    await story.payAndConfirm(payment, COIN / 4n)
    return { payment, held: COIN / 4n, credited: 0n }
  },
  async overpaid(story) {
    const payment = await testPayment(story.gateway, story.account)
    await story.payAndConfirm(payment, COIN * 3n)
    return { payment, held: COIN * 2n, credited: await story.balance('available') }
  },
  async expired(story) {
    const payment = await testPayment(story.gateway, story.account)
    await story.endWindow(payment)
    await story.look()
    await story.payAndConfirm(payment, COIN)
    return { payment, held: COIN, credited: 0n }
  },
  async cancelled(story) {
    const payment = await testPayment(story.gateway, story.account)
    await story.gateway.db.transaction((tx) => cancelPayment(tx, story.account.id, payment.id))
    await story.payAndConfirm(payment, COIN)
    return { payment, held: COIN, credited: 0n }
  },
} satisfies Record<
  string,
  (
    story: Awaited<ReturnType<typeof tellRefunds>>,
  ) => Promise<{ payment: Payment; held: bigint; credited: bigint }>
>

for (const [status, arrive] of Object.entries(WAYS))
  test(`${status}: everything held goes back once, and payment.refunded tells when it confirms`, async () => {
    const story = await tellRefunds()
    const { payment, held, credited } = await arrive(story)
    assert.equal(await story.status(payment), status)
    assert.equal(await story.balance('unresolved'), held)
    const refund = await story.refund(payment)
    assert.deepEqual([refund.amountAtoms, refund.feeAtoms, refund.kind], [held, 0n, 'refund'])
    assert.deepEqual([await story.balance('unresolved'), await story.balance('held')], [0n, held])
    await assert.rejects(story.refund(payment), { kind: 'conflict', reason: 'already_refunded' })
    await assert.rejects(story.accept(payment), { kind: 'conflict', reason: 'nothing_to_accept' })
    assert.ok(!(await story.events()).includes('payment.refunded'))
    await story.proveBooks()
    await story.complete(refund)
    assert.equal((await story.events()).filter((type) => type === 'payment.refunded').length, 1)
    assert.ok(!(await story.events()).includes('payout.completed'))
    assert.equal(await story.status(payment), status, 'its status stays as it was')
    assert.deepEqual([await story.balance('available'), await story.balance('held')], [credited, 0n])
    await story.proveBooks()
  })

test('a part may be refunded and the rest accepted; more than is held may not', async () => {
  const story = await tellRefunds()
  const { payment } = await WAYS.overpaid(story)
  await assert.rejects(story.refund(payment, '2.00000001'), { reason: 'insufficient_balance' })
  const refund = await story.refund(payment, '0.5')
  await story.complete(refund)
  const before = await story.balance('available')
  await story.accept(payment)
  assert.equal(await story.balance('unresolved'), 0n)
  assert.ok((await story.balance('available')) - before > COIN)
  await assert.rejects(story.refund(payment), { reason: 'already_refunded' })
  await story.proveBooks()
})

test('a part refunded is of the coins that came in time: late ones never get their rate', async () => {
  const story = await tellRefunds()
  const { payment } = await WAYS.underpaid(story)
  await story.complete(await story.refund(payment, '0.1'))
  await story.endWindow(payment)
  await story.payAndConfirm(payment, COIN / 5n)
  assert.equal(await story.status(payment), 'underpaid')
  const half = fixedRates(TEST_RATES.replace('LTC/USD=100', 'LTC/USD=50'))
  const later = { ...story.gateway, rates: { live: half, test: half } }
  await story.gateway.db.transaction((tx) => acceptPayment(later, tx, story.account, payment.id))
  // 0.15 coins at 100 dollars and 0.2 at 50.
  const { net_fiat, fee_fiat } = await story.read(payment)
  assert.deepEqual([net_fiat, fee_fiat], [24.75, 0.25])
  await story.proveBooks()
})

test('nothing is refunded while a payment runs, when nothing is held, or by another account', async () => {
  const story = await tellRefunds()
  const payment = await testPayment(story.gateway, story.account)
  await assert.rejects(story.refund(payment), { reason: 'payment_in_progress' })
  await story.pay(payment, COIN)
  await story.look()
  await assert.rejects(story.refund(payment), { reason: 'payment_in_progress' })
  await story.mineAndTurn(6)
  assert.equal(await story.status(payment), 'completed')
  await assert.rejects(story.refund(payment), { reason: 'nothing_to_refund' })
  const stranger = await testAccount(story.gateway)
  await assert.rejects(story.refund(payment, null, stranger), { kind: 'not_found' })
})

test('of refunds and acceptances at once one happens', async () => {
  const story = await tellRefunds()
  const { payment, held } = await WAYS.underpaid(story)
  const outcomes = await Promise.allSettled(
    Array.from({ length: 12 }, (_, index) => (index % 2 ? story.accept(payment) : story.refund(payment))),
  )
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
  assert.equal(await story.balance('unresolved'), 0n)
  assert.ok((await story.balance('held')) + (await story.balance('available')) <= held)
  await story.proveBooks()
})

test('a refund that the signer refuses gives back what was held, and may be asked for again', async () => {
  const story = await tellRefunds()
  const { payment, held } = await WAYS.underpaid(story)
  const refund = await story.refund(payment)
  await story.gateway.db.query(`update withdrawals set destination = $1`, [
    'tltc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qzj0pmc',
  ])
  await signAll(story.signer)
  await story.turn()
  assert.deepEqual([(await story.now(refund)).status, await story.balance('unresolved')], ['failed', held])
  await story.look()
  await story.complete(await story.refund(payment))
  await story.proveBooks()
})

test('what was refunded does not count when the buyer tops up: the quote is covered by new coins alone', async () => {
  const story = await tellRefunds()
  const { payment } = await WAYS.underpaid(story)
  const refund = await story.refund(payment)
  await story.payAndConfirm(payment, (COIN * 3n) / 4n)
  assert.equal(await story.status(payment), 'underpaid')
  assert.equal(await story.balance('available'), 0n)
  await story.complete(refund)
  await story.payAndConfirm(payment, COIN / 4n)
  assert.equal(await story.status(payment), 'completed')
  assert.equal(await story.balance('unresolved'), 0n)
  await story.proveBooks()
})

test('late funds are not accepted by themselves once some were refunded: support has decided', async () => {
  const story = await tellRefunds()
  await story.gateway.db.query('update accounts set accepts_late_funds = true')
  const payment = await testPayment(story.gateway, story.account)
  await story.endWindow(payment)
  await story.look()
  await story.payAndConfirm(payment, COIN - 1_000_000n)
  await story.complete(await story.refund(payment))
  for (const late of [1_000_000n, COIN]) {
    await story.payAndConfirm(payment, late)
    assert.equal(await story.status(payment), 'expired')
  }
  assert.equal(await story.balance('available'), 0n)
  assert.equal(await story.balance('unresolved'), COIN + 1_000_000n)
  await story.accept(payment)
  assert.equal(await story.status(payment), 'completed')
  await story.proveBooks()
})

test('late funds are not accepted by themselves once a refund was asked for, though it was cancelled', async () => {
  const story = await tellRefunds()
  const { gateway, account } = story
  const payment = await testPayment(gateway, account)
  await story.endWindow(payment)
  await story.look()
  await story.payAndConfirm(payment, COIN / 2n)
  const refund = await story.refund(payment)
  await gateway.db.query('update accounts set accepts_late_funds = true')
  await gateway.db.transaction((tx) => cancelWithdrawal(tx, account, refund.id))
  await story.turn()
  await story.payAndConfirm(payment, COIN)
  assert.equal(await story.status(payment), 'expired')
  assert.equal(await story.balance('available'), 0n)
  await story.proveBooks()
})

test('what is missing after a refund within the window is the whole price again, and paying it completes', async () => {
  const story = await tellRefunds()
  const { payment } = await WAYS.underpaid(story)
  assert.equal((await story.read(payment)).missing, '0.75')
  await story.complete(await story.refund(payment))
  assert.equal((await story.read(payment)).missing, '1')
  await story.payAndConfirm(payment, COIN / 2n)
  const { status, missing } = await story.read(payment)
  assert.deepEqual([status, missing], ['underpaid', '0.5'])
  await story.payAndConfirm(payment, COIN / 2n)
  assert.equal(await story.status(payment), 'completed')
  await story.proveBooks()
})

test('a top-up beside a refund that fails covers the quote after all', async () => {
  const story = await tellRefunds()
  const { payment } = await WAYS.underpaid(story)
  await story.refund(payment)
  await story.gateway.db.query('update withdrawals set net_atoms = net_atoms - 1, fee_atoms = fee_atoms + 1')
  await story.payAndConfirm(payment, (COIN * 3n) / 4n)
  await story.turn()
  await story.look()
  assert.equal(await story.status(payment), 'completed')
  await story.proveBooks()
})

for (const when of ['on its way', 'confirmed'])
  test(`a reorganisation that takes the deposit of a refund ${when} is booked, to loss where it must`, async () => {
    const story = await tellRefunds()
    const { payment } = await WAYS.underpaid(story)
    const refund = await story.refund(payment)
    if (when === 'confirmed') await story.complete(refund)
    await story.reorganise(when === 'confirmed' ? 13 : 7)
    await story.look()
    await story.turn()
    await story.proveBooks()
    await story.mineAndTurn(7)
    await story.mineAndTurn(7)
    assert.equal((await story.now(refund)).status, 'completed')
    assert.equal((await story.events()).filter((type) => type === 'payment.refunded').length, 1)
    // The coins came back, the buyer has them: nobody gets them a second time, and nothing was lost in the end.
    assert.equal(await story.balance('unresolved'), 0n)
    await assert.rejects(story.accept(payment), { reason: 'nothing_to_accept' })
    const { rows } = await story.gateway.db.query<{ atoms: bigint }>(
      `select coalesce(sum(case when debit = 'loss' then amount_atoms else -amount_atoms end), 0) as atoms
       from transfers where 'loss' in (debit, credit)`,
    )
    assert.equal(rows[0]?.atoms, 0n)
    await story.proveBooks()
  })

test('what was credited and withdrawn before a reorganisation took it is paid back by what is held, and not refunded', async () => {
  const story = await tellRefunds()
  const payment = await testPayment(story.gateway, story.account)
  const first = await story.pay(payment, COIN / 4n)
  await story.payAndConfirm(payment, COIN / 2n)
  await story.accept(payment)
  const credited = await story.balance('available')
  await story.gateway.db.transaction((tx) =>
    post(tx, {
      accountId: story.account.id,
      chain: 'sim-litecoin',
      cause: testCause('withdraw'),
      transfers: [{ asset: 'LTC', debit: 'available', credit: 'held', atoms: credited }],
    }),
  )
  await story.reorganise(7)
  assert.ok(await story.replace(first))
  await story.look()
  await story.mineAndTurn(7)
  // One of its deposits came back: less than was accepted, and all of it is what was withdrawn.
  assert.deepEqual([await story.status(payment), await story.balance('unresolved')], ['underpaid', COIN / 2n])
  await assert.rejects(story.refund(payment), { kind: 'conflict', reason: 'shortfall_outstanding' })
  await assert.rejects(story.refund(payment, '0.1'), { reason: 'shortfall_outstanding' })
  await story.proveBooks()
  await story.payAndConfirm(payment, COIN / 2n)
  assert.equal(await story.status(payment), 'overpaid')
  await story.proveBooks()
})

test('of what is held beyond a shortfall a refund takes no more', async () => {
  const story = await tellRefunds()
  const { payment } = await WAYS.underpaid(story)
  const shortfall = COIN / 10n
  await story.gateway.db.query('update payments set shortfall_atoms = $1', [shortfall])
  await assert.rejects(story.refund(payment, '0.15000001'), { reason: 'insufficient_balance' })
  const refund = await story.refund(payment)
  assert.deepEqual(
    [refund.amountAtoms, await story.balance('unresolved')],
    [COIN / 4n - shortfall, shortfall],
  )
})

test('a refund that a double-spend of its own deposit makes impossible leaves nothing that could be paid out', async () => {
  const story = await tellRefunds()
  const payment = await testPayment(story.gateway, story.account)
  const txid = await story.pay(payment, COIN / 4n)
  await story.look()
  await story.mineAndTurn(6)
  const refund = await story.refund(payment)
  await story.turn()
  await story.reorganise(7)
  assert.ok(await story.replace(txid))
  await story.look()
  assert.equal(await story.balance('held'), COIN / 4n)
  for (let block = 0; block < 9; block++) await story.mineAndTurn(1)
  await story.proveBooks()
  await story.turn()
  assert.equal((await story.now(refund)).status, 'failed')
  assert.deepEqual([await story.balance('unresolved'), await story.balance('held')], [0n, 0n])
  await story.proveBooks()
})

test('refunds that fail together wait for each payment before they touch a balance', async () => {
  const story = await tellRefunds()
  const { db } = story.gateway
  const payments: Payment[] = []
  for (let count = 0; count < 2; count++) {
    const payment = await testPayment(story.gateway, story.account)
    await story.payAndConfirm(payment, COIN / 4n)
    payments.push(payment)
  }
  const refunds: Withdrawal[] = []
  for (const payment of payments) refunds.push(await story.refund(payment))
  await story.turn()
  const hashes = await Promise.all(refunds.map(async (refund) => (await story.now(refund)).txHash))
  assert.equal(new Set(hashes).size, 1)
  await story.proveBooks()
  await db.query(`update utxos set spent_by = 'unknown', spent_height = 0 where reserved_by is not null`)
  const [, last] = payments.sort((a, b) => (a.id < b.id ? -1 : 1))
  await db.transaction(async (tx) => {
    // As a decision about that payment does: its row, then the balances of its account.
    await lockPayment(tx, story.account.id, last?.id ?? assert.fail())
    await tx.query("set local lock_timeout = '300ms'")
    const failing = story.turnPayer()
    await until('what fails waits', async () => {
      const { rows } = await db.query<{ waiting: bigint }>(
        `select count(*) as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return (rows[0]?.waiting ?? 0n) > 0n
    })
    await lockBalance(tx, { accountId: story.account.id, asset: 'LTC', kind: 'unresolved' })
    await lockBalance(tx, { accountId: story.account.id, asset: 'LTC', kind: 'held' })
    failing.catch(() => {})
  })
  await until('both failed', async () => {
    await story.turnPayer()
    const now = await Promise.all(refunds.map(story.now))
    return now.every(({ status }) => status === 'failed')
  })
  assert.equal(await story.balance('unresolved'), COIN / 2n)
})
