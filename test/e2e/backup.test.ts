/** A gateway that is backed up, lives on, is lost, and comes back from its backup on an empty machine. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { ChainPort } from '../../src/chains/chain.ts'
import { type Lease, takeLease } from '../../src/chains/chain-progress.sql.ts'
import { writeBackup } from '../../src/cli/backup.ts'
import { readBackup } from '../../src/cli/restore.ts'
import type { ChainName } from '../../src/core/assets.ts'
import { openSecrets } from '../../src/core/secrets.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { advanceArrow, readArrow } from '../../src/db/time-arrow.sql.ts'
import { openTimeMemory } from '../../src/db/time-arrow.ts'
import { bookSpend } from '../../src/flows/recovery/book-spend.ts'
import { observeChain } from '../../src/flows/watching/observe-chain.ts'
import { reconcile } from '../../src/proof/reconcile.ts'
import { putBackBumps } from '../../src/signer/put-back.ts'
import { wishBump } from '../../src/treasury/signed-transactions.sql.ts'
import { findWithdrawal } from '../../src/withdrawals/withdrawals.sql.ts'
import { settleNext } from '../../src/workers/settle.ts'
import { testDatabaseUrl } from '../database.ts'
import { testPayment } from '../gateway.ts'
import { gatewayOn } from '../gateway-on.ts'
import { type PayoutStory, tellPayouts } from '../payout-story.ts'
import { payOnce, signAll, testSigner } from '../payouts.ts'
import { TEST_SECRETS } from '../wallet.ts'

const CHAIN = 'sim-bitcoin'

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'beck-backup-'))
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 9 }))
  return folder
}

async function emptyDatabase(): Promise<Database> {
  const db = openDatabase({ url: await testDatabaseUrl({ template: null }) })
  after(() => db.close())
  return db
}

/** A signer whose directory is `<data directory>/signer`, as the command line lays it out. */
async function openGateway(story: PayoutStory, dataDir: string) {
  await mkdir(join(dataDir, 'signer'), { recursive: true })
  return testSigner(story.gateway, [CHAIN], { folder: join(dataDir, 'signer') })
}

/** The restored gateway beside the same chain: each call is a turn of everybody. */
async function live(db: Database, port: ChainPort, dataDir: string) {
  const gateway = gatewayOn(db, TEST_SECRETS)
  const signer = await testSigner(gateway, [CHAIN], { folder: join(dataDir, 'signer') })
  await db.query('update chains set lease_until = now()')
  const lease: Lease | null = await takeLease(db, CHAIN, 'restored')
  assert(lease)
  const turn = async (sign: () => Promise<unknown>) => {
    while ((await observeChain(gateway, port, lease)).behind);
    while (await settleNext(gateway));
    await sign()
    await payOnce(gateway, port)
  }
  return {
    gateway,
    signer,
    turn: () => turn(() => signAll(signer)),
    turnWithoutSigner: () => turn(async () => {}),
    async differences() {
      return (await reconcile(db, [port])).differences
    },
  }
}

async function contentOf(db: Database): Promise<Record<string, unknown>> {
  const { rows } = await db.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace order by 1`,
  )
  const content: Record<string, unknown> = {}
  for (const { name } of rows) {
    const { rows: digest } = await db.query<{ digest: string }>(
      `select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as digest from ${name} t`,
    )
    if (name !== 'schema_migrations') content[name] = digest[0]?.digest
  }
  return content
}

test('every row comes back as it was, bytes, large numbers and JSON included', async () => {
  const story = await tellPayouts(CHAIN)
  const dataDir = await emptyFolder()
  await story.earn('BTC', 65_000n)
  await testPayment(story.gateway, story.account, { metadata: '{"b": 1.50, "a": [1e3, null]}' })
  await story.request('BTC', '0.001')
  await story.turn()
  const folder = join(await emptyFolder(), 'today')
  await writeBackup(story.gateway.db, dataDir, folder)
  assert.deepEqual(await readdir(folder), ['database.jsonl.gz'])
  await assert.rejects(writeBackup(story.gateway.db, dataDir, folder), { reason: 'folder_exists' })

  const db = await emptyDatabase()
  const before = await contentOf(story.gateway.db)
  await readBackup({ db, secrets: TEST_SECRETS }, { dataDir: await emptyFolder() }, folder, {
    chains: [],
    addressesAhead: 0,
  })
  // What a restore itself writes: addresses that may have been shown since, and that time begins anew.
  await db.query('update addresses set withheld = false')
  await db.query('delete from time_arrow')
  assert.deepEqual(await contentOf(db), before)
  await assert.rejects(readBackup({ db, secrets: TEST_SECRETS }, { dataDir }, folder), {
    reason: 'database_not_empty',
  })
  const other = { db: await emptyDatabase(), secrets: openSecrets(Buffer.alloc(32, 9)) }
  await assert.rejects(readBackup(other, { dataDir }, folder), { reason: 'other_secret_key' })
  const { rows } = await other.db.query('select from accounts')
  assert.equal(rows.length, 0, 'nothing of it was kept')
})

test('a folder that is taken, one that cannot be written and a draft that is left over are told apart', async () => {
  const story = await tellPayouts(CHAIN)
  const [dataDir, parent] = [await emptyFolder(), await emptyFolder()]
  const { db } = story.gateway
  await writeBackup(db, dataDir, `${join(parent, 'deep', 'today')}/`)
  assert.deepEqual(await readdir(join(parent, 'deep')), ['today'])
  assert.equal((await stat(join(parent, 'deep', 'today'))).mode & 0o777, 0o700)
  assert.equal((await stat(join(parent, 'deep', 'today', 'database.jsonl.gz'))).mode & 0o777, 0o600)
  await writeFile(join(parent, 'file'), '')
  await assert.rejects(writeBackup(db, dataDir, join(parent, 'file')), { reason: 'folder_exists' })
  await mkdir(join(parent, 'cut.part'))
  await assert.rejects(writeBackup(db, dataDir, join(parent, 'cut')), { reason: 'backup_under_way' })
  // What the disk says, here of a data directory that is none.
  await assert.rejects(writeBackup(db, '/dev/null', join(parent, 'failed')), {
    name: 'OutsideFailure',
    message: /could not be written/,
  })
  assert.deepEqual((await readdir(parent)).toSorted(), ['cut.part', 'deep', 'file'])
})

test('a restore begins an era that nobody here lived in: not the signer, a process of watchers, or a restore before', async () => {
  const story = await tellPayouts(CHAIN)
  const [dataDir, folder] = [await emptyFolder(), join(await emptyFolder(), 'today')]
  await story.turn()
  await advanceArrow(story.gateway.db)
  await writeBackup(story.gateway.db, dataDir, folder)
  const restoredEra = async () => {
    const db = await emptyDatabase()
    await readBackup({ db, secrets: TEST_SECRETS }, { dataDir }, folder, { chains: [], addressesAhead: 0 })
    const arrow = await readArrow(db)
    assert.ok(arrow)
    return arrow
  }
  const first = await restoredEra()
  assert.equal(first.era, 2)
  const second = await restoredEra()
  assert.equal(second.era, 3, 'although nobody but the restore itself had seen the first')
  for (const [file, era] of [
    ['time-arrow', 10],
    ['time-arrow.background', 20],
    ['signer/time-arrow', 30],
  ] as const) {
    await (await openTimeMemory(join(dataDir, file))).remember({ ...second, era, tick: 900n })
    assert.equal((await restoredEra()).era, era + 1, file)
  }
})

test('a backup that is not whole is refused, and leaves an empty database', async () => {
  const story = await tellPayouts(CHAIN)
  const parent = await emptyFolder()
  await writeBackup(story.gateway.db, parent, join(parent, 'whole'))
  const whole = await readFile(join(parent, 'whole', 'database.jsonl.gz'))
  const damaged = Buffer.from(whole)
  damaged.fill(0, Math.floor(whole.length / 2), Math.floor(whole.length / 2) + 50)
  const db = await emptyDatabase()
  const files = { missing: null, cut: whole.subarray(0, -100), damaged, empty: Buffer.alloc(0) }
  for (const [name, bytes] of Object.entries(files)) {
    await mkdir(join(parent, name))
    if (bytes) await writeFile(join(parent, name, 'database.jsonl.gz'), bytes)
    await assert.rejects(
      readBackup({ db, secrets: TEST_SECRETS }, { dataDir: join(parent, 'data') }, join(parent, name)),
      { reason: 'not_a_backup' },
      name,
    )
  }
  await readBackup({ db, secrets: TEST_SECRETS }, { dataDir: join(parent, 'data') }, join(parent, 'whole'), {
    chains: [],
    addressesAhead: 0,
  })
})

for (const journal of ['that survived', 'of the backup'] as const)
  test(`a bump made after the backup pays once and its hold is not given back, with the journal ${journal}`, async () => {
    const story = await tellPayouts(CHAIN)
    const [dataDir, folder] = [await emptyFolder(), join(await emptyFolder(), 'today')]
    const first = await openGateway(story, dataDir)
    await story.earn('BTC', 65_000n)
    await story.earn('BTC', 65_000n)
    const withdrawal = await story.request('BTC', '0.004')
    await signAll(first)
    await story.turnPayer()
    const { txHash: opening } = await story.now(withdrawal)
    assert.ok(opening)
    await writeBackup(story.gateway.db, dataDir, folder)

    assert.ok(await wishBump(story.gateway.db, CHAIN, opening))
    await signAll(first)
    await story.turnPayer()
    const { txHash: bump } = await story.now(withdrawal)
    assert.notEqual(bump, opening)
    await story.mine(8)
    await first.journal.close()

    const newDir = journal === 'that survived' ? dataDir : await emptyFolder()
    const db = await emptyDatabase()
    await readBackup({ db, secrets: TEST_SECRETS }, { dataDir: newDir }, folder, {
      chains: [CHAIN] as ChainName[],
      addressesAhead: 5,
    })
    const restored = await live(db, story.port, newDir)
    const now = async () => findWithdrawal(db, withdrawal.accountId, withdrawal.id)
    // The worker may be there long before the signer.
    await restored.turnWithoutSigner()
    await restored.turnWithoutSigner()
    assert.equal((await now())?.status, 'broadcast')
    await restored.turn()
    assert.equal(await putBackBumps(restored.signer), 0, 'its first turn put back what there was')
    const found = await now()
    if (journal === 'that survived') {
      assert.deepEqual([found?.status, found?.txHash], ['completed', bump])
      assert.deepEqual(await restored.differences(), [])
    } else {
      assert.deepEqual([found?.status, found?.txHash], ['broadcast', opening])
      assert.deepEqual(
        (await restored.differences()).map(({ subject }) => subject),
        [`transaction ${bump}`, null],
      )
    }
    await restored.signer.journal.close()
  })

for (const journal of ['that survived', 'of the backup'] as const)
  test(`a payout made after the backup is never paid again, with the journal ${journal}`, async () => {
    const story = await tellPayouts(CHAIN)
    const [dataDir, folder] = [await emptyFolder(), join(await emptyFolder(), 'today')]
    const first = await openGateway(story, dataDir)
    await story.earn('BTC', 65_000n)
    await story.earn('BTC', 65_000n)
    const pending = await story.request('BTC', '0.004')
    await writeBackup(story.gateway.db, dataDir, folder)

    // Life goes on: the withdrawal is paid, and a buyer gets an address.
    await signAll(first)
    await story.turnPayer()
    await story.mine(3)
    const { txHash } = await story.now(pending)
    assert.ok(txHash)
    const later = await testPayment(story.gateway, story.account, { asset: 'BTC', fiatMinor: 10_000n })
    await first.journal.close()

    // All is lost, perhaps but the signer's disk.
    const newDir = journal === 'that survived' ? dataDir : await emptyFolder()
    const db = await emptyDatabase()
    const { frozen } = await readBackup({ db, secrets: TEST_SECRETS }, { dataDir: newDir }, folder, {
      chains: [CHAIN] as ChainName[],
      addressesAhead: 5,
    })
    assert.deepEqual(frozen, ['BTC'])
    const restored = await live(db, story.port, newDir)
    await restored.turn()
    await restored.turn()
    const found = await findWithdrawal(db, pending.accountId, pending.id)
    if (journal === 'that survived') {
      // What was sent is put back and followed, frozen or not.
      assert.deepEqual([found?.status, found?.txHash], ['completed', txHash])
      assert.deepEqual(await restored.differences(), [])
    } else {
      // Nothing is signed while it is frozen, and the books name what left as long as nobody knows where it went.
      assert.equal(found?.status, 'requested')
      const named = (await restored.differences()).map(({ subject }) => subject)
      assert.deepEqual(named, [`transaction ${txHash}`, null])
      // The operator names it: it paid what waits, and the books agree.
      const book = (loss: boolean) => bookSpend({ db, secrets: TEST_SECRETS }, story.port, txHash, { loss })
      await assert.rejects(book(false), { reason: 'spend_too_fresh' })
      await story.mine(3)
      await restored.turn()
      assert.deepEqual((await book(false)).paid, [pending.id])
      assert.deepEqual(await restored.differences(), [])
      await restored.turn()
      const completed = await findWithdrawal(db, pending.accountId, pending.id)
      assert.deepEqual([completed?.status, completed?.txHash], ['completed', txHash])
      assert.deepEqual(await restored.differences(), [])
      await assert.rejects(book(true), { reason: 'spend_known' })
    }
    const { rowCount: signed } = await db.query(`select from signed_transactions where txid <> $1`, [txHash])
    assert.equal(signed, 0, 'nothing else was signed')

    // A buyer who pays the address he got after the backup is seen, and nobody else gets that address.
    const { rows: fresh } = await db.query<{ address: string; withheld: boolean }>(
      `select address, withheld from addresses where chain = $1 and address = $2`,
      [CHAIN, later.address],
    )
    assert.deepEqual(fresh, [{ address: later.address, withheld: true }])
    const next = await testPayment(restored.gateway, story.account, { asset: 'BTC', fiatMinor: 10_000n })
    assert.notEqual(next.address, later.address)

    await restored.signer.journal.close()
  })
