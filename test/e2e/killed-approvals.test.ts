/**
 * `kill -9` of the signer at every step of an approval: what was approved is released once, what leaves freely stays below the bound,
 * a policy takes effect once. `BECK_TEST_KILLS=50` kills each step that often.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { paidBy, type SignedEntry } from '../../src/treasury/signed-entry.ts'
import { COIN, ONE_COIN, openApprovalScene } from '../approval-scene.ts'
import { buildPrograms, type KillableProcess, startProgram } from '../killable-programs.ts'
import { until } from '../wait-for.ts'
import { TEST_SECRETS } from '../wallet.ts'

const KILLS = Number(process.env.BECK_TEST_KILLS ?? 1)
const STEPS = [
  'signer:approval-kept',
  'signer:approval-kept#2',
  'signer:approval-told',
  'signer:approval-told#2',
  'signer:policy-kept',
  'signer:approval-refused',
  'signer:left-counted',
  'signer:journaled',
  'signer:placed',
]

const programs = await buildPrograms()
after(() => rm(programs, { recursive: true, force: true }))

for (const step of STEPS)
  test(`killed at ${step}, what was approved leaves once, and what was not stays`, async () => {
    for (let kill = 0; kill < KILLS; kill++) await tell(step)
  })

async function tell(step: string): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'beck-killed-approvals-'))
  const folder = join(dataDir, 'signer')
  const scene = await openApprovalScene({ folder })
  await scene.sql('insert into sandbox_seed (sealed) values ($1)', [
    TEST_SECRETS.seal('sandbox-seed', 'sandbox', Buffer.alloc(32)),
  ])
  const start = (at: string): KillableProcess =>
    startProgram(programs, 'signer', ['run'], at, {
      DATABASE_URL: scene.signerUrl,
      BECK_DATA_DIR: dataDir,
      BECK_SECRET_KEY: Buffer.alloc(32, 7).toString('hex'),
      BECK_LOG_LEVEL: 'fatal',
    })
  let signer = start(step)
  const ends: string[] = []
  const reach = (what: string, isThere: () => Promise<boolean>) =>
    until(what, async () => {
      if (!signer.isAlive()) {
        ends.push(await signer.died)
        signer = start('')
      }
      // Change comes back, for what could not be paid beside the first.
      await scene.mineAndTurn(1)
      return isThere()
    })
  try {
    const policy = await scene.enforce(ONE_COIN)
    await reach('the policy is in force', async () => (await scene.statusOf(policy))[0] === 'approved')
    const [large, forged] = [await scene.want('2'), await scene.want('3')]
    const small = [await scene.want('0.4'), await scene.want('0.5')]
    const asking = await scene.ask({ act: 'withdrawal', withdrawal: large })
    const lied = await scene.ask({ act: 'withdrawal', withdrawal: forged })
    await scene.approve(asking, scene.ann)
    await scene.approve(lied, scene.bob, scene.statementOf(asking))
    const paid = [large, ...small]
    await reach('what may leave has left', async () => {
      const { rowCount } = await scene.gateway.db.query('select from signed_payouts')
      return rowCount === paid.length && (await scene.verdicts()).every((verdict) => verdict !== null)
    })
    const last = await scene.want('0.2')
    await reach('the others wait', async () =>
      [await scene.now(forged), await scene.now(last)].every(({ waitingFor }) => waitingFor === 'approval'),
    )
    await reach('it was killed', async () => ends.length > 0)
    assert.deepEqual(ends, ['SIGKILL'])
    assert.equal(
      await scene.left(),
      paid.reduce((sum, { netAtoms }) => sum + netAtoms, 0n),
    )
    assert.ok(small.reduce((sum, { amountAtoms }) => sum + amountAtoms, 0n) < COIN)
    assert.deepEqual((await scene.verdicts()).toSorted(), ['counts', 'counts', 'other_challenge'])
    assert.deepEqual(
      (await scene.alerts()).map((alert) => alert.split(' ')[0]),
      ['approval_refused'],
    )
    const log = await readFile(join(folder, 'approvals-simulated'), 'utf8')
    assert.equal(log.split('"fact":"policy"').length - 1, 1)
    const named = (await signedIn(join(folder, 'journal-simulated'))).flatMap(paidBy)
    assert.equal(named.length, new Set(named).size)
  } finally {
    await signer.end()
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function signedIn(path: string): Promise<SignedEntry[]> {
  const rows = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '')
  return rows
    .map((line) => JSON.parse(line.slice(0, line.lastIndexOf(' '))))
    .filter(({ fact }) => fact === 'signed')
    .map(({ entry }) => entry)
}
