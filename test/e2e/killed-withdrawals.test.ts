/**
 * `kill -9` at every step of a withdrawal, of a sweep and of time's arrow, of the server and of the signer. Once each in a usual run;
 * `BECK_TEST_KILLS=50 npm test -- test/e2e/killed-withdrawals.test.ts --test-timeout=3600000` kills each step that often (a chain
 * alone: `--test-name-pattern=sim-bitcoin`), and `BECK_TEST_SEED=…` begins with the seed that a failure names.
 */
import { test } from 'node:test'
import type { SimulatedChainName } from '../../src/chains/simulated/network.ts'
import { openKillRange, SERVER_STEPS, SIGNER_STEPS, SWEEP_STEPS } from '../kills.ts'

const KILLS = Number(process.env.BECK_TEST_KILLS ?? 1)
const SEED = Number(process.env.BECK_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const CHAINS = ['sim-bitcoin', 'sim-litecoin', 'sim-ethereum'] as const satisfies SimulatedChainName[]
const STEPS = [...SERVER_STEPS, ...SIGNER_STEPS]

// Each step on one chain in a short run, on all three in a long one.
const killsOn = (chain: number, step: number): number => {
  const shifted = (chain + step) % CHAINS.length
  return Math.floor((KILLS + CHAINS.length - 1 - shifted) / CHAINS.length)
}

for (const [number, chain] of CHAINS.entries())
  test(`${chain}: killed at every step, every withdrawal is paid once or given back`, async (t) => {
    const range = await openKillRange(chain)
    try {
      let seed = SEED + number * 1_000_000
      let kills = 0
      for (const [index, step] of STEPS.entries()) {
        const first = seed
        for (let count = 0; count < killsOn(number, index); count++) await range.kill(step, seed++)
        if (seed > first) t.diagnostic(`${step}: ${seed - first} kills, seeds ${first} to ${seed - 1}`)
        kills += seed - first
      }
      // Sweeps are Ethereum's alone.
      if (chain === 'sim-ethereum')
        for (const step of SWEEP_STEPS) {
          const first = seed
          for (let count = 0; count < KILLS; count++) await range.kill(step, seed++)
          t.diagnostic(`${step}: ${seed - first} kills, seeds ${first} to ${seed - 1}`)
          kills += seed - first
        }
      const { completed, failed } = await range.prove()
      t.diagnostic(
        `${chain}: ${kills} kills; ${completed} withdrawals paid once, ${failed} given back; the books balance`,
      )
    } finally {
      await range.close()
    }
  })
