import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testDatabaseUrl } from '../../test/database.ts'
import { startPooler } from '../../test/pooler.ts'
import { waitFor } from '../../test/wait-for.ts'
import { openDatabase } from './database.ts'

const url = await testDatabaseUrl({ template: null })
const open = (at: string) => {
  const db = openDatabase({ url: at, connectionsMax: 4 })
  after(() => db.close())
  return db
}
const HOT = 'select $1::integer + 1 as next, (select name from pg_prepared_statements limit 1) as name'
const ask = async (db: ReturnType<typeof open>) =>
  (await db.query<{ next: number; name: string | null }>(HOT, [1], 'prepared')).rows[0]

test('on connections of its own a hot statement is prepared once per connection', async () => {
  const db = open(url)
  const answer = await waitFor('names are known to hold', async () => {
    const row = await ask(db)
    return row?.name ? row : null
  })
  assert.equal(answer.next, 2)
  assert.match(answer.name ?? '', /^beck_[0-9a-f]{24}$/)
})

test('behind a pooler that hands out connections anew each time, statements go unnamed and none fails', async () => {
  const pooled = await startPooler(url)
  const dbs = [open(pooled), open(pooled), open(pooled)]
  for (let round = 0; round < 20; round++) {
    const rows = await Promise.all(
      dbs.flatMap((db) => [ask(db), ask(db), db.transaction((tx) => ask({ ...db, ...tx }))]),
    )
    assert.ok(rows.every((row) => row?.next === 2 && row.name === null))
  }
})

test('a connection that forgot a name is no failure: the statement runs again without one', async () => {
  const db = open(url)
  await waitFor('names are known to hold', async () => ((await ask(db))?.name ? true : null))
  for (let i = 0; i < 8; i++) await db.query('deallocate all')
  const rows = await Promise.all(Array.from({ length: 8 }, () => ask(db)))
  assert.ok(rows.every((row) => row?.next === 2))
  await db.query('deallocate all')
  assert.equal((await db.transaction((tx) => ask({ ...db, ...tx })))?.next, 2)
})
