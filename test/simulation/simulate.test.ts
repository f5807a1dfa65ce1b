/** A part of the simulation on every run; `npm run simulate` tells a million steps. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { MUTATIONS, type Mutation } from './rows/tables.ts'
import { simulate } from './simulate.ts'

const STEPS = Number(process.env.BECK_SIMULATION_STEPS ?? 20_000)

test('no story breaks an invariant, and much happens in them', { timeout: 500_000 }, async () => {
  // Another part of the stories each day; a finding names its seed.
  const seed = 1_000_000 * Math.floor(Date.now() / 86_400_000)
  const { finding, steps, seen } = await simulate({ seed, steps: STEPS, workers: 2, shrink: true })
  assert.equal(
    finding,
    null,
    `npm run simulate -- --seed=${finding?.seed} --only=${finding?.taken.join()} --tell: ${finding?.what.join('\n')}`,
  )
  assert.ok(steps >= STEPS)
  for (const what of [
    'payment completed',
    'payment overpaid',
    'BTC payout completed',
    'LTC payout completed',
    'ETH payout completed',
    'USDC payout completed',
    'refund completed',
    'deposit replaced',
    'batch confirmed',
    'sweep of ETH alone done',
    'sweep of USDC batch done',
    'gas confirmed',
    'sweep of USDC alone done',
    'sweep lowered',
    'database set back, and resumed',
    'alert signed_transaction_restored',
    'day closed',
  ])
    assert.ok((seen[what] ?? 0) > 0, `no ${what} in ${JSON.stringify(seen)}`)
})

/** Where a story that notices was last found, for those that few do: the search goes on behind it when stories change. */
const FOUND_AT: Partial<Record<Mutation, number>> = {
  'cause-not-unique': 37,
  'payout-key-not-unique': 39,
  'journal-not-asked': 23,
  'addresses-not-withheld': 23,
  'day-closed-twice': 39,
}

for (const mutation of MUTATIONS)
  test(`it notices: ${mutation}`, { timeout: 500_000 }, async () => {
    const seed = FOUND_AT[mutation] ?? 1
    const { finding } = await simulate({ seed, steps: 60_000, workers: 1, mutation })
    assert.ok(finding, 'nobody noticed')
    const again = await simulate({ seed: finding.seed, steps: 1, workers: 1, mutation })
    assert.equal(again.finding?.step, finding.step, 'the seed tells the same story again')
  })

test('a finding is told by the fewest steps that it needs', { timeout: 500_000 }, async () => {
  const { finding } = await simulate({
    seed: 1,
    steps: 60_000,
    workers: 1,
    mutation: 'hold-forgotten',
    shrink: true,
  })
  assert.ok(finding)
  const { seed, taken } = finding
  assert.ok(taken.length > 0 && taken.length <= 12, `${taken.length} steps`)
  const again = await simulate({ seed, steps: 1, workers: 1, mutation: 'hold-forgotten', only: taken })
  // Ids are new each time.
  const told = (what: readonly string[] = []) => what.map((line) => line.replace(/[0-9a-f-]{36}/g, 'id'))
  assert.deepEqual(told(again.finding?.what), told(finding.what))
})
