/**
 * `npm run test:versions`: an upgrade under load, and halfway back. Processes of the version before and of this one work on one
 * database, and the tables change in between: nobody notices.
 *
 * The version before is the newest release, or the commit that VERSION_BEFORE names. Until there is a release it is the
 * last commit. This version is the working copy with one migration more, so that there is always one.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openDatabase } from '../../src/db/database.ts'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { type BeckProcess, startBeckProcess } from '../beck-process.ts'
import { startBusyMerchant } from '../busy-merchant.ts'
import { testDatabaseUrl } from '../database.ts'
import { findBreaks } from '../migration-rules.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Payments that are made in each phase of the upgrade. */
const PAYMENTS_A_PHASE = 60

/** What a minor version may bring. */
const EXPANSION = `create table expansion (id uuid primary key);
alter table payments add column expansion text not null default '';
alter table events add column expansion text;
create index if not exists expansion on withdrawals (account_id, asset);
`
assert.deepEqual(findBreaks([{ name: '9999-expansion.sql', sql: EXPANSION }], null), [])

const folder = await mkdtemp(join(tmpdir(), 'beck-versions-'))
after(() => rm(folder, { recursive: true, force: true, maxRetries: 9 }))
const run = promisify(execFile)
const git = async (...args: string[]) => (await run('git', args, { cwd: ROOT })).stdout.trim()

const before = await versionBefore()
const [oldTree, newTree] = await Promise.all([
  treeOf('before', `git archive ${before}`),
  treeOf('now', 'git ls-files -z | tar --create --null --files-from -'),
])
await writeFile(join(newTree, 'src/db/migrations/9999-expansion.sql'), EXPANSION)

const settings = {
  DATABASE_URL: await testDatabaseUrl({ template: null }),
  BECK_SECRET_KEY: Buffer.alloc(32, 5).toString('hex'),
  BECK_SANDBOX_BLOCK_MS: '500',
  BECK_WEBHOOK_ALLOW_PRIVATE: '1',
  BECK_RATE_LIMIT: '10000',
  BECK_RATE_BURST: '10000',
}
const programOf = (tree: string) => join(tree, 'src/cli/beck.ts')

interface Running {
  readonly process: BeckProcess
  readonly url: string
}

async function startOf(tree: string, role: string, name: string): Promise<Running> {
  const port = String(await freePort())
  const process = startBeckProcess(
    ['start', '--role', role],
    { ...settings, PORT: port, BECK_METRICS_PORT: '0', BECK_DATA_DIR: join(folder, name) },
    programOf(tree),
  )
  if (role === 'api' || role === 'all') await process.hears((object) => 'url' in object)
  return { process, url: `http://127.0.0.1:${port}` }
}

test(`the version before (${before.slice(0, 12)}) and this one work on one database, and no request fails while its tables change`, async (t) => {
  const one = await startOf(oldTree, 'all', 'one')
  const two = await startOf(oldTree, 'api', 'two')
  const [{ key } = {}] = one.process.said.filter((object) => 'key' in object)
  const reached = new Set([one, two])
  const merchant = await startBusyMerchant({
    apiKey: String(key),
    urls: () => [...reached].map(({ url }) => url),
    pauseMs: 20,
  })
  await merchant.more(PAYMENTS_A_PHASE)

  const migrating = startBeckProcess(['migrate'], settings, programOf(newTree))
  const { applied } = await migrating.hears((object) => 'applied' in object)
  assert.equal(await migrating.ended, 0)
  assert.ok(Array.isArray(applied) && applied.at(-1) === '9999-expansion.sql', String(applied))
  await merchant.more(PAYMENTS_A_PHASE)

  const added = await Promise.all([
    startOf(newTree, 'api', 'three'),
    startOf(newTree, 'worker', 'four'),
    startOf(newTree, 'watcher', 'five'),
  ])
  reached.add(added[0])
  await merchant.more(PAYMENTS_A_PHASE)

  // Halfway back: the version before is started anew on the tables of this one.
  reached.delete(two)
  await two.process.stop()
  const again = await startOf(oldTree, 'api', 'two')
  reached.add(again)
  await merchant.more(PAYMENTS_A_PHASE)

  // And on: the signer moves with its folder.
  reached.delete(one)
  await one.process.stop()
  const whole = await startOf(newTree, 'all', 'one')
  reached.add(whole)
  reached.delete(again)
  await again.process.stop()
  await merchant.more(PAYMENTS_A_PHASE)
  await merchant.rest()
  const longestGapMs = merchant.longestGapMs()

  const db = openDatabase({ url: settings.DATABASE_URL, connectionsMax: 2 })
  const collected = await merchant.collect(db)
  await db.close()
  assert.deepEqual(merchant.failures, [])
  const proof = startBeckProcess(['reconcile'], settings, programOf(newTree))
  assert.equal(await proof.ended, 0, JSON.stringify(proof.said))
  t.diagnostic(JSON.stringify({ before, applied, ...collected, longest_gap_ms: longestGapMs }))
  await Promise.all([whole, ...added].map(({ process }) => process.stop()))
})

async function versionBefore(): Promise<string> {
  const named = process.env.VERSION_BEFORE
  const tag = await git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^').catch(() => 'HEAD')
  return git('rev-parse', `${named ?? tag}^{commit}`)
}

/** The files of a version, with its dependencies. @param archive - Writes them as a tar archive. */
async function treeOf(name: string, archive: string): Promise<string> {
  const tree = join(folder, name)
  await mkdir(tree)
  await run('bash', ['-c', `set -o pipefail; ${archive} | tar --extract --directory "$1"`, 'bash', tree], {
    cwd: ROOT,
  })
  const isSame = await run('cmp', [join(tree, 'package-lock.json'), join(ROOT, 'package-lock.json')]).then(
    () => true,
    () => false,
  )
  if (isSame) await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  else await run('npm', ['ci', '--omit=dev'], { cwd: tree })
  return tree
}
