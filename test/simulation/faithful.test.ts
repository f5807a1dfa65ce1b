/** The tables in memory are PostgreSQL's: the same story leaves the same rows in both, after every one of its steps. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test from 'node:test'
import { promisify } from 'node:util'
import { SIMULATED_CHAINS, type SimulatedChainName } from '../../src/chains/simulated/network.ts'
import { postgresWorld } from './postgres-world.ts'
import { seeded } from './random.ts'
import { Story } from './story.ts'

const STEPS = Number(process.env.BECK_FAITHFUL_STEPS ?? 60)
const SEEDS = [1]

async function inMemory(chain: SimulatedChainName, seed: number): Promise<{ name: string; dump: string }[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--import',
      './test/simulation/hooks.ts',
      'test/simulation/tell-calm.ts',
      `--seed=${seed}`,
      `--steps=${STEPS}`,
      `--chain=${chain}`,
    ],
    { maxBuffer: 1 << 28 },
  )
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

for (const chain of SIMULATED_CHAINS)
  for (const seed of SEEDS)
    test(`${chain}, seed ${seed}: memory and PostgreSQL tell the same story`, async () => {
      const expected = await inMemory(chain, seed)
      const world = await postgresWorld(chain, seed)
      const story = new Story(world, { random: seeded(seed, 1), chaos: false, paymentsMax: 8 })
      for (const [step, { name, dump }] of expected.entries()) {
        assert.equal(await story.step(step), name)
        assert.deepEqual(JSON.parse(await world.dump()), JSON.parse(dump), `after step ${step}, ${name}`)
        assert.deepEqual(await world.check(), [])
      }
    })
