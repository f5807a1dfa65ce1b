/**
 * Runs stories in memory, one seed after the other, and checks everything after every step. A seed that fails is told
 * again step by step. Started by `simulate.ts`, with the tables in memory put behind the house.
 */
import { parseArgs } from 'node:util'
import { SIMULATED_CHAINS } from '../../src/chains/simulated/network.ts'
import { isOpen } from '../../src/treasury/signed-transaction.ts'
import { memoryWorld } from './memory-world.ts'
import { seeded } from './random.ts'
import { MUTATIONS, type Mutation } from './rows/tables.ts'
import { Story } from './story.ts'

export interface Finding {
  readonly seed: number
  readonly step: number
  readonly what: readonly string[]
}

export interface Report {
  readonly steps: number
  readonly stories: number
  readonly finding: Finding | null
  /** What happened how often: a simulation in which nothing happens proves nothing. */
  readonly seen: Readonly<Record<string, number>>
}

const STEPS_PER_STORY = 400
const PAYMENTS_MAX = 10

async function tellStory(
  seed: number,
  mutation: Mutation | null,
  seen: Map<string, number>,
  isTold: boolean,
) {
  const random = seeded(seed, 1)
  const picked = random.pick([...SIMULATED_CHAINS, ...SIMULATED_CHAINS, 'sim-bitcoin'] as const)
  const chain = SIMULATED_CHAINS.find((each) => each === values.chain) ?? picked
  const world = await memoryWorld({ chain, seed, mutation })
  const story = new Story(world, { random, chaos: true, paymentsMax: PAYMENTS_MAX })
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)
  const fail = (step: number, what: readonly string[]) => ({ steps: step, finding: { seed, step, what } })
  let step = 0
  try {
    for (; step < STEPS_PER_STORY; step++) {
      const name = await story.step()
      const wrong = [...world.complaints, ...(await world.check())]
      if (isTold) process.stdout.write(`${JSON.stringify({ step, name, wrong })}\n`)
      if (wrong.length > 0) return fail(step, wrong)
    }
    await story.end()
    const wrong = [...world.complaints, ...(await world.check()), ...(await world.checkEnd())]
    if (wrong.length > 0) return fail(step, ['at the end:', ...wrong])
  } catch (error) {
    return fail(step, [error instanceof Error ? (error.stack ?? error.message) : String(error)])
  }
  for (const { status } of world.tables.payments.values()) count(`payment ${status}`)
  for (const { status, kind, asset } of world.tables.withdrawals.values()) {
    count(`${kind} ${status}`)
    count(`${asset} ${kind} ${status}`)
  }
  for (const { status } of world.tables.deposits.values()) count(`deposit ${status}`)
  for (const { kind, status } of world.tables.signed.values())
    count(`${kind} ${isOpen(status) ? 'open' : status}`)
  for (const { asset, way, status } of world.tables.sweeps.values())
    count(`sweep of ${asset} ${way} ${status}`)
  for (const key of world.tables.alerts.keys()) count(`alert ${key.split(' ')[0]}`)
  return { steps: STEPS_PER_STORY, finding: null }
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '10000' },
    stride: { type: 'string', default: '1' },
    chain: { type: 'string' },
    mutation: { type: 'string' },
    tell: { type: 'boolean', default: false },
  },
})
const mutation = MUTATIONS.find((each) => each === values.mutation) ?? null
if (values.mutation !== undefined && !mutation)
  throw new Error(`--mutation is one of ${MUTATIONS.join(', ')}`)

const seen = new Map<string, number>()
let [steps, stories, finding] = [0, 0, null as Finding | null]
for (
  let seed = Number(values.seed);
  steps < Number(values.steps) && !finding;
  seed += Number(values.stride)
) {
  const told = await tellStory(seed, mutation, seen, values.tell)
  steps += told.steps
  stories += 1
  finding = told.finding
}
const report: Report = { steps, stories, finding, seen: Object.fromEntries([...seen].sort()) }
process.stdout.write(`${JSON.stringify(report)}\n`)
