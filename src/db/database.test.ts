import assert from 'node:assert/strict'
import test from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { type Queryable, Unreachable } from './database.ts'

test('where the outcome of a commit is unknown and the second look fails too, the database is what is away', async () => {
  const db = await testDatabase()
  const breakOff = (connection: Queryable) =>
    connection.query('select pg_terminate_backend(pg_backend_pid())')
  let looks = 0
  const broken = db.transaction(async (tx) => void (await breakOff(tx)), {
    oneStatement: true,
    async ifCommitted(again) {
      looks += 1
      await breakOff(again)
    },
  })
  await assert.rejects(broken, (error) => error instanceof Unreachable)
  assert.equal(looks, 1)
})
