/** Approvals as they come in: late by a moment, before their chain is known, too large to be any; and what the journal keeps of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MINUTE_MS } from '../../src/core/time.ts'
import { listUnjudged } from '../../src/signer/approvals/seen-approvals.sql.ts'
import { tendApprovals } from '../../src/signer/approvals/take-approvals.ts'
import { ONE_COIN, openApprovalScene } from '../approval-scene.ts'
import { DESTINATIONS } from '../payout-story.ts'

const CHAIN = 'sim-litecoin'
const COLD = { network: 'litecoin', address: DESTINATIONS[CHAIN], name: 'Cold' } as const
const openGuarded = async () => {
  const scene = await openApprovalScene()
  await scene.enforce(ONE_COIN)
  return { ...scene, blind: { ...scene.signer, vault: new Map() } }
}

test('an approval of the last moment counts although it is seen after it; one that is seen later is late, and told of', async () => {
  const scene = await openGuarded()
  const ago = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS)
  const withdrawal = await scene.want('2')
  await scene.approve(await scene.ask({ act: 'withdrawal', withdrawal, validUntil: ago(4) }), scene.ann)
  await scene.approve(await scene.ask({ act: 'allow', terms: COLD, validUntil: ago(4) }), scene.ann)
  await scene.approve(await scene.ask({ act: 'allow', terms: COLD, validUntil: ago(6) }), scene.ann)
  await scene.sign()
  assert.deepEqual(await scene.verdicts(), ['counts', 'counts', 'counts', 'expired'])
  assert.equal(await scene.left(), withdrawal.netAtoms)
  assert.match((await scene.alerts()).join(), /^approval_refused apr_\w+\/usr_\w+$/)
})

test('while an approval waits for its chain, those that its passkey counted after it wait too, and none has counted backwards', async () => {
  const scene = await openGuarded()
  const withdrawal = await scene.want('2')
  await scene.approve(await scene.ask({ act: 'withdrawal', withdrawal }), scene.ann)
  await scene.approve(await scene.ask({ act: 'allow', terms: COLD }), scene.ann)
  await scene.approve(await scene.ask({ act: 'allow', terms: COLD }), scene.bob)
  assert.equal(await tendApprovals(scene.blind, Date.now()), false)
  assert.deepEqual(await scene.verdicts(), ['counts', null, null, 'counts'])
  await scene.sign()
  assert.deepEqual(await scene.verdicts(), ['counts', 'counts', 'counts', 'counts'])
  assert.equal(await scene.left(), withdrawal.netAtoms)
})

test('however many wait for their chain, what comes after them is looked at, and nobody turns without a rest', async () => {
  const scene = await openGuarded()
  const asking = await scene.ask({ act: 'withdrawal', withdrawal: await scene.want('2') })
  await scene.sql(
    `insert into approvals (account_id, request_id, user_id, credential_id, authenticator_data, client_data, signature, created_at)
     select $1, $2, gen_random_uuid(), sha256(n::text::bytea), 'x', 'x', 'x', now() - interval '1 hour' from generate_series(1, 401) n`,
    [scene.account.id, asking.id],
  )
  await scene.approve(await scene.ask({ act: 'allow', terms: COLD }), scene.ann)
  assert.equal(await tendApprovals(scene.blind, Date.now()), false)
  assert.equal((await scene.verdicts()).at(-1), 'counts')
  // They wait for a chain, and for no longer than their request.
  await scene.sql(`update approval_requests set valid_until = now() - interval '6 minutes' where id = $1`, [
    asking.id,
  ])
  while (await tendApprovals(scene.blind, Date.now()));
  assert.ok(!(await scene.verdicts()).includes(null))
})

test('what is larger than any answer is not read, and counts for nothing', async () => {
  const scene = await openGuarded()
  const withdrawal = await scene.want('2')
  await scene.approve(await scene.ask({ act: 'withdrawal', withdrawal }), scene.ann)
  const [answer] = await listUnjudged(scene.signer.db, 'test', 1, null)
  assert.ok(answer?.isReadable)
  for (const column of ['client_data', 'signature', 'authenticator_data', 'credential_id']) {
    await scene.sql('update approvals set verdict = null where request_id = $1', [answer.request.id])
    await scene.sql(
      `update approvals set ${column} = decode(repeat('00', 4097), 'hex') where request_id = $1`,
      [answer.request.id],
    )
    const [row] = await listUnjudged(scene.signer.db, 'test', 1, null)
    assert.deepEqual([row?.isReadable, row?.clientData.length, row?.signature.length], [false, 0, 0])
    await scene.sign()
    assert.equal((await scene.verdicts()).at(-1), 'malformed')
  }
  assert.match((await scene.alerts()).join(), /^approval_refused apr_\w+\/usr_\w+$/)
  assert.equal(await scene.left(), 0n)
})

test('a child that pays a higher fee pays nobody: approvals stand beside the payout alone', async () => {
  const scene = await openGuarded()
  const withdrawal = await scene.want('2')
  await scene.approve(await scene.ask({ act: 'withdrawal', withdrawal }), scene.ann)
  await scene.turn()
  await scene.sql('update signed_transactions set bump_wanted = true')
  await scene.sign()
  const { rows } = await scene.signer.db.query<{ txid: string }>(
    'select txid from signed_transactions order by created_at',
  )
  const entries = await Promise.all(rows.map(({ txid }) => scene.signer.journal.entryOf(CHAIN, txid)))
  assert.deepEqual(
    entries.map((entry) => [entry?.kind, entry?.approvals?.length]),
    [
      ['payout', 1],
      ['child', undefined],
    ],
  )
})
