import assert from 'node:assert/strict'
import test from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { advanceArrow, beginEra, markMadeSafe, readArrow, stopMoving } from './time-arrow.sql.ts'

const db = await testDatabase()

test('what was seen to be gone before the operator had looked stops nothing afterwards', async () => {
  const remembered = await advanceArrow(db)
  await stopMoving(db, 'it lost commits', remembered)
  assert.equal((await readArrow(db))?.stopped, 'it lost commits')
  await markMadeSafe(db)
  assert.equal(await beginEra(db), true)
  // Another process saw the same, and comes to say so only now.
  await stopMoving(db, 'it lost commits', remembered)
  const resumed = await readArrow(db)
  assert.equal(resumed?.stopped, null)
  assert.ok(resumed)
  await stopMoving(db, 'it lost others', resumed)
  assert.equal((await readArrow(db))?.stopped, 'it lost others')
})
