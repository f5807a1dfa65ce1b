import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { readWithin } from './read-within.ts'

const db = await testDatabase()
const SLOW = 'select pg_sleep(10), 1 as n'
const limitOf = async (tx: Pick<typeof db, 'query'>) =>
  (await tx.query<{ statement_timeout: string }>('show statement_timeout')).rows[0]?.statement_timeout

test('a read that takes longer is given up, one that does not is answered', async () => {
  assert.deepEqual(await readWithin(db, 5_000, 'select $1::integer as n', [7]), [{ n: 7 }])
  const begun = performance.now()
  assert.equal(await readWithin(db, 20, SLOW, []), null)
  assert.ok(performance.now() - begun < 5_000)
  await assert.rejects(readWithin(db, 5_000, 'select 1 / $1::integer', [0]), /division by zero/)
})

test('a transaction goes on behind it, with its own limit, and loses nothing', async () => {
  const made = await db.transaction(
    async (tx) => {
      await tx.query('create temporary table kept (n integer) on commit drop')
      await tx.query('insert into kept values (1)')
      assert.equal(await readWithin(tx, 20, SLOW, []), null)
      assert.equal(await limitOf(tx), '7s')
      assert.deepEqual(await readWithin(tx, 5_000, 'select n from kept where n = $1::integer', [1]), [
        { n: 1 },
      ])
      assert.equal(await limitOf(tx), '7s')
      await assert.rejects(readWithin(tx, 5_000, 'select 1 / $1::integer', [0]), /division by zero/)
      return (await tx.query('select n from kept')).rows
    },
    { statementLimitMs: 7_000 },
  )
  assert.deepEqual(made, [{ n: 1 }])
})

test('on a machine that is busy, the limit may end what undoes it, which is said once more', async () => {
  const cancelled = Object.assign(new Error('canceling statement'), { severity: 'ERROR', code: '57014' })
  const said: string[] = []
  const busy = (times: number) => ({
    inTransaction: true,
    query(text: string) {
      said.push(text.slice(0, 8))
      const isEnded =
        text.startsWith('rollback') && said.filter((each) => each === 'rollback').length <= times
      return isEnded ? Promise.reject(cancelled) : Promise.resolve({ rows: [], rowCount: 0 })
    },
  })
  assert.deepEqual(await readWithin(busy(2), 10, 'select', []), [])
  assert.deepEqual(said, ['savepoin', 'select', 'rollback', 'rollback', 'rollback'])
  said.length = 0
  // Then the transaction cannot go on, and says so.
  await assert.rejects(readWithin(busy(9), 10, 'select', []), cancelled)
})

test('a connection that breaks when all was read does not make a read one of an unknown outcome', async () => {
  const breaking: typeof db = {
    ...db,
    async transaction(work, options) {
      await db.transaction(work)
      return (await options?.ifCommitted?.(db)) ?? assert.fail('nobody knows')
    },
  }
  assert.deepEqual(await readWithin(breaking, 5_000, 'select 1 as n', []), [{ n: 1 }])
})
