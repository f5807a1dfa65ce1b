/** The counter that only grows: what follows what, and who stops and lets go on. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { TEST_SECRETS } from '../../test/wallet.ts'
import { SILENT } from '../core/log.ts'
import { openTimeKeeper } from '../flows/recovery/keep-time.ts'
import { openToldPayments } from '../flows/recovery/told-payments.ts'
import { listFreezes } from '../ledger/freezes.sql.ts'
import { openTimeCheck } from '../signer/time.ts'
import {
  advanceArrow,
  beginEra,
  type Moment,
  openTimeMemory,
  readArrow,
  TIME_FILE,
  whyBehind,
} from './time-arrow.ts'

const NOW: Moment = { history: 'one', era: 2, tick: 50n, timeline: '00000001' }
const TABLE: readonly (readonly [what: string, found: Moment | null, why: RegExp | null])[] = [
  ['the same moment', NOW, null],
  ['a later one', { ...NOW, tick: 51n }, null],
  ['a smaller counter', { ...NOW, tick: 49n }, /stands at 49, and stood at 50/],
  ['no counter', null, /its counter is gone/],
  ['another timeline', { ...NOW, tick: 90n, timeline: '00000002' }, /follows timeline 00000002/],
  ['an era that ended', { ...NOW, era: 1, tick: 900n }, /shows era 1, which ended/],
  ['a later era', { history: 'one', era: 3, tick: 1n, timeline: '00000002' }, null],
  ['another database', { history: 'two', era: 1, tick: 1n, timeline: '00000001' }, null],
]

for (const [what, found, why] of TABLE)
  test(`whoever remembers a moment finds ${what} ${why ? 'behind it' : 'to follow it'}`, () => {
    if (why) assert.match(whyBehind(NOW, found) ?? '', why)
    else assert.equal(whyBehind(NOW, found), null)
    assert.equal(whyBehind(null, found), null, 'who remembers nothing can say nothing')
  })

async function scene() {
  const db = await testDatabase({ connectionsMax: 10 })
  const folder = await mkdtemp(join(tmpdir(), 'beck-time-'))
  after(() => rm(folder, { recursive: true, force: true }))
  const open = async () =>
    openTimeKeeper({
      db,
      secrets: TEST_SECRETS,
      log: SILENT,
      folder,
      memory: await openTimeMemory(join(folder, TIME_FILE)),
      told: openToldPayments(folder),
    })
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

test('the signer remembers by itself, and signs nothing once the counter is smaller than in its file', async () => {
  const { db, folder } = await scene()
  const look = await openTimeCheck(folder, db, SILENT)
  for (let beat = 0; beat < 5; beat++) await advanceArrow(db)
  assert.equal(await look(), true)
  await db.query('update time_arrow set tick = 3')
  assert.equal(await look(), false)
  assert.match((await readArrow(db))?.stopped ?? '', /lost commits/, 'and says it to all')
  const restarted = await openTimeCheck(folder, db, SILENT)
  assert.equal(await restarted(), false)
})
