/** The counter that only grows: what follows what, and who stops and lets go on. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import { TEST_SECRETS } from '../../test/wallet.ts'
import { SILENT } from '../core/log.ts'
import { openTimeKeeper } from '../flows/recovery/keep-time.ts'
import { openToldPayments } from '../flows/recovery/told-payments.ts'
import { listFreezes } from '../ledger/freezes.sql.ts'
import { openTimeCheck } from '../signer/time.ts'
import type { Database } from './database.ts'
import { advanceArrow, beginEra, markMadeSafe, readArrow, stopMoving } from './time-arrow.sql.ts'
import { type Arrow, openTimeMemory, TIME_FILE, whyBehind } from './time-arrow.ts'

const NOW: Arrow = {
  history: 'one',
  era: 2,
  tick: 50n,
  timeline: '00000001',
  timelines: { '00000001': 0 },
  at: null,
  stopped: null,
  isMadeSafe: false,
}
/** Another server took over when the counter stood there. */
const tookOver = (...ticks: number[]): Partial<Arrow> => ({
  timeline: `0000000${ticks.length + 1}`,
  timelines: Object.fromEntries([0, ...ticks].map((tick, index) => [`0000000${index + 1}`, tick])),
})
const TABLE: readonly (readonly [what: string, found: Arrow | null, why: RegExp | null])[] = [
  ['the same moment', NOW, null],
  ['a later one', { ...NOW, tick: 51n }, null],
  ['a smaller counter', { ...NOW, tick: 49n }, /stands at 49, and stood at 50/],
  ['no counter', null, /its counter is gone/],
  ['a server that took over with all of it', { ...NOW, tick: 90n, ...tookOver(50) }, null],
  [
    'one that took over with less',
    { ...NOW, tick: 90n, ...tookOver(49) },
    /00000002 .*began .* at 49, and it stood at 50/,
  ],
  [
    'one that took over with less before the last',
    { ...NOW, tick: 90n, ...tookOver(49, 70) },
    /00000002 .*at 49/,
  ],
  [
    'the server that was followed before',
    { ...NOW, tick: 90n, timeline: '00000000' },
    /follows timeline 00000000/,
  ],
  ['an era that ended', { ...NOW, era: 1, tick: 900n }, /shows era 1, which ended/],
  ['a later era', { ...NOW, era: 3, tick: 1n, ...tookOver(1) }, null],
  ['another counter', { ...NOW, history: 'two', tick: 90n }, /another database, or older/],
  ['another counter of a later era', { ...NOW, history: 'two', era: 3, tick: 1n }, null],
]

for (const [what, found, why] of TABLE)
  test(`whoever remembers a moment finds ${what} ${why ? 'behind it' : 'to follow it'}`, () => {
    if (why) assert.match(whyBehind(NOW, found) ?? '', why)
    else assert.equal(whyBehind(NOW, found), null)
    assert.equal(whyBehind(null, found), null, 'who remembers nothing can say nothing')
  })

async function scene(on?: Database) {
  const db = on ?? (await testDatabase({ connectionsMax: 10 }))
  const folder = await mkdtemp(join(tmpdir(), 'beck-time-'))
  after(() => rm(folder, { recursive: true, force: true }))
  const open = async (over: Database = db) => {
    const memory = await openTimeMemory(join(folder, TIME_FILE))
    const told = openToldPayments(folder, memory.seen?.at ?? null)
    return openTimeKeeper({ db: over, secrets: TEST_SECRETS, log: SILENT, memory, told })
  }
  return { db, folder, open }
}

test('a counter that is set back stops every process, also one that just started, until an era begins', async () => {
  const { db, open } = await scene()
  const keeper = await open()
  for (let beat = 0; beat < 3; beat++) await keeper.turn()
  assert.equal(keeper.stopped(), null)
  await keeper.verify(db)
  await db.query('update time_arrow set tick = tick - 1')

  await assert.rejects(
    keeper.verify(db),
    { reason: 'database_went_back' },
    'no connection is used before it is safe',
  )
  assert.equal(await beginEra(db), false, 'nor does anybody say that all is well')
  await keeper.turn()
  assert.match(keeper.stopped() ?? '', /lost commits/)
  assert.equal((await listFreezes(db)).length, 5)
  await keeper.verify(db)
  const other = await open()
  await other.turn()
  assert.match(other.stopped() ?? '', /lost commits/)
  assert.equal((await db.query("select from alerts where kind = 'database_went_back'")).rowCount, 1)

  assert.equal(await beginEra(db), true)
  for (const each of [keeper, other, await open()]) {
    await each.turn()
    assert.equal(each.stopped(), null)
  }
  const { era, tick } = (await readArrow(db)) ?? { era: 0, tick: 0n }
  assert.equal(era, 2)
  await db.query('update time_arrow set era = 1, tick = $1', [tick + 100n])
  await keeper.turn()
  assert.match(keeper.stopped() ?? '', /shows era 1/, 'a copy from before is met again')
  assert.equal(await beginEra(db), true)
  assert.equal((await readArrow(db))?.era, 3, 'above every era that was')
})

test('what was seen to be gone before the operator had looked stops nothing afterwards', async () => {
  const db = await testDatabase()
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

test('who sees that commits are lost, and dies before he says so, hides it from nobody', async () => {
  const { db, folder, open } = await scene()
  const dying: Database = {
    ...db,
    query: (text, values) =>
      text.includes('set stopped') ? Promise.reject(new Error('killed')) : db.query(text, values),
  }
  const [keeper, mortal] = [await open(), await open(dying)]
  for (let beat = 0; beat < 3; beat++) for (const each of [mortal, keeper]) await each.turn()
  const signing = await openTimeCheck(folder, dying, SILENT)
  await db.query('update time_arrow set tick = tick - 2')
  for (let beat = 0; beat < 4; beat++) {
    await assert.rejects(mortal.turn(), /killed/)
    await assert.rejects(signing(), /killed/)
  }
  await keeper.turn()
  assert.match(keeper.stopped() ?? '', /lost commits/)
})

test('what could not be remembered leaves no file behind', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beck-time-'))
  after(() => rm(folder, { recursive: true, force: true }))
  const memory = await openTimeMemory(join(folder, TIME_FILE))
  // A folder in its place: the file is written, and can not be given its name.
  await mkdir(join(folder, TIME_FILE, 'full'), { recursive: true })
  await assert.rejects(memory.remember(NOW))
  assert.deepEqual(await readdir(folder), [TIME_FILE])
})

test('the signer remembers by itself, and signs nothing once the counter is smaller than in its file', async () => {
  const { db, folder } = await scene()
  const look = await openTimeCheck(folder, db, SILENT)
  for (let beat = 0; beat < 5; beat++) await advanceArrow(db)
  assert.equal(await look(), 1)
  await db.query('update time_arrow set tick = 3')
  assert.equal(await look(), null)
  assert.match((await readArrow(db))?.stopped ?? '', /lost commits/, 'and says it to all')
  const restarted = await openTimeCheck(folder, db, SILENT)
  assert.equal(await restarted(), null)
  await markMadeSafe(db)
  assert.equal(await beginEra(db), true)
  assert.deepEqual([await look(), await restarted()], [2, 2], 'and says in which era it signs')
})

test('a database that is older than its counter is noticed, by whoever starts on it too', async () => {
  const { db, open } = await scene()
  const keeper = await open()
  for (let beat = 0; beat < 3; beat++) await keeper.turn()
  await db.query('delete from time_arrow')
  await assert.rejects(keeper.verify(db), { reason: 'database_went_back' })
  // Somebody who remembers nothing makes a new one first, and beats until it is ahead.
  for (let beat = 0; beat < 10; beat++) await advanceArrow(db)
  for (const each of [keeper, await open()]) {
    await each.turn()
    assert.match(each.stopped() ?? '', /another database, or older/)
  }
  assert.equal((await listFreezes(db)).length, 5)
  assert.equal(await beginEra(db), true)
  for (const each of [keeper, await open()]) {
    await each.turn()
    assert.equal(each.stopped(), null, 'and the new counter is remembered')
  }
})

test('payments that were made while no process noted them are noted when the next one starts', async () => {
  const gateway = await testGateway()
  const { db, folder, open } = await scene(gateway.db)
  const account = await testAccount(gateway)
  const at = (id: string, ago: string) =>
    db.query(`update events set created_at = now() - $2::interval where cause like $1`, [
      `payment:${id}:%`,
      ago,
    ])
  const noted = () => readFile(join(folder, 'told-payments'), 'utf8')
  const keeper = await open()
  const first = await testPayment(gateway, account)
  await keeper.turn()
  assert.match(await noted(), new RegExp(first.id))
  // A minute passes in which others run.
  const memory = JSON.parse(await readFile(join(folder, TIME_FILE), 'utf8'))
  memory.at = new Date(new Date(memory.at).getTime() - 60_000).toISOString()
  await writeFile(join(folder, TIME_FILE), JSON.stringify(memory))
  const missed = await testPayment(gateway, account)
  await at(missed.id, '55 seconds')
  const before = await testPayment(gateway, account)
  await at(before.id, '95 seconds')
  const next = await open()
  await next.turn()
  assert.match(await noted(), new RegExp(missed.id))
  assert.doesNotMatch(await noted(), new RegExp(before.id), 'what was noted long ago is not read again')
})

test('of what was told, only the last moment speaks against a server that took over', async () => {
  const gateway = await testGateway()
  const { db, folder, open } = await scene(gateway.db)
  const keeper = await open()
  await keeper.turn()
  await keeper.turn()
  // It was followed on an earlier timeline, and the one of now began later.
  const follow = async (told: string) => {
    await db.query(`update time_arrow set timelines = '{"00000001": 1000000}'`)
    const memory = JSON.parse(await readFile(join(folder, TIME_FILE), 'utf8'))
    await writeFile(join(folder, TIME_FILE), JSON.stringify({ ...memory, timeline: '00000000' }))
    await writeFile(join(folder, 'told-payments'), `${told}\n`)
    const next = await open()
    await next.turn()
    return next.stopped()
  }
  const madeAt = (ms: number) =>
    `${ms
      .toString(16)
      .padStart(12, '0')
      .replace(/^(.{8})/, '$1-')}-7000-8000-000000000001`
  assert.equal(await follow(madeAt(Date.now() - 3_600_000)), null, 'lost and dealt with long ago')
  assert.match((await follow(madeAt(Date.now() - 1_000))) ?? '', /lacks 1 payments that were made/)
})
