import assert from 'node:assert/strict'
import test from 'node:test'
import { testDatabase } from '../../test/database.ts'
import type { Queryable, Tx } from './database.ts'
import { overRows } from './row-statements.ts'
import { doFirst, doLast, runRows, sharedRead, together } from './together.ts'

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
    const read = sharedRead(
      async (one) => (await one.query<{ t: Date }>('select clock_timestamp() as t')).rows[0]?.t,
    )
    const seen = await together(tx, [1, 2, 3], alone, async (one) => [await read(one), await read(one)])
    assert.equal(texts.length, 2)
    assert.equal(new Set(seen.map((pair) => String(pair[0]?.getTime()))).size, 1)
  })
})

test('what is shared is told apart by what reads it and by all that it is asked with', async () => {
  const db = await testDatabase()
  await db.transaction(async (plain) => {
    const { tx, texts } = counting(plain)
    const ask = async <Answer>(one: Queryable, given: string, tail: string): Promise<Answer | undefined> =>
      (await one.query<{ v: Answer }>(`select $1::text${tail} as v`, [given])).rows[0]?.v
    const word = sharedRead((one, given: string) => ask<string>(one, given, ''))
    const long = sharedRead((one, given: string, than: number) => ask<boolean>(one, given, ` > '${than}'`))
    const answers = await together(tx, [1, 2], alone, (one) =>
      Promise.all([word(one, 'a'), word(one, 'b'), long(one, 'a', 1), long(one, 'a', 2)]),
    )
    assert.deepEqual(answers, [
      ['a', 'b', true, true],
      ['a', 'b', true, true],
    ])
    assert.equal(texts.length, 4)
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

test('what can wait is done once for all when the last story has ended; earlier for who asks, and never after a failure', async () => {
  const db = await testDatabase()
  const done: string[] = []
  const work = async (_: Tx, items: readonly string[]) => {
    done.push(items.join(' '))
  }
  await db.transaction((tx) => doLast(tx, work, 'alone'))
  await db.transaction((tx) =>
    together(tx, ['a', 'b', 'c'], alone, async (one, item) => {
      await doLast(one, work, item)
      await runRows(one, DOUBLE, [{ given: 1n, name: item }])
      done.push(`${item} ends`)
    }),
  )
  assert.deepEqual(done.splice(0), ['alone', 'a ends', 'b ends', 'c ends', 'a b c'])
  await db.transaction((tx) =>
    together(tx, ['a', 'b', 'reader'], alone, async (one, item) => {
      if (item === 'reader') await doFirst(one, work)
      else await doLast(one, work, item)
      done.push(`${item} ends`)
    }),
  )
  assert.deepEqual(done.splice(0).sort(), ['a b', 'a ends', 'b ends', 'reader ends'])
  const failing = db.transaction((tx) =>
    together(tx, ['a', 'b'], alone, async (one, item) => {
      await doLast(one, work, item)
      if (item === 'b') throw new Error('b fails')
    }),
  )
  await assert.rejects(failing, /b fails/)
  assert.deepEqual(done, [])
})

test('who reads waits for what is being done for another, and for what was put off meanwhile', async () => {
  const db = await testDatabase()
  const written = new Set<string>()
  const work = async (tx: Tx, items: readonly string[]) => {
    await tx.query('select 1')
    await tx.query('select 2')
    for (const item of items) written.add(item)
  }
  await db.transaction((tx) =>
    together(tx, ['a', 'b', 'c'], alone, async (one, item) => {
      for (const round of [1, 2]) {
        await doLast(one, work, `${item}${round}`)
        // Not in step with the others.
        if (item === 'c') await new Promise(setImmediate)
        await doFirst(one, work)
        assert.ok(written.has(`${item}${round}`), `${item} does not read its own`)
      }
    }),
  )
})

test('what is done earlier and fails is the failure of all who waited for it', async () => {
  const db = await testDatabase()
  let failed = 0
  const work = async (tx: Tx) => {
    await tx.query('select 1 / 0')
  }
  const failing = db.transaction((tx) =>
    together(tx, ['a', 'b'], alone, async (one, item) => {
      await doLast(one, work, item)
      await doFirst(one, work).catch((error: unknown) => {
        failed += 1
        throw error
      })
    }),
  )
  await assert.rejects(failing, /division by zero/)
  assert.equal(failed, 2)
})
