import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DESTINATIONS, tellPayouts } from '../../../test/payout-story.ts'
import { signAll } from '../../../test/payouts.ts'
import { formatDecimal } from '../../core/money.ts'
import { storeFeeRates } from '../../treasury/fee-rates.sql.ts'
import { quoteWithdrawal } from './price-withdrawal.ts'
import { checkPayouts } from './request-batch.ts'

const SIGNED = 'select coalesce(sum(fee_atoms), 0) as fees, count(*) as count from signed_transactions'

test('dust is not spent at fifty satoshis a byte: what it would pay is refused, and what was promised before waits', async () => {
  const story = await tellPayouts('sim-bitcoin')
  const rateIs = (rate: bigint) => storeFeeRates(story.gateway.db, 'sim-bitcoin', { rate, priorityRate: 0n })
  // 4,000 satoshis each.
  for (let count = 0; count < 8; count++) await story.earn('BTC', 260n)
  await rateIs(1_000n)
  const promised = await story.request('BTC', '0.0001')
  await rateIs(50_000n)
  await assert.rejects(story.request('BTC', '0.00015'), { reason: 'network_fee_too_high' })
  await signAll(story.signer)
  const { rows: waiting } = await story.gateway.db.query(SIGNED)
  assert.deepEqual(waiting, [{ fees: 0n, count: 0n }])
  await rateIs(2_000n)
  await signAll(story.signer)
  const { rows: signed } = await story.gateway.db.query<{ fees: bigint; count: bigint }>(SIGNED)
  assert.equal(signed[0]?.count, 1n)
  assert.ok((signed[0]?.fees ?? 0n) <= 5n * promised.networkFeeAtoms)
  await story.turn()
  await story.mineAndTurn(2)
  assert.equal((await story.now(promised)).status, 'completed')
  await story.proveBooks()
})

test('a quote counts the UTXOs that will be spent, and no others', async () => {
  const story = await tellPayouts('sim-bitcoin')
  for (let count = 0; count < 6; count++) await story.earn('BTC', 6_500n)
  const quote = async (amount: string) => {
    const order = { asset: 'BTC', amount, destination: DESTINATIONS['sim-bitcoin'] } as const
    return (await quoteWithdrawal(story.gateway, story.gateway.db, story.account, order)).networkFeeAtoms
  }
  const [one, three, five] = [await quote('0.0005'), await quote('0.0025'), await quote('0.0048')]
  // 221 virtual bytes at least, 68 for each input, at two satoshis a byte.
  assert.equal(one, 442n)
  assert.deepEqual([three, five], [2n * 277n, 2n * 413n])
})

test('a payout is charged for the UTXOs that others which wait do not take, in a batch as one after the other', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  for (let count = 0; count < 5; count++) await story.earn('BTC', 6_500n)
  const destination = DESTINATIONS['sim-bitcoin']
  const order = { asset: 'BTC', amount: '0.0035', destination } as const
  const quote = () => quoteWithdrawal(story.gateway, story.gateway.db, story.account, order)
  const alone = (await quote()).networkFeeAtoms
  const lines = ['0.0095', order.amount].map((amount, at) => ({ ...order, amount, line: at + 1, note: '' }))
  // A line that can not be paid takes nothing from those behind it.
  const vain = { ...order, amount: '0.000001', line: 0, note: '' }
  const checked = await checkPayouts(story.gateway, story.account, { lines: [vain, ...lines], problems: [] })
  const first = await story.request('BTC', '0.0095')
  const quoted = await quote()
  const second = await story.request('BTC', order.amount)
  // One of 0.01 pays either; beside the other three of 0.001 are needed, at two satoshis a byte.
  assert.deepEqual([alone, first.networkFeeAtoms, quoted.networkFeeAtoms], [442n, 442n, 2n * 277n])
  assert.equal(second.networkFeeAtoms, quoted.networkFeeAtoms)
  assert.deepEqual(
    checked.lines.map(({ cost }) => cost.networkFeeAtoms),
    [442n, quoted.networkFeeAtoms],
  )
  await signAll(story.signer)
  const { rows } = await story.gateway.db.query<{ fees: bigint; count: bigint }>(SIGNED)
  assert.equal(rows[0]?.count, 1n)
  assert.ok((rows[0]?.fees ?? 0n) <= first.networkFeeAtoms + second.networkFeeAtoms)
})

test('whoever withdraws all that others leave is charged for the UTXOs that are left, and not refused', async () => {
  const story = await tellPayouts('sim-bitcoin')
  for (let count = 0; count < 12; count++) await story.earn('BTC', 650n)
  await storeFeeRates(story.gateway.db, 'sim-bitcoin', { rate: 20_000n, priorityRate: 0n })
  await story.request('BTC', '0.0006')
  const second = await story.request('BTC', formatDecimal(await story.balance('available'), 8))
  assert.ok(second.networkFeeAtoms >= 20n * 6n * 68n)
})
