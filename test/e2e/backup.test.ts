/** A gateway that is backed up, lives on, is lost, and comes back from its backup on an empty machine. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { ChainPort } from '../../src/chains/chain.ts'
import { readBackup, writeBackup } from '../../src/cli/backup.ts'
import type { ChainName } from '../../src/core/assets.ts'
import { openSecrets } from '../../src/core/secrets.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { type Lease, takeLease } from '../../src/deposits/chain-view.sql.ts'
import { observeChain } from '../../src/flows/observe-chain.ts'
import { reconcile } from '../../src/flows/reconcile.ts'
import { findWithdrawal } from '../../src/withdrawals/withdrawals.sql.ts'
import { settleNext } from '../../src/workers/settle.ts'
import { testDatabaseUrl } from '../database.ts'
import { gatewayOn, testPayment } from '../gateway.ts'
import { type PayoutStory, tellPayouts } from '../payout-story.ts'
import { payOnce, signAll, testSigner } from '../payouts.ts'
import { TEST_SECRETS } from '../wallet.ts'

const CHAIN = 'sim-bitcoin'

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'beck-backup-'))
  after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function emptyDatabase(): Promise<Database> {
  const db = openDatabase({ url: await testDatabaseUrl({ template: false }) })
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
  return {
    gateway,
    signer,
    async turn() {
      while ((await observeChain(gateway, port, lease)).behind);
      while (await settleNext(gateway));
      await signAll(signer)
      await payOnce(gateway, port)
    },
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
  await db.query('update addresses set withheld = false')
  assert.deepEqual(await contentOf(db), before)
  await assert.rejects(readBackup({ db, secrets: TEST_SECRETS }, { dataDir }, folder), {
    reason: 'database_not_empty',
  })
  const other = { db: await emptyDatabase(), secrets: openSecrets(Buffer.alloc(32, 9)) }
  await assert.rejects(readBackup(other, { dataDir }, folder), { reason: 'other_secret_key' })
  const { rows } = await other.db.query('select from accounts')
  assert.equal(rows.length, 0, 'nothing of it was kept')
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
    const frozen = await readBackup({ db, secrets: TEST_SECRETS }, { dataDir: newDir }, folder, {
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
      const [difference, ...others] = await restored.differences()
      assert.deepEqual([difference?.asset, others], ['BTC', []])
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
