import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { testDatabase } from '../../../test/database.ts'
import type { ChainTransaction } from '../../chains/chain.ts'
import { arrayOf, countPieces, headsOf, keyOf, lookupsOf, spentBy, transactionsWith } from './pieces.ts'

const bytes = fc.uint8Array({ maxLength: 40 })
const transactions: fc.Arbitrary<ChainTransaction[]> = fc.array(
  fc
    .record({ lookups: fc.array(bytes, { maxLength: 3 }), spent: fc.array(fc.string(), { maxLength: 3 }) })
    .map(
      ({ lookups, spent }): ChainTransaction => ({
        key: '',
        hash: null,
        outputs: lookups.map((lookup, index) => ({ lookup, index, asset: 'BTC', atoms: 1n })),
        inputs: spent.map((txid, index) => ({ txid: Buffer.from(txid).toString('hex'), index })),
      }),
    ),
  { maxLength: 6 },
)

test('those that have a wanted piece are found, whatever its length, and no others', () => {
  fc.assert(
    fc.property(transactions, fc.array(bytes, { maxLength: 3 }), fc.nat(), (list, others, chosen) => {
      const all = list.flatMap(({ outputs }) => outputs.map(({ lookup }) => lookup))
      const wanted = new Set(
        [...others, ...all.slice(chosen % (all.length + 1), (chosen % (all.length + 1)) + 2)].map(keyOf),
      )
      assert.deepEqual(
        transactionsWith(list, lookupsOf(list), wanted),
        list.filter(({ outputs }) => outputs.some(({ lookup }) => wanted.has(keyOf(lookup)))),
      )
    }),
  )
})

test('PostgreSQL reads the arrays as what they are made of, whole and in parts', async () => {
  const db = await testDatabase()
  await fc.assert(
    fc.asyncProperty(transactions, fc.nat(), fc.nat(), async (list, from, count) => {
      const [lookups, spent] = [lookupsOf(list), spentBy(list)]
      const all = list.flatMap(({ outputs }) => outputs.map(({ lookup }) => Buffer.from(lookup)))
      const first = from % (all.length + 1)
      const { rows } = await db.query<{ lookups: Buffer[]; part: Buffer[]; spent: string[] }>(
        'select $1::bytea[] as lookups, $2::bytea[] as part, $3::text[] as spent',
        [
          arrayOf('bytea', lookups),
          arrayOf('bytea', lookups, first, first + (count % 5)),
          arrayOf('text', spent),
        ],
      )
      assert.equal(countPieces(lookups), all.length)
      assert.deepEqual(rows[0], {
        lookups: all,
        part: all.slice(first, first + (count % 5)),
        spent: list.flatMap(({ inputs }) => inputs.map(({ txid }) => txid)),
      })
    }),
  )
})

test('the head of an id is the number that is kept beside it, in whole and in parts', async () => {
  const db = await testDatabase()
  const txid = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((id) => Buffer.from(id).toString('hex'))
  await fc.assert(
    fc.asyncProperty(fc.array(txid, { maxLength: 8 }), fc.nat(8), async (txids, first) => {
      const spent = spentBy([
        { key: '', hash: null, outputs: [], inputs: txids.map((id, index) => ({ txid: id, index })) },
      ])
      const from = Math.min(first, txids.length)
      const { rows } = await db.query<Record<string, bigint[]>>(
        `select $1::bigint[] as all, $2::bigint[] as part,
           array(select ('x' || left(txid, 16))::bit(64)::bigint from unnest($3::text[]) with ordinality t (txid, n) order by n) as told`,
        [headsOf(spent), headsOf(spent, from, from + 3), txids],
      )
      const told = rows[0]?.told ?? []
      assert.deepEqual([rows[0]?.all, rows[0]?.part], [told, told.slice(from, from + 3)])
    }),
  )
})

test('of what is no id a head is some number, and the next is right all the same', async () => {
  const db = await testDatabase()
  const id = 'fedcba9876543210'.repeat(4)
  const inputs = ['0xé', id].map((txid, index) => ({ txid, index }))
  const { rows } = await db.query(
    'select cardinality(heads) as many, heads[2] = $2::bit(64)::bigint as same from (select $1::bigint[] as heads) h',
    [headsOf(spentBy([{ key: '', hash: null, outputs: [], inputs }])), `x${id.slice(0, 16)}`],
  )
  assert.deepEqual(rows, [{ many: 2, same: true }])
})
