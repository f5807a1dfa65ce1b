/**
 * `kill -9` of the signer, and of the server, at every step of an approval: what was approved is released once, what leaves freely stays
 * below the bound, a policy takes effect once; what somebody was doing is done, or is not and can be done again.
 * `BECK_TEST_KILLS=50 npm test -- test/e2e/killed-approvals.test.ts --test-timeout=3600000` kills each step that often.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { policyJson } from '../../src/approvals/approval-policy.ts'
import type { ApprovalRequest } from '../../src/approvals/approval-request.ts'
import { listRequests } from '../../src/approvals/approval-requests.sql.ts'
import { listApprovals } from '../../src/approvals/approvals.sql.ts'
import { challengeOf } from '../../src/approvals/statement.ts'
import { statementOf } from '../../src/flows/approvals/statement-of-request.ts'
import { paidBy, type SignedEntry } from '../../src/treasury/signed-entry.ts'
import { type Act, doAct } from '../approval-acts.ts'
import { COIN, ONE_COIN, openApprovalScene } from '../approval-scene.ts'
import { buildPrograms, type KillableProcess, startProgram } from '../killable-programs.ts'
import { DESTINATIONS } from '../payout-story.ts'
import { until } from '../wait-for.ts'
import { TEST_SECRETS } from '../wallet.ts'

const KILLS = Number(process.env.BECK_TEST_KILLS ?? 1)
const SIGNER_STEPS = [
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
after(() => rm(programs, { recursive: true, force: true, maxRetries: 9 }))

for (const step of SIGNER_STEPS)
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

/** Of the server, by what is done: each step before the commit, and right after it. */
const SERVER_STEPS = {
  propose: ['approval:proposed', 'committed'],
  ask: ['request:held', 'request:written', 'approval:asked', 'committed'],
  approve: ['approval:given', 'committed'],
} as const satisfies Record<Act['kind'], readonly string[]>

test('a server that is killed while people propose, ask and approve has done it or not, and money leaves once', async () => {
  for (let kill = 0; kill < KILLS; kill++) await tellServers()
})

async function tellServers(): Promise<void> {
  const scene = await openApprovalScene()
  const { gateway, account, ann, cid } = scene
  await scene.join()
  /** Kills a server in the middle of it; who was answered nothing looks, and does it again where nothing was done. */
  const insist = async (act: Act, step: string, isDone: () => Promise<boolean>) => {
    const server = startProgram(programs, 'approving', [gateway.db.url, account.id], step, {})
    server.child.send(act, () => {})
    assert.equal(await server.died, 'SIGKILL', `${act.kind} at ${step}: ${server.output()}`)
    assert.equal(await isDone(), step === 'committed', `${act.kind} at ${step}`)
    if (step !== 'committed') await gateway.db.transaction((tx) => doAct(gateway, tx, account, act))
    assert.ok(await isDone())
  }
  const open = async (): Promise<ApprovalRequest | undefined> => {
    const [request, ...more] = (await listRequests(gateway.db, account.id, 0)) ?? []
    assert.equal(more.length, 0, 'it is asked for once')
    return request
  }
  const isOpen = async () => (await open()) !== undefined
  /** @param step - Null for a server that lives. */
  const approve = async (step: string | null) => {
    const request = await open()
    assert.ok(request)
    const statement = await statementOf(gateway.db, gateway.secrets, request)
    const response = ann.passkey.answer(challengeOf(statement))
    const act: Act = { kind: 'approve', by: ann.userId, id: request.id, response }
    const isGiven = async () => (await listApprovals(gateway.db, account.id, [request.id])).length === 1
    if (step) await insist(act, step, isGiven)
    else await gateway.db.transaction((tx) => doAct(gateway, tx, account, act))
    await scene.turn()
    assert.deepEqual(await scene.statusOf(request), ['approved', null])
  }
  for (const [number, step] of SERVER_STEPS.propose.entries()) {
    const policy = policyJson({ ...ONE_COIN, bindsKeys: number === 0 })
    await insist({ kind: 'propose', by: cid.userId, policy }, step, isOpen)
    await approve(null)
    assert.equal(scene.signer.approvals.log.policyOf(scene.accountName)?.number, number + 1)
  }
  for (const [number, step] of SERVER_STEPS.ask.entries()) {
    const act: Act = { kind: 'ask', by: cid.userId, amount: '1', destination: DESTINATIONS['sim-litecoin'] }
    const before = await scene.left()
    await insist(act, step, isOpen)
    assert.equal(await scene.balance('held'), COIN)
    await scene.turn()
    assert.equal(await scene.left(), before)
    await approve(SERVER_STEPS.approve[number] ?? null)
    await scene.mineAndTurn(6)
    await scene.turn()
    assert.equal(await scene.balance('held'), 0n)
    const { rows } = await gateway.db.query<{ net_atoms: bigint }>(
      'select net_atoms from withdrawals order by id',
    )
    assert.equal(rows.length, number + 1)
    assert.equal(
      await scene.left(),
      rows.reduce((sum, { net_atoms }) => sum + net_atoms, 0n),
    )
  }
  assert.deepEqual(await scene.alerts(), [])
  await scene.proveBooks()
}
