/** Payouts that other people approve, on the signer's road: what is approved leaves once, and what is not waits or is given back. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { GRACE_MINUTES, policyJson } from '../../src/approvals/approval-policy.ts'
import { type Statement, statementText } from '../../src/approvals/statement.ts'
import { MINUTE_MS } from '../../src/core/time.ts'
import { COIN, ONE_COIN, openApprovalScene } from '../approval-scene.ts'
import { until } from '../wait-for.ts'

test('from the bound on a payout waits for another person, and leaves once he approves, his approval in the journal beside it', async () => {
  const scene = await openApprovalScene()
  assert.deepEqual(await scene.statusOf(await scene.enforce(ONE_COIN)), ['approved', null])
  const withdrawal = await scene.want('2')
  await scene.sign()
  assert.equal((await scene.now(withdrawal)).waitingFor, 'approval')
  const asking = await scene.ask({ act: 'withdrawal', withdrawal })
  await scene.approve(asking, scene.ann)
  await scene.sign()
  assert.equal(await scene.left(), withdrawal.netAtoms)
  assert.deepEqual(await scene.statusOf(asking), ['approved', null])
  assert.deepEqual(await scene.verdicts(), ['counts', 'counts'])
  const journal = await readFile(join(scene.signer.config.folder, 'journal'), 'utf8')
  assert.ok(journal.includes(JSON.stringify(statementText(scene.statementOf(asking)))))
  assert.deepEqual(await scene.alerts(), [])
})

test('a change that somebody declines while the last approval is looked at does not come into force', async () => {
  const scene = await openApprovalScene()
  const asking = await scene.ask({ act: 'policy', terms: { follows: 0, policy: policyJson(ONE_COIN) } })
  const statement = { ...scene.statementOf(asking), act: 'policy', policy: ONE_COIN } as Statement
  await scene.approve(asking, scene.ann, statement)
  const { signing } = await scene.gateway.db.transaction(async (tx) => {
    await tx.query(
      `update approval_requests set status = 'declined', declined_by = 'usr_bob', decided_at = now() where id = $1`,
      [asking.id],
    )
    const signing = scene.sign()
    await until('the signer waits for the request', async () => {
      const { rowCount } = await scene.sql(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rowCount > 0
    })
    return { signing }
  })
  await signing
  assert.equal(scene.signer.approvals.log.policyOf(scene.accountName), null)
})

test('what leaves freely within a day stays below the bound, to the atom', async () => {
  const scene = await openApprovalScene()
  await scene.enforce(ONE_COIN)
  const paid = [await scene.want('0.4'), await scene.want('0.5')]
  const waits = await scene.want('0.1')
  const fits = await scene.want('0.09999999')
  await scene.sign()
  assert.equal((await scene.now(waits)).waitingFor, 'approval')
  const net = [...paid, fits].reduce((sum, { netAtoms }) => sum + netAtoms, 0n)
  assert.equal(await scene.left(), net)
  const gross = [...paid, fits].reduce((sum, { amountAtoms }) => sum + amountAtoms, 0n)
  assert.equal(gross, COIN - 1n)
  const atom = await scene.want('0.05')
  await scene.sign()
  assert.equal((await scene.now(atom)).waitingFor, 'approval')
  assert.equal(await scene.left(), net)
})

test('two approvals are those of two people, and neither is who asked', async () => {
  const scene = await openApprovalScene()
  const two = { ...ONE_COIN, coins: { LTC: { fromAtoms: 0n, approvals: 2 as const } } }
  await scene.enforce(two, [scene.ann, scene.bob])
  const withdrawal = await scene.want('2')
  const asking = await scene.ask({ act: 'withdrawal', withdrawal }, { needed: 2 })
  await scene.approve(asking, scene.ann)
  await scene.approve(asking, scene.cid)
  await scene.sign()
  assert.equal(await scene.left(), 0n)
  assert.deepEqual((await scene.statusOf(asking))[0], 'open')
  await scene.approve(asking, scene.bob)
  await scene.sign()
  assert.equal(await scene.left(), withdrawal.netAtoms)
  assert.deepEqual((await scene.verdicts()).slice(2), ['counts', 'asked_by_himself', 'counts'])
})

test('what is declined, or not approved in time, gives its hold back', async () => {
  const scene = await openApprovalScene()
  await scene.enforce(ONE_COIN)
  const [declined, late] = [await scene.want('2'), await scene.want('3')]
  const first = await scene.ask({ act: 'withdrawal', withdrawal: declined })
  await scene.sql(
    `update approval_requests set status = 'declined', declined_by = 'usr_x', decided_at = now() where id = $1`,
    [first.id],
  )
  const second = await scene.ask({
    act: 'withdrawal',
    withdrawal: late,
    validUntil: new Date(Date.now() - GRACE_MINUTES * MINUTE_MS),
  })
  await scene.sign()
  assert.equal((await scene.now(declined)).refusedReason, 'declined')
  assert.equal((await scene.now(late)).refusedReason, 'not_approved')
  assert.deepEqual(await scene.statusOf(second), ['expired', null])
  await scene.turn()
  assert.equal(await scene.balance('held'), 0n)
})

test('a policy needs people enough, and takes as many approvals to change as the strictest thing it guards', async () => {
  const scene = await openApprovalScene()
  const two = { ...ONE_COIN, coins: { LTC: { fromAtoms: 0n, approvals: 2 as const } } }
  const tooFew = await scene.enforce({ ...two, bindsKeys: false }, [scene.ann])
  assert.deepEqual(await scene.statusOf(tooFew), ['open', null])
  await scene.sql(`update approval_requests set status = 'expired', decided_at = now() where status = 'open'`)
  assert.deepEqual(await scene.statusOf(await scene.enforce(two, [scene.ann, scene.bob])), ['approved', null])
  const looser = await scene.enforce({ ...ONE_COIN, coins: {} }, [scene.ann], 1)
  assert.deepEqual(await scene.statusOf(looser), ['open', null])
  assert.equal(scene.signer.approvals.log.policyOf(scene.accountName)?.number, 1)
})

test('where a policy asks for it, payouts go only to addresses that were allowed, after their delay', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const scene = await openApprovalScene()
  await scene.enforce({ ...ONE_COIN, allowlist: { isRequired: true, delayHours: 2 } })
  const refused = await scene.want('0.1')
  await scene.sign()
  assert.equal((await scene.now(refused)).refusedReason, 'not_on_allowlist')
  const terms = { network: 'litecoin', address: refused.destination, name: 'Cold' }
  const asking = await scene.ask({ act: 'allow', terms })
  await scene.approve(asking, scene.ann)
  await scene.sign()
  assert.deepEqual(await scene.verdicts(), ['counts', 'counts'])
  assert.deepEqual(await scene.statusOf(asking), ['approved', null])
  const waits = await scene.want('0.1')
  await scene.sign()
  assert.equal((await scene.now(waits)).waitingFor, 'allowlist')
  t.mock.timers.tick(2 * 3_600_000 + 1)
  await scene.sql('update fee_rates set seen_at = now()')
  await scene.sign()
  assert.equal(await scene.left(), waits.netAtoms)
})
