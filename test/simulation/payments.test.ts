import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { SimulatedChainName } from '../../src/chains/simulated/network.ts'
import type { Payment } from '../../src/payments/payment.ts'
import { testPayment } from '../gateway.ts'
import { type Story, tellStory } from '../story.ts'

/** One thing that happens: to which of the two payments, and how much. */
type Happening =
  | { kind: 'pay'; payment: 0 | 1; share: number }
  | { kind: 'mine'; blocks: number }
  | { kind: 'reorganise'; depth: number }
  | { kind: 'replace'; nth: number }
  | { kind: 'end-window'; payment: 0 | 1 }
  | { kind: 'look' }

const which = fc.constantFrom(0 as const, 1 as const)
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pay' as const),
      payment: which,
      share: fc.constantFrom(40, 60, 100, 130),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('mine' as const), blocks: fc.constantFrom(1, 3, 6) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('reorganise' as const), depth: fc.integer({ min: 1, max: 8 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('replace' as const), nth: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end-window' as const), payment: which }) },
  { weight: 5, arbitrary: fc.constant({ kind: 'look' as const }) },
)

const RUNS = Number(process.env.BECK_SIMULATION_RUNS ?? 25)

for (const chain of ['sim-litecoin', 'sim-ethereum'] as const) {
  test(`no story of deposits, replacements and reorganisations breaks the books of ${chain}`, async () => {
    const story = await tellStory({ chain, freshPerChain: 2 * (RUNS * 8 + 20) })
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: 3, maxLength: 14 }), async (happenings) => {
        const payments = await Promise.all(
          [0, 1].map(() => testPayment(story.gateway, story.account, { asset: coinOf(chain) })),
        )
        await live(story, payments, happenings)
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: 90_000, markInterruptAsFailure: false, verbose: 1 },
    )
  })
}

const coinOf = (chain: SimulatedChainName) => (chain === 'sim-ethereum' ? 'USDC' : 'LTC')

async function live(
  story: Story,
  payments: readonly Payment[],
  happenings: readonly Happening[],
): Promise<void> {
  const txids: string[] = []
  const completedBefore = await completions(story)
  for (const event of happenings) {
    const payment = 'payment' in event ? payments[event.payment] : undefined
    if (event.kind === 'pay' && payment)
      txids.push(await story.pay(payment, (payment.dueAtoms * BigInt(event.share)) / 100n))
    if (event.kind === 'mine') await story.mine(event.blocks)
    if (event.kind === 'reorganise') await story.reorganise(event.depth).catch(() => {})
    if (event.kind === 'replace') await story.replace(txids[event.nth] ?? '')
    if (event.kind === 'end-window' && payment) await story.endWindow(payment)
    if (event.kind === 'look') await story.look()
    await story.proveBooks()
  }
  await story.mine(12)
  await story.look()
  await story.look()
  await story.proveBooks()

  let completed = 0
  for (const payment of payments) {
    const view = await story.read(payment)
    const received = view.deposits
      .filter((deposit) => deposit.status === 'confirmed')
      .reduce((sum, deposit) => sum + BigInt(deposit.amount_atoms), 0n)
    const onTime = view.deposits
      .filter((deposit) => deposit.status === 'confirmed' && !deposit.late)
      .reduce((sum, deposit) => sum + BigInt(deposit.amount_atoms), 0n)
    const shown = `${view.status} with ${received} of ${payment.dueAtoms}, ${onTime} in time`
    if (view.status === 'completed') assert.ok(received === payment.dueAtoms, shown)
    if (view.status === 'overpaid') assert.ok(received > payment.dueAtoms, shown)
    if (view.status === 'underpaid') assert.ok(onTime < payment.dueAtoms && onTime > 0n, shown)
    if (view.status === 'pending' || view.status === 'expired') assert.equal(onTime, 0n, shown)
    if (view.status !== 'failed' && onTime >= payment.dueAtoms)
      assert.ok(['completed', 'overpaid'].includes(view.status), shown)
    const { rows } = await story.gateway.db.query<{ settled: boolean }>(
      'select settlements > 0 as settled from payments where account_id = $1 and id = $2',
      [story.account.id, payment.id],
    )
    if (rows[0]?.settled) completed += 1
  }
  assert.equal(
    (await completions(story)) - completedBefore,
    completed,
    'one payment.completed for each payment that ever settled',
  )
}

const completions = async (story: Story): Promise<number> =>
  (await story.events()).filter((type) => type === 'payment.completed').length
