import assert from 'node:assert/strict'
import test from 'node:test'
import { testDatabase } from '../../test/database.ts'
import type { Tx } from './database.ts'
import { overRows } from './row-statements.ts'
import { readShared, runRows, together } from './together.ts'

const alone = () => null

const DOUBLE = overRows(
  { given: 'bigint', name: 'text' },
  (rows) => `select place, name, given * 2 as twice from ${rows} where given <> 3 order by given desc`,
)
interface Doubled {
  name: string
  twice: bigint
}

/** Counts what reaches the connection. */
const counting = (tx: Tx): { tx: Tx; texts: string[] } => {
  const texts: string[] = []
  return {
    texts,
    tx: {
      ...tx,
      query: (text, values, hot) => {
        texts.push(text)
        return tx.query(text, values, hot)
      },
    },
  }
}

test('each story is given the answers to its own rows, and all of them take one statement', async () => {
  const db = await testDatabase()
  await db.transaction(async (plain) => {
    const { tx, texts } = counting(plain)
    const answers = await together(tx, [1n, 2n, 3n, 4n], alone, async (one, given) => {
      const doubled = await runRows<Doubled>(one, DOUBLE, [{ given, name: `n${given}` }])
      const again = await runRows<Doubled>(
        one,
        DOUBLE,
        doubled.map(({ twice, name }) => ({ given: twice, name })),
      )
      return again.map(({ name, twice }) => `${name} ${twice}`)
    })
    assert.deepEqual(answers, [['n1 4'], ['n2 8'], [], ['n4 16']])
    assert.equal(texts.length, 2)
  })
})

test('a story alone, one of several rows, and one without any', async () => {
  const db = await testDatabase()
  const rows = [
    { given: 5n, name: 'a' },
    { given: 7n, name: 'b' },
  ]
  const alone = await runRows<Doubled>(db, DOUBLE, rows)
  assert.deepEqual(
    alone.map(({ name, twice }) => [name, twice]),
    [
      ['b', 14n],
      ['a', 10n],
    ],
  )
  await db.transaction(async (tx) => {
    const [both, none] = await together(
      tx,
      [rows, []],
      () => null,
      (one, given) => runRows<Doubled>(one, DOUBLE, given),
    )
    assert.deepEqual(
      both?.map(({ name }) => name),
      ['b', 'a'],
    )
    assert.deepEqual(none, [])
  })
})

test('what is the same for all is read once, and read again when it is asked for later', async () => {
  const db = await testDatabase()
  await db.transaction(async (plain) => {
    const { tx, texts } = counting(plain)
    const read = (one: Tx) =>
      readShared(
        one,
        'time',
        async () => (await one.query<{ t: Date }>('select clock_timestamp() as t')).rows[0]?.t,
      )
    const seen = await together(tx, [1, 2, 3], alone, async (one) => [await read(one), await read(one)])
    assert.equal(texts.length, 2)
    assert.equal(new Set(seen.map((pair) => String(pair[0]?.getTime()))).size, 1)
  })
})

test('when one story fails, its failure is what is thrown, after all have ended', async () => {
  const db = await testDatabase()
  let ended = 0
  const failing = db.transaction((tx) =>
    together(tx, [1n, 0n, 2n], alone, async (one, given) => {
      try {
        await one.query('select 1 / $1::bigint', [given])
        await runRows(one, DOUBLE, [{ given, name: '' }])
      } finally {
        ended += 1
      }
    }),
  )
  await assert.rejects(failing, /division by zero/)
  assert.equal(ended, 3)
})

test('stories that share rows run one after the other, whatever the others do', async () => {
  const db = await testDatabase()
  await db.transaction(async (tx) => {
    await tx.query('create table counted (key text primary key, n integer not null)')
    await tx.query("insert into counted values ('a', 0), ('b', 0)")
    await together(
      tx,
      ['a', 'b', 'a', 'a', 'b'],
      (key) => key,
      async (one, key) => {
        const { rows } = await one.query<{ n: number }>('select n from counted where key = $1', [key])
        await runRows(one, DOUBLE, [{ given: 1n, name: key }])
        await one.query('update counted set n = $2 where key = $1', [key, (rows[0]?.n ?? 0) + 1])
      },
    )
    const { rows } = await tx.query('select key, n from counted order by key')
    assert.deepEqual(rows, [
      { key: 'a', n: 3 },
      { key: 'b', n: 2 },
    ])
  })
})
