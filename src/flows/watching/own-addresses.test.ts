import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import { testGateway } from '../../../test/gateway.ts'
import { matchOwnAddresses } from './own-addresses.sql.ts'

test('ours are found wherever they stand among the outputs of the largest block', async () => {
  const { db } = await testGateway()
  const { rows } = await db.query<{ lookup: Buffer }>(
    `select lookup from addresses where chain = 'sim-litecoin' and payment_id is null limit 4`,
  )
  const ours = rows.map(({ lookup }) => lookup)
  assert.equal(ours.length, 4)
  const lookups: Buffer[] = Array.from({ length: 32_000 }, (_, n) => randomBytes(n % 3 === 0 ? 34 : 22))
  for (const [n, at] of [0, 15_999, 16_000, 31_999].entries()) lookups[at] = ours[n] ?? Buffer.alloc(0)
  const transactions = lookups.map((lookup, n) => ({
    key: String(n),
    hash: null,
    outputs: [{ lookup, index: 0, asset: 'LTC' as const, atoms: 1n }],
    inputs: [],
  }))
  const own = await matchOwnAddresses(db, 'sim-litecoin', transactions)
  assert.deepEqual(
    lookups.flatMap((lookup, at) => (own.find(lookup) === undefined ? [] : [at])),
    [0, 15_999, 16_000, 31_999],
  )
})
