import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { testGateway } from '../../test/gateway.ts'
import { until } from '../../test/wait-for.ts'
import { startAddressFiller } from './derive-addresses.ts'

test('a chain whose addresses go fast gets twice as many ahead, the others as many as before', async () => {
  const { db, secrets, log } = await testGateway({
    freshPerChain: 1,
    chains: ['sim-bitcoin', 'sim-litecoin'],
  })
  const fresh = async () =>
    (
      await db.query<{ chain: string; n: number }>(
        `select chain, count(*)::int as n from addresses where branch = 0 and issued_at is null and not withheld
         group by chain order by chain`,
      )
    ).rows.map(({ n }) => n)
  const filler = startAddressFiller({ db, secrets, log })
  try {
    await until('a thousand on each chain', async () => isDeepStrictEqual(await fresh(), [1_000, 1_000]))
    await db.query(
      "update addresses set withheld = true where chain = 'sim-litecoin' and branch = 0 and position < 400",
    )
    filler.wake()
    await until('two thousand on one', async () => isDeepStrictEqual(await fresh(), [1_000, 2_000]))
  } finally {
    await filler.stop()
  }
})
