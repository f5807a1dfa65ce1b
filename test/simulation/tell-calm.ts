/** Tells one calm story in memory and writes what the rows say after each step, a line a step. */
import { parseArgs } from 'node:util'
import { SIMULATED_CHAINS } from '../../src/chains/simulated/network.ts'
import { memoryWorld } from './memory-world.ts'
import { seeded } from './random.ts'
import { isLowered } from './rows/tables.ts'
import { Story } from './story.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    steps: { type: 'string' },
    chain: { type: 'string' },
    gas: { type: 'boolean', default: false },
  },
})
const chain = SIMULATED_CHAINS.find((each) => each === values.chain)
if (!chain) throw new Error(`--chain is one of ${SIMULATED_CHAINS.join(', ')}`)
const seed = Number(values.seed)
const world = await memoryWorld({ chain, seed, givesGas: values.gas })
const story = new Story(world, { random: seeded(seed, 1), chaos: false, paymentsMax: 8 })
for (let step = 0; step < Number(values.steps); step++) {
  const name = await story.step(step)
  const lowered = [...world.tables.sweeps.values()].filter((sweep) => isLowered(world.tables, sweep)).length
  process.stdout.write(`${JSON.stringify({ name, lowered, dump: await world.dump() })}\n`)
}
