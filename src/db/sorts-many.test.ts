import assert from 'node:assert/strict'
import test from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { sortsMany } from './sorts-many.ts'

test('what an index has in order is not sorted; what none has, is, wherever it stands in the plan', async () => {
  const db = await testDatabase()
  await db.query('create table numbers (n bigint primary key, other bigint not null)')
  await db.query('insert into numbers select n, -n from generate_series(1, 20000) n')
  await db.query('analyze numbers')
  const pageBy = (column: string) =>
    `select * from (select n, other from numbers where other < $1 order by ${column} limit 25 offset 5000) page order by other`
  assert.equal(await sortsMany(db, pageBy('n'), [0n]), false)
  assert.equal(await sortsMany(db, pageBy('other'), [0n]), true)
  // Of few, however they come.
  assert.equal(await sortsMany(db, 'select n from numbers where n < $1 order by other', [20n]), false)
  // Nothing is done.
  await sortsMany(db, 'delete from numbers returning n', [])
  const { rows } = await db.query<{ count: bigint }>('select count(*) from numbers')
  assert.equal(rows[0]?.count, 20_000n)
})
