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
  assert.equal(await sortsMany(db, `${pageBy('other')}`.replace('other < $1', 'n < $1'), [20n]), false)
  assert.equal(
    (await db.query<{ rows: bigint }>('select count(*) as rows from numbers')).rows[0]?.rows,
    20_000n,
    'nothing is done',
  )
})
