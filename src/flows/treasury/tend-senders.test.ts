import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testGateway } from '../../../test/gateway.ts'
import type { ChainPort, FeeRates } from '../../chains/chain.ts'
import { createSimulatedChain } from '../../chains/simulated/simulated-chain.ts'
import { findFeeRates } from '../../treasury/fee-rates.sql.ts'
import { pollPayouts } from '../../workers/pay-out.ts'
import { refreshFeeRates } from './tend-senders.ts'

test('no fee is guessed where blocks are full: the operator reads of it, and what is on its way goes on', async () => {
  const concerns = new Map<string, string>()
  const gateway = { ...(await testGateway()), concerns }
  const simulated = createSimulatedChain({ db: gateway.db, chain: 'sim-bitcoin' })
  const answering = (atomsPerKvb: bigint | null, mayGuess: boolean): ChainPort => ({
    ...simulated,
    feeRates: async (): Promise<FeeRates> => ({
      kind: 'vbyte',
      atomsPerKvb,
      mayGuess,
      floorAtomsPerKvb: 1_000n,
    }),
  })
  const rates = async () => (await findFeeRates(gateway.db, 'sim-bitcoin'))?.rate ?? null

  const unsure = answering(null, false)
  assert.equal(await refreshFeeRates(gateway, unsure), null)
  assert.equal(await rates(), null)
  assert.match(String([...concerns.values()]), /sim-bitcoin has no estimate of fees/)
  await pollPayouts(gateway, unsure, null)

  await refreshFeeRates(gateway, answering(3_000n, false))
  assert.deepEqual([await rates(), concerns.size], [3_000n, 0])
  await refreshFeeRates(gateway, unsure)
  assert.equal(await rates(), 3_000n, 'what was known holds for a while')
  await refreshFeeRates(gateway, answering(null, true))
  assert.equal(await rates(), 10_000n)
})
