/**
 * Runs stories in memory, one seed after the other, and checks everything after every step. A seed that fails is told
 * again step by step. Started by `simulate.ts`, with the tables in memory put behind the house.
 */
import { parseArgs } from 'node:util'
import { SIMULATED_CHAINS } from '../../src/chains/simulated/network.ts'
import { isOpen } from '../../src/treasury/signed-transaction.ts'
import { type MemoryWorld, memoryWorld } from './memory-world.ts'
import { seeded } from './random.ts'
import { isLowered, MUTATIONS, type Mutation } from './rows/tables.ts'
import { Story } from './story.ts'

export interface Finding {
  readonly seed: number
  readonly step: number
  readonly what: readonly string[]
  /** The numbers of the fewest steps that were found to break something; empty while nobody looked. */
  readonly taken: readonly number[]
}

export interface Report {
  readonly steps: number
  readonly stories: number
  readonly finding: Finding | null
  /** What happened how often: a simulation in which nothing happens proves nothing. */
  readonly seen: Readonly<Record<string, number>>
}

const STEPS_PER_STORY = 400
const PAYMENTS_MAX = 12
/** How many steps were calm before the first that anything goes wrong in. */
const HISTORIES = [0, 0, 40, 120] as const
/** One story in so many has a payment in a hundred parts: it takes as long as twenty others. */
const SWARM_ONE_IN = 120
/** One story in so many has its database set back: after that its books and the chain differ by what was lost. */
const SET_BACK_ONE_IN = 6
/** One story of Ethereum in so many is of a network without EIP-7702. */
const GAS_ONE_IN = 3
/** A finding is told again at most so often, to find what it needs. */
const SHRINKS_MAX = 400

interface Telling {
  readonly seed: number
  readonly mutation: Mutation | null
  /** The numbers of the steps that are taken; all unless told. */
  readonly only?: ReadonlySet<number>
  /** Called after each step. */
  told?(step: number, name: string, wrong: readonly string[]): void
}

interface Told {
  readonly world: MemoryWorld
  readonly finding: Finding | null
  /** How many steps there are. */
  readonly steps: number
}

/** What is told follows from the seed and the steps that are taken. */
async function tellStory({ seed, mutation, only, told }: Telling): Promise<Told> {
  const random = seeded(seed, 1)
  const picked = random.pick([...SIMULATED_CHAINS, ...SIMULATED_CHAINS, 'sim-bitcoin'] as const)
  const chain = SIMULATED_CHAINS.find((each) => each === values.chain) ?? picked
  const calmUntil = random.pick(HISTORIES)
  const swarm = random.below(SWARM_ONE_IN) === 0
  const setBack = random.below(SET_BACK_ONE_IN) === 0
  const givesGas = random.below(GAS_ONE_IN) === 0
  const world = await memoryWorld({ chain, seed, mutation, setBack, givesGas })
  const options = { random, chaos: true, paymentsMax: PAYMENTS_MAX, calmUntil, swarm, setBack }
  const story = new Story(world, options)
  const steps = calmUntil + STEPS_PER_STORY
  const fail = (step: number, what: readonly string[]): Told => ({
    world,
    steps,
    finding: { seed, step, what, taken: [] },
  })
  let step = 0
  try {
    for (; step < steps; step++) {
      if (only && !only.has(step)) continue
      const name = await story.step(step)
      if (step < calmUntil - 1) continue
      const wrong = [...world.complaints, ...(await world.check())]
      told?.(step, name, wrong)
      if (wrong.length > 0) return fail(step, wrong)
    }
    await story.end()
    const wrong = [...world.complaints, ...(await world.check()), ...(await world.checkEnd())]
    if (wrong.length > 0) return fail(step, ['at the end:', ...wrong])
  } catch (error) {
    return fail(step, [error instanceof Error ? (error.stack ?? error.message) : String(error)])
  }
  return { world, steps, finding: null }
}

/**
 * The fewest steps found that still break something: parts of the story are left out, ever smaller ones, as long as it fails
 * without them. Each step follows from its own number, so what stays happens as before where it can.
 */
async function shrink(telling: Telling, first: Finding): Promise<Finding> {
  let finding = first
  let taken = Array.from({ length: first.step + 1 }, (_, step) => step)
  let tries = 0
  for (let size = taken.length >> 1; size > 0 && tries < SHRINKS_MAX; size = size === 1 ? 0 : (size + 1) >> 1)
    for (let start = 0; start < taken.length && tries < SHRINKS_MAX; tries++) {
      const without = taken.toSpliced(start, size)
      const again = await tellStory({ ...telling, only: new Set(without) })
      if (again.finding) {
        taken = without
        finding = again.finding
      } else start += size
    }
  return { ...finding, taken }
}

function note({ tables }: MemoryWorld, count: (what: string) => void): void {
  for (const { status } of tables.payments.values()) count(`payment ${status}`)
  for (const { status, kind, asset } of tables.withdrawals.values()) {
    count(`${kind} ${status}`)
    count(`${asset} ${kind} ${status}`)
  }
  for (const { status } of tables.deposits.values()) count(`deposit ${status}`)
  for (const { kind, status } of tables.signed.values()) count(`${kind} ${isOpen(status) ? 'open' : status}`)
  for (const sweep of tables.sweeps.values()) {
    count(`sweep of ${sweep.asset} ${sweep.way} ${sweep.status}`)
    if (isLowered(tables, sweep)) count('sweep lowered')
  }
  for (const { era } of tables.timeArrow.values()) if (era > 1) count('database set back, and resumed')
  for (const _ of tables.closedDays) count('day closed')
  for (const key of tables.alerts.keys()) count(`alert ${key.split(' ')[0]}`)
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '10000' },
    stride: { type: 'string', default: '1' },
    chain: { type: 'string' },
    mutation: { type: 'string' },
    only: { type: 'string' },
    shrink: { type: 'boolean', default: false },
    tell: { type: 'boolean', default: false },
  },
})
const mutation = MUTATIONS.find((each) => each === values.mutation) ?? null
if (values.mutation !== undefined && !mutation)
  throw new Error(`--mutation is one of ${MUTATIONS.join(', ')}`)

const seen = new Map<string, number>()
const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)
const only = values.only === undefined ? undefined : new Set(values.only.split(',').map(Number))
let [steps, stories, finding] = [0, 0, null as Finding | null]
for (
  let seed = Number(values.seed);
  steps < Number(values.steps) && !finding;
  seed += Number(values.stride)
) {
  const telling: Telling = {
    seed,
    mutation,
    ...(only ? { only } : {}),
    ...(values.tell
      ? { told: (step, name, wrong) => process.stdout.write(`${JSON.stringify({ step, name, wrong })}\n`) }
      : {}),
  }
  const told = await tellStory(telling)
  steps += STEPS_PER_STORY
  stories += 1
  if (!told.finding) note(told.world, count)
  else finding = only || !values.shrink ? told.finding : await shrink({ seed, mutation }, told.finding)
}
const report: Report = { steps, stories, finding, seen: Object.fromEntries([...seen].sort()) }
process.stdout.write(`${JSON.stringify(report)}\n`)
