/**
 * A PostgreSQL that comes back on another timeline, as it does when a replica took over: with every commit Beck goes on by
 * itself; with fewer it stops, also where somebody was quicker to make the counter larger again.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { SILENT } from '../../src/core/log.ts'
import { openDatabase } from '../../src/db/database.ts'
import { type Cluster, startCluster } from '../../src/db/embedded/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { advanceArrow, beginEra, readArrow } from '../../src/db/time-arrow.sql.ts'
import { openTimeMemory, TIME_FILE } from '../../src/db/time-arrow.ts'
import { openTimeKeeper } from '../../src/flows/recovery/keep-time.ts'
import { openToldPayments } from '../../src/flows/recovery/told-payments.ts'
import { openTimeCheck } from '../../src/signer/time.ts'
import { until } from '../wait-for.ts'
import { fillTestWallets, freshenTestWallets, TEST_SECRETS } from '../wallet.ts'

const exec = promisify(execFile)
const settings = ['fsync=off', 'shared_buffers=16MB', 'restore_command=false']

test('a server that took over is trusted with every commit that is remembered, and with none missing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beck-taken-over-'))
  let cluster: Cluster = await startCluster({ dataDir: folder, settings })
  after(async () => {
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const url = cluster.url('postgres')
  const db = openDatabase({ url, connectionsMax: 4 })
  after(() => db.close())
  await migrate(db)
  await fillTestWallets(db, { freshPerChain: 8, chains: ['sim-litecoin'] })
  const { rows: where } = await db.query<{ files: string }>(
    `select current_setting('data_directory') as files`,
  )
  const files = where[0]?.files ?? assert.fail()
  /** Another timeline begins where the log ends. */
  const takeOver = async (work: () => Promise<unknown> = async () => {}) => {
    await cluster.stop()
    await work()
    await writeFile(join(files, 'recovery.signal'), '')
    await exec('chown', ['--reference', files, join(files, 'recovery.signal')])
    cluster = await startCluster({ dataDir: folder, settings })
    assert.equal(cluster.url('postgres'), url)
    // It answers reads before its log is replayed.
    await until('it took over', async () => {
      const { rows } = await db.query<{ replays: boolean }>('select pg_is_in_recovery() as replays')
      return rows[0]?.replays === false
    })
  }
  let diskIsFull = false
  const open = async (name: string) => {
    const own = await mkdtemp(join(tmpdir(), `beck-taken-over-${name}-`))
    after(() => rm(own, { recursive: true, force: true, maxRetries: 9 }))
    const memory = await openTimeMemory(join(own, TIME_FILE))
    const told = openToldPayments(own, null)
    const note: typeof told.note = (database) =>
      diskIsFull ? Promise.reject(new Error('the disk is full')) : told.note(database)
    return openTimeKeeper({ db, secrets: TEST_SECRETS, log: SILENT, memory, told: { ...told, note } })
  }
  const countFresh = async () =>
    (await db.query('select from addresses where branch = 0 and issued_at is null and not withheld')).rowCount
  const countDerived = async () => (await db.query('select from addresses where branch = 0')).rowCount
  const signerFolder = await mkdtemp(join(tmpdir(), 'beck-taken-over-signer-'))
  after(() => rm(signerFolder, { recursive: true, force: true, maxRetries: 9 }))
  const maySign = await openTimeCheck(signerFolder, db, SILENT)
  const keepers = [await open('one'), await open('two')]
  for (let beat = 0; beat < 3; beat++) for (const keeper of keepers) await keeper.turn()
  assert.equal(await maySign(), 1)
  assert.ok((await countFresh()) > 0)
  // Of the server that this database was copied from, long ago.
  await db.query(
    `insert into alerts (id, kind, subject, message, created_at, acknowledged_at, acknowledged_by)
     select gen_random_uuid(), 'database_taken_over', 'timeline 00000002 of ' || history, 'another one', now() - interval '1 day',
       now() - interval '1 hour', 'the operator' from time_arrow`,
  )

  await takeOver()
  assert.equal((await readArrow(db))?.timeline, '00000002')
  const [first, second] = keepers
  assert(first && second)
  await assert.rejects(
    first.verify(db),
    { name: 'OutsideFailure' },
    'nothing is sold before it was looked at',
  )
  const derived = await countDerived()
  diskIsFull = true
  for (const { status } of await Promise.allSettled(keepers.map((keeper) => keeper.turn())))
    assert.equal(status, 'rejected', 'who cannot write down what it has seen looks again')
  assert.equal(
    await countFresh(),
    0,
    'what may have been handed out in its last moment is not handed out again',
  )
  assert.equal(await countDerived(), derived + 500, 'of two that come at once, one withholds')
  await freshenTestWallets(db, 8)
  diskIsFull = false
  for (const keeper of keepers) {
    await keeper.turn()
    assert.equal(keeper.stopped(), null)
    await keeper.verify(db)
  }
  assert.equal(await countFresh(), 8, 'nor does anybody withhold what was derived since')
  assert.equal(await maySign(), 1)
  const { rows: alerts } = await db.query<{ kind: string; isOpen: boolean }>(
    'select kind, acknowledged_at is null as "isOpen" from alerts',
  )
  assert.deepEqual(alerts, [{ kind: 'database_taken_over', isOpen: true }])

  // One that lacks commits, where a process that remembers less comes first and makes the counter larger again.
  await cluster.stop()
  await exec('cp', ['-a', files, `${files}.copy`])
  cluster = await startCluster({ dataDir: folder, settings })
  for (let beat = 0; beat < 5; beat++) for (const keeper of keepers) await keeper.turn()
  await takeOver(async () => {
    await rm(files, { recursive: true })
    await exec('mv', [`${files}.copy`, files])
  })
  for (let beat = 0; beat < 50; beat++) await advanceArrow(db)
  assert.equal(await maySign(), 1, 'it remembers nothing that is gone')
  await first.turn()
  assert.match(first.stopped() ?? '', /timeline 00000003 of PostgreSQL began with its counter at/)
  await second.turn()
  assert.equal(await maySign(), null)
  assert.equal(await beginEra(db), true)
  for (const keeper of keepers) {
    await keeper.turn()
    assert.equal(keeper.stopped(), null)
  }
})
