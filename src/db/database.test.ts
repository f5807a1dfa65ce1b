import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import test from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { conflict, InvariantBroken, OutcomeUnknown } from '../core/errors.ts'
import { pause } from '../core/pause.ts'
import { type Database, openDatabase, type Queryable } from './database.ts'
import { Unreachable } from './failures.ts'

const breakOff = (connection: Queryable) => connection.query('select pg_terminate_backend(pg_backend_pid())')

test('what may have been committed is unknown for as long as nobody can look, and is not to be asked for again', async () => {
  const db = await testDatabase()
  let looks = 0
  const broken = db.transaction(async (tx) => void (await breakOff(tx)), {
    oneStatement: true,
    async ifCommitted(again) {
      looks += 1
      await breakOff(again)
    },
  })
  await assert.rejects(broken, (error) => error instanceof OutcomeUnknown)
  assert.ok(looks > 1)
})

test('a look that fails while the database is away is taken again', async () => {
  const db = await testDatabase()
  let looks = 0
  const found = await db.transaction<string>(async (tx) => breakOff(tx).then(() => 'made'), {
    oneStatement: true,
    async ifCommitted(again) {
      if (looks++ === 0) await breakOff(again)
      return 'found'
    },
  })
  assert.equal(found, 'found')
  assert.equal(looks, 2)
})

test('what PostgreSQL still worked on when its connection broke is found by the attempt behind it', async () => {
  const db = await testDatabase()
  await db.query('create table made (id int primary key, attempt int)')
  let attempts = 0
  const made = await db.transaction<number>(
    async (tx) => {
      attempts += 1
      // The first is taken in by a PostgreSQL whose answer comes to nobody, and stands a moment after the look.
      if (attempts === 1) {
        void pause(300).then(() => db.query('insert into made values (1, 1)'))
        await breakOff(tx)
      }
      const { rows } = await tx.query<{ attempt: number }>(
        'insert into made select 1, $1::int from pg_sleep(0.5) returning attempt',
        [attempts],
      )
      return rows[0]?.attempt ?? 0
    },
    {
      oneStatement: true,
      ifCommitted: async (after) =>
        (await after.query<{ attempt: number }>('select attempt from made where id = 1')).rows[0]?.attempt,
    },
  )
  assert.equal(made, 1)
  assert.equal(attempts, 2)
})

test('an attempt behind one that may have been committed leaves that open when PostgreSQL can not work', async () => {
  const db = await testDatabase()
  const outcomeOf = (sqlstate: string) => {
    let attempts = 0
    return db.transaction(
      async (tx) => {
        attempts += 1
        if (attempts === 1) await breakOff(tx)
        await tx.query(`do $$ begin raise 'it can not be' using errcode = '${sqlstate}'; end $$`)
      },
      { oneStatement: true, ifCommitted: async () => undefined },
    )
  }
  for (const sqlstate of ['57014', '53100', '25006', '40001', '55P03'])
    await assert.rejects(outcomeOf(sqlstate), (error) => error instanceof OutcomeUnknown, sqlstate)
  await assert.rejects(outcomeOf('23505'), { code: '23505' })
})

test('what could not be sent was not done, and nobody looks for it', async () => {
  const db = openDatabase({ url: 'postgresql://beck@127.0.0.1:1/beck' })
  let looks = 0
  const made = db.transaction((tx) => tx.query('select 1'), {
    oneStatement: true,
    async ifCommitted() {
      looks += 1
      return undefined
    },
  })
  await assert.rejects(made, (error) => error instanceof Unreachable)
  assert.equal(looks, 0)
  await db.close()
})

test('a database that nobody may work on any more tells nobody what it committed', async () => {
  const { url } = await testDatabase()
  let connections = 0
  const db = openDatabase({
    url,
    connectionsMax: 1,
    verify: async () => {
      if (connections++ > 0) throw conflict('database_went_back', 'it is not what it was')
    },
  })
  try {
    const made = db.transaction(async (tx) => void (await breakOff(tx)), {
      oneStatement: true,
      ifCommitted: async (again) => void (await again.query('select 1')),
    })
    await assert.rejects(made, (error) => error instanceof OutcomeUnknown)
  } finally {
    await db.close()
  }
})

test('a statement for which no connection was free in time was never sent, and is tried again', async () => {
  const db = await testDatabase({ connectionsMax: 1 })
  const busy = db.query('select pg_sleep(10.5)')
  let looks = 0
  const made = db.transaction(async (tx) => (await tx.query<{ x: number }>('select 1 as x')).rows, {
    oneStatement: true,
    async ifCommitted() {
      looks += 1
      return undefined
    },
  })
  assert.deepEqual(await made, [{ x: 1 }])
  assert.equal(looks, 0)
  await busy
})

test('a statement whose connection comes too late is not sent after all', async () => {
  const { url } = await testDatabase()
  // The first connection is looked at at once, the next one across the moment at which nobody waits for it any more.
  let looks = 0
  const db = openDatabase({
    url,
    connectionsMax: 1,
    verify: async () => void (await pause(looks++ === 0 ? 0 : 3_000)),
  })
  try {
    await db.query('create table made (x int)')
    // Its connection ends with it.
    const busy = assert.rejects(
      db.query('select pg_terminate_backend(pg_backend_pid()) from pg_sleep(8.5)'),
      Unreachable,
    )
    await db.transaction((tx) => tx.query('insert into made values (1)'), { oneStatement: true })
    await busy
    assert.deepEqual((await db.query('select x from made')).rows, [{ x: 1 }])
    assert.ok(looks > 1)
  } finally {
    await db.close()
  }
})

test('what PostgreSQL refuses costs no connection, in a transaction or alone', async () => {
  const { url } = await testDatabase()
  const db = openDatabase({ url, connectionsMax: 1 })
  try {
    const asked = async (on: Queryable) =>
      (await on.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
    const first = await asked(db)
    const refused = { code: '22012' }
    await assert.rejects(db.query('select 1 / 0'), refused)
    await assert.rejects(db.query('select 1 / $1::int', [0], 'prepared'), refused)
    await assert.rejects(
      db.transaction((tx) => tx.query('select 1 / 0'), { oneStatement: true }),
      refused,
    )
    await assert.rejects(
      db.transaction((tx) => tx.query('select 1 / 0')),
      refused,
    )
    assert.equal(await asked(db), first)
    // What is FATAL ends it under any name, and a session that may not write is of no use to whoever comes next.
    await assert.rejects(db.query(`select set_config('transaction_timeout', '50ms', true), pg_sleep(5)`), {
      code: '25P04',
    })
    const second = await asked(db)
    assert.notEqual(second, first)
    await db.query('create table made (x int); set default_transaction_read_only = on')
    await assert.rejects(db.query('insert into made values (1)'), { code: '25006' })
    await db.query('insert into made values (2); set default_transaction_read_only = on')
    await assert.rejects(
      db.transaction((tx) => tx.query('insert into made values (3)')),
      { code: '25006' },
    )
    await db.query('insert into made values (4)')
    assert.deepEqual((await db.query('select x from made order by x')).rows, [{ x: 2 }, { x: 4 }])
  } finally {
    await db.close()
  }
})

test('a transaction that failed is none, though somebody caught its failure and went on', async () => {
  const db = await testDatabase()
  await db.query('create table made (x int)')
  const goesOn = async (tx: Queryable) => {
    await tx.query('insert into made values (1)')
    await tx.query('select 1 / 0').catch(() => {})
    return 'done'
  }
  await assert.rejects(db.transaction(goesOn), InvariantBroken)
  assert.deepEqual((await db.query('select x from made')).rows, [])
})

test('a machine that vanished is asked for after seconds of silence', async () => {
  const db = await testDatabase({ connectionsMax: 1 })
  const overTcp = openDatabase({ url: db.url, connectionsMax: 1 })
  try {
    const { rows } = await overTcp.query<{ port: number }>('select inet_client_port() as port')
    const port = rows[0]?.port.toString(16).toUpperCase().padStart(4, '0')
    const sockets = (await readFile('/proc/net/tcp', 'utf8'))
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
    const [timer = '', ticks = ''] =
      sockets.find(([, local, , state]) => local?.endsWith(`:${port}`) && state === '01')?.[5]?.split(':') ??
      []
    assert.equal(timer, '02', 'it keeps alive')
    assert.ok(Number.parseInt(ticks, 16) <= 500, `hundredths of a second: ${Number.parseInt(ticks, 16)}`)
  } finally {
    await overTcp.close()
  }
})

test('a connection that is refused when it is looked at does nobody’s work, and leaves its place', async () => {
  const { url } = await testDatabase()
  const make = 'create table made (x int)'
  // A transaction tries five times, and says then what it was.
  const works: [(db: Database) => Promise<unknown>, looks: number, error: object][] = [
    [(db) => db.query(make), 1, { reason: 'database_went_back' }],
    [
      (db) => db.transaction((tx) => tx.query(make), { oneStatement: true }),
      1,
      { reason: 'database_went_back' },
    ],
    [
      (db) => db.transaction((tx) => tx.query(make)),
      5,
      { name: 'Unreachable', message: 'it is not what it was' },
    ],
  ]
  let looks = 0
  const db = openDatabase({
    url,
    connectionsMax: 1,
    async verify() {
      await pause(50)
      if (looks++ < 7) throw conflict('database_went_back', 'it is not what it was')
    },
  })
  try {
    for (const [work, times, error] of works) {
      const before = looks
      await assert.rejects(work(db), error)
      assert.equal(looks - before, times)
    }
    const { rows } = await db.query("select to_regclass('made') as made")
    assert.deepEqual(rows, [{ made: null }])
    assert.equal(looks, 8)
    assert.equal(db.connections().busy, 0)
  } finally {
    await db.close()
  }
})

/** A message of PostgreSQL's protocol: its kind, its length with itself, its body. */
const message = (kind: string, body: Buffer): Buffer => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(4 + body.length)
  return Buffer.concat([Buffer.from(kind), length, body])
}
const LET_IN = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))])
const SHUT_DOWN = message(
  'E',
  Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'),
)

test('a connection that falls silent while it is looked at gives its place back', async () => {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('data', () => socket.write(LET_IN))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const db = openDatabase({
    url: `postgresql://beck@127.0.0.1:${port}/beck`,
    connectionsMax: 1,
    verify: async (connection) => void (await connection.query('select 1')),
  })
  try {
    await assert.rejects(db.query('select 2'), (error) => error instanceof Unreachable)
    const [first] = sockets
    assert.ok(first)
    if (!first.closed) await once(first, 'close', { signal: AbortSignal.timeout(15_000) })
    assert.equal(db.connections().busy, 0)
  } finally {
    await db.close()
    server.close()
  }
})

test('a connection that is let in and ended in one breath is tried again, and ends no process', async () => {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.on('error', () => {})
    socket.once('data', () => socket.end(Buffer.concat([LET_IN, SHUT_DOWN])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const db = openDatabase({ url: `postgresql://beck@127.0.0.1:${port}/beck` })
  try {
    await assert.rejects(
      db.transaction((tx) => tx.query('select 1')),
      (error) => error instanceof Unreachable,
    )
    await assert.rejects(db.query('select 1'), (error) => error instanceof Unreachable)
    assert.equal(connections, 6)
  } finally {
    await db.close()
    server.close()
  }
})
