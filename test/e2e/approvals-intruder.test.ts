/**
 * The intruder's drill for approvals: he has the server, its database, every row of it, its secret key, and all approvals that
 * were ever given. The signer has its folder. What leaves is what the bound lets through, to the atom, and each try is an alert.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bech32 } from '@scure/base'
import { policyJson } from '../../src/approvals/approval-policy.ts'
import { askedByKey } from '../../src/approvals/asker.ts'
import { newId, showId } from '../../src/core/ids.ts'
import { COIN, ONE_COIN, openApprovalScene } from '../approval-scene.ts'

const HIS = bech32.encode('tltc', [0, ...bech32.toWords(Buffer.alloc(20, 0x66))])

test('no approval that was not given for exactly this counts, whatever its row says', async () => {
  const scene = await openApprovalScene()
  const { ann, cid } = scene
  await scene.enforce(ONE_COIN)
  const withdrawal = await scene.want('2')
  const stranger = scene.person()
  const real = await scene.ask({ act: 'withdrawal', withdrawal })
  const statement = scene.statementOf(real)
  if (statement.act !== 'withdrawal') assert.fail()
  const { terms } = statement
  const tries: Record<string, [string, () => Promise<unknown>]> = {
    'a signature of nothing': [
      'bad_signature',
      async () => {
        const answer = ann.passkey.assert(Buffer.alloc(32))
        await scene.writeApproval(real, ann.userId, ann.passkey.credentialId, {
          ...answer,
          signature: Buffer.alloc(70),
        })
      },
    ],
    'another amount': [
      'other_challenge',
      () =>
        scene.approve(real, ann, { ...statement, terms: { ...terms, amountAtoms: terms.amountAtoms + 1n } }),
    ],
    'another net': [
      'other_challenge',
      () => scene.approve(real, ann, { ...statement, terms: { ...terms, netAtoms: terms.netAtoms - 1n } }),
    ],
    'another destination': [
      'other_challenge',
      () => scene.approve(real, ann, { ...statement, terms: { ...terms, destination: HIS } }),
    ],
    'another coin': [
      'other_challenge',
      () => scene.approve(real, ann, { ...statement, terms: { ...terms, asset: 'BTC' } }),
    ],
    'another network': [
      'other_challenge',
      () => scene.approve(real, ann, { ...statement, network: 'litecoin mainnet' }),
    ],
    'another withdrawal': [
      'other_challenge',
      () => scene.approve(real, ann, { ...statement, terms: { ...terms, withdrawal: 'wd_other' } }),
    ],
    'another request': [
      'other_challenge',
      () => scene.approve(real, ann, { ...statement, request: 'apr_other' }),
    ],
    'another account': [
      'other_challenge',
      () => scene.approve(real, ann, { ...statement, account: 'acct_x' }),
    ],
    'another time': [
      'other_challenge',
      () => scene.approve(real, ann, { ...statement, validUntil: scene.inHours(71) }),
    ],
    'a passkey that nobody pinned': ['not_an_approver', () => scene.approve(real, stranger)],
    'a passkey that is called an approver’s': [
      'not_an_approver',
      () => scene.approve(real, stranger, statement, { as: ann.userId }),
    ],
    'an approver under another name': [
      'another_person',
      () => scene.approve(real, ann, statement, { as: stranger.userId }),
    ],
    'who asked': ['asked_by_himself', () => scene.approve(real, cid)],
    'other pages': [
      'other_origin',
      () => scene.approve(real, ann, statement, { wrong: { origin: 'https://his.example' } }),
    ],
    'another relying party': [
      'other_relying_party',
      () => scene.approve(real, ann, statement, { wrong: { rpId: 'his.example' } }),
    ],
    'nobody whom the device verified': [
      'not_verified',
      () => scene.approve(real, ann, statement, { wrong: { flags: 0x01 } }),
    ],
    'a sign-in instead': [
      'not_an_assertion',
      () => scene.approve(real, ann, statement, { wrong: { type: 'webauthn.create' } }),
    ],
    'a counter that went back': [
      'counter_went_back',
      () => scene.approve(real, ann, statement, { wrong: { counter: 1 } }),
    ],
  }
  const expected = new Set<string>()
  for (const [what, [reason, attempt]] of Object.entries(tries)) {
    await scene.sql('delete from approvals where request_id = $1', [real.id])
    await scene.sql('delete from alerts')
    await attempt()
    await scene.sign()
    assert.deepEqual((await scene.verdicts()).slice(1), [reason], what)
    const alerts = await scene.alerts()
    assert.equal(alerts.length, 1, what)
    assert.match(alerts[0] ?? '', /^approval_refused apr_\w+\/usr_\w+$/, what)
    expected.add(reason)
  }
  assert.equal(expected.size, 10)
  assert.equal((await scene.now(withdrawal)).waitingFor, 'approval')
  assert.equal(await scene.left(), 0n)
  // He who holds all that releases it.
  await scene.sql('delete from approvals where request_id = $1', [real.id])
  await scene.approve(real, ann)
  await scene.sign()
  assert.equal(await scene.left(), withdrawal.netAtoms)
})

test('who made the key that asked approves nothing of it, nor where a request leaves her out; somebody else does', async () => {
  const scene = await openApprovalScene()
  const { ann, bob } = scene
  await scene.enforce(ONE_COIN)
  const key = newId('key')
  const withdrawal = await scene.want('2', askedByKey(key, ann.userId))
  const asking = await scene.ask({ act: 'withdrawal', withdrawal })
  await scene.approve(asking, ann)
  await scene.sign()
  const refused = `approval_refused ${showId('apr', asking.id)}/${ann.user}`
  assert.deepEqual(
    [await scene.verdicts(), await scene.alerts()],
    [['counts', 'asked_by_his_key'], [refused]],
  )
  assert.equal((await scene.now(withdrawal)).waitingFor, 'approval')
  // The request says what it likes; the withdrawal says who made the key.
  const bare = { ...asking, askedBy: askedByKey(key, null) }
  await scene.sql('update approval_requests set asked_by = $2 where id = $1', [asking.id, bare.askedBy])
  await scene.sql('delete from approvals where request_id = $1', [asking.id])
  await scene.approve(bare, ann)
  await scene.sign()
  assert.equal((await scene.verdicts()).at(-1), 'not_authentic')
  assert.equal(await scene.left(), 0n)
  await scene.sql('update approval_requests set asked_by = $2 where id = $1', [asking.id, asking.askedBy])
  await scene.approve(asking, bob)
  await scene.sign()
  assert.equal(await scene.left(), withdrawal.netAtoms)
})

test('requests that are valid too long, or no longer, are approved by nobody', async () => {
  const scene = await openApprovalScene()
  await scene.enforce(ONE_COIN)
  const withdrawal = await scene.want('2')
  for (const [hours, reason] of [
    [73, 'valid_for_too_long'],
    [24 * 365, 'valid_for_too_long'],
  ] as const) {
    const asking = await scene.ask({ act: 'withdrawal', withdrawal, validUntil: scene.inHours(hours) })
    await scene.approve(asking, scene.ann)
    await scene.sign()
    assert.equal((await scene.verdicts()).at(-1), reason)
    await scene.sql('delete from approvals where request_id = $1', [asking.id])
    await scene.sql('delete from approval_requests where id = $1', [asking.id])
  }
  const endless = await scene.ask({ act: 'withdrawal', withdrawal })
  await scene.approve(endless, scene.ann)
  await scene.sql(`update approval_requests set valid_until = 'infinity' where id = $1`, [endless.id])
  await scene.sign()
  assert.equal((await scene.verdicts()).at(-1), 'valid_for_too_long')
  assert.equal((await scene.now(withdrawal)).waitingFor, 'approval')
  await scene.sql('delete from approvals where request_id = $1', [endless.id])
  await scene.sql('delete from approval_requests where id = $1', [endless.id])
  const late = await scene.ask({ act: 'withdrawal', withdrawal, validUntil: scene.inHours(-1) })
  await scene.sql('delete from alerts')
  await scene.approve(late, scene.ann)
  await scene.sign()
  assert.equal((await scene.verdicts()).at(-1), 'expired')
  assert.match((await scene.alerts()).join(), /^approval_refused apr_\w+\/usr_\w+$/)
  assert.equal((await scene.now(withdrawal)).refusedReason, 'not_approved')
  assert.equal(await scene.left(), 0n)
})

test('an approval releases one withdrawal once: not its copy, not its row with other terms and a MAC that is right', async () => {
  const scene = await openApprovalScene()
  await scene.enforce(ONE_COIN)
  const paid = await scene.want('2')
  const asking = await scene.ask({ act: 'withdrawal', withdrawal: paid })
  const answer = await scene.approve(asking, scene.ann)
  await scene.turn()
  assert.equal(await scene.left(), paid.netAtoms)
  await scene.mineAndTurn(6)
  // The same answer for another withdrawal to him, under a request that looks the same.
  const other = await scene.want('2', scene.cid.user, HIS)
  const copied = await scene.ask({ act: 'withdrawal', withdrawal: other, validUntil: asking.validUntil })
  await scene.writeApproval(copied, scene.ann.userId, scene.ann.passkey.credentialId, answer)
  await scene.sign()
  assert.equal((await scene.verdicts()).at(-1), 'other_challenge')
  // Approved, and not paid yet: changed in each of its terms it is another one.
  const approved = await scene.want('3')
  await scene.sql(`insert into freezes (chain, asset, reason) values ('sim-litecoin', 'LTC', 'a wait')`)
  const second = await scene.ask({ act: 'withdrawal', withdrawal: approved })
  await scene.approve(second, scene.ann)
  await scene.sign()
  for (const changed of [
    { destination: HIS },
    { netAtoms: approved.netAtoms + 1n, feeAtoms: approved.feeAtoms - 1n },
    { amountAtoms: approved.amountAtoms + COIN, netAtoms: approved.netAtoms + COIN },
    { askedBy: scene.ann.user },
  ]) {
    await scene.rewrite(approved, changed)
    await scene.sql('delete from freezes')
    await scene.sign()
    assert.equal((await scene.now(approved)).waitingFor, 'approval', JSON.stringify(Object.keys(changed)))
    await scene.sql(`insert into freezes (chain, asset, reason) values ('sim-litecoin', 'LTC', 'a wait')`)
  }
  await scene.rewrite(approved, {})
  await scene.sql('delete from freezes')
  await scene.sign()
  assert.equal(await scene.left(), paid.netAtoms + approved.netAtoms)
})

test('a policy loosened and an approver added in the database change nothing, are written over, and told', async () => {
  const scene = await openApprovalScene()
  await scene.enforce(ONE_COIN)
  const withdrawal = await scene.want('2')
  const his = scene.person()
  const loose = JSON.stringify(policyJson({ ...ONE_COIN, coins: {} }))
  await scene.sql(`update approval_policies set policy = $1`, [loose])
  await scene.sql(
    `insert into pinned_approvers (account_id, credential_id, user_id, name, fingerprint, pinned_at, counts_from)
     values ($1, $2, $3, 'Ann', 'same', now() - interval '1 year', now() - interval '1 year')`,
    [scene.account.id, his.passkey.credentialId, his.userId],
  )
  await scene.sql(
    `insert into allowed_addresses (account_id, network, address, name, added_at, usable_from)
     values ($1, 'litecoin', $2, 'Cold', now(), now())`,
    [scene.account.id, HIS],
  )
  const asking = await scene.ask({ act: 'withdrawal', withdrawal })
  await scene.approve(asking, his)
  await scene.forgetPublishing()
  await scene.sign()
  assert.equal((await scene.verdicts()).at(-1), 'not_an_approver')
  assert.equal((await scene.now(withdrawal)).waitingFor, 'approval')
  assert.equal(await scene.left(), 0n)
  const kinds = (await scene.alerts()).map((alert) => alert.split(' ').slice(0, 2).join(' '))
  assert.deepEqual(kinds.toSorted(), [
    `approval_refused ${showId('apr', asking.id)}/${his.user}`,
    'approval_rows_changed address',
    'approval_rows_changed approver',
    'approval_rows_changed policy',
  ])
  const { rows } = await scene.gateway.db.query(
    `select (select policy->'coins'->'LTC'->>'from_atoms' from approval_policies) as bound,
       (select count(*) from pinned_approvers where removed_at is null) as approvers, (select count(*) from allowed_addresses) as allowed`,
  )
  assert.deepEqual(rows, [{ bound: String(COIN), approvers: 3n, allowed: 0n }])
  const told = async () => {
    const { rows } = await scene.gateway.db.query<{ message: string }>(
      `select message from alerts where kind = 'approval_rows_changed'`,
    )
    return rows.map(({ message }) => message.split('. ')[1])
  }
  assert.deepEqual(new Set(await told()), new Set(['Somebody writes into the database']))
  // A backup that was put back says what was true once: its alert blames nobody.
  await scene.sql('delete from alerts')
  await scene.unpin(scene.cid)
  await scene.sign()
  await scene.sql('update pinned_approvers set removed_at = null where user_id = $1', [scene.cid.userId])
  await scene.forgetPublishing(2)
  assert.deepEqual(await told(), [
    'Where it was restored from a backup, that is why; else somebody writes into it',
  ])
})

test('where the database shows a later policy than the folder has, nothing leaves, and nothing of it is written over', async () => {
  const scene = await openApprovalScene()
  await scene.enforce(ONE_COIN)
  const small = await scene.want('0.1')
  await scene.sql('update approval_policies set number = 2')
  await scene.forgetPublishing()
  await scene.sign()
  assert.equal((await scene.now(small)).waitingFor, 'approval')
  assert.equal(await scene.left(), 0n)
  assert.deepEqual(await scene.alerts(), [`approval_policy_unknown ${scene.accountName}`])
  const number = async () =>
    (await scene.gateway.db.query<{ number: number }>('select number from approval_policies')).rows
  assert.deepEqual(await number(), [{ number: 2 }])
  // Its people approve one anew: it follows what the database remembers.
  await scene.enforce(ONE_COIN, [scene.ann], 2)
  await scene.sign()
  assert.deepEqual(await number(), [{ number: 3 }])
  assert.equal(await scene.left(), small.netAtoms)
})

test('a second signer with a folder of its own pays nothing for an account with a policy, and says nothing of it', async () => {
  const scene = await openApprovalScene()
  await scene.enforce(ONE_COIN)
  const withdrawal = await scene.want('0.1')
  const asking = await scene.ask({ act: 'withdrawal', withdrawal: await scene.want('2') })
  await scene.approve(asking, scene.ann)
  const before = await scene.verdicts()
  await scene.signElsewhere()
  assert.equal((await scene.now(withdrawal)).waitingFor, 'approval')
  assert.equal(await scene.left(), 0n)
  assert.deepEqual(await scene.verdicts(), before)
  const { rows } = await scene.gateway.db.query(
    `select (select count(*) from approval_policies) as policies,
       (select count(*) from pinned_approvers where removed_at is null) as approvers`,
  )
  assert.deepEqual(rows, [{ policies: 1n, approvers: 3n }])
})

test('a payout that failed is not released by what was approved of it, whatever its row says later', async () => {
  const scene = await openApprovalScene()
  await scene.enforce(ONE_COIN)
  const withdrawal = await scene.want('2')
  await scene.sql(`insert into freezes (chain, asset, reason) values ('sim-litecoin', 'LTC', 'a wait')`)
  const asking = await scene.ask({ act: 'withdrawal', withdrawal })
  await scene.approve(asking, scene.ann)
  await scene.sign()
  await scene.sql('update withdrawals set cancel_wanted = true where id = $1', [withdrawal.id])
  await scene.sql('delete from freezes')
  await scene.sign()
  assert.equal((await scene.now(withdrawal)).refusedReason, 'cancelled')
  await scene.sql('update withdrawals set cancel_wanted = false, refused_reason = null where id = $1', [
    withdrawal.id,
  ])
  await scene.sign()
  assert.equal((await scene.now(withdrawal)).waitingFor, 'approval')
  assert.equal(await scene.left(), 0n)
})

test('a policy is not taken back by an old approval, nor by one that was made for another number', async () => {
  const scene = await openApprovalScene()
  const first = await scene.enforce({ ...ONE_COIN, coins: {} }, [scene.ann])
  await scene.enforce(ONE_COIN, [scene.bob], 1)
  assert.equal(scene.signer.approvals.log.policyOf(scene.accountName)?.number, 2)
  // All that the first one left behind, as if it had never been looked at.
  await scene.sql(`update approval_requests set status = 'open', decided_at = null where id = $1`, [first.id])
  await scene.sql('update approvals set verdict = null where request_id = $1', [first.id])
  await scene.sign()
  assert.equal(scene.signer.approvals.log.policyOf(scene.accountName)?.number, 2)
  // Under a new request, with the old answer.
  const { rows } = await scene.gateway.db.query<{ a: Buffer; c: Buffer; s: Buffer }>(
    'select authenticator_data as a, client_data as c, signature as s from approvals where request_id = $1',
    [first.id],
  )
  const [old] = rows
  assert.ok(old)
  const again = await scene.ask({
    act: 'policy',
    terms: { follows: 1, policy: policyJson({ ...ONE_COIN, coins: {} }) },
    validUntil: first.validUntil,
  })
  const answer = { authenticatorData: old.a, clientData: old.c, signature: old.s }
  await scene.writeApproval(again, scene.ann.userId, scene.ann.passkey.credentialId, answer)
  await scene.sign()
  assert.equal((await scene.verdicts()).at(-1), 'other_challenge')
  assert.equal(scene.signer.approvals.log.policyOf(scene.accountName)?.number, 2)
})

test('whatever is tried below the bound, what leaves within a day stays below it', async () => {
  const scene = await openApprovalScene()
  await scene.enforce(ONE_COIN)
  // He forgets what was signed, takes back what was counted, gives himself new requests, and says that a key asked.
  for (let round = 0; round < 3; round++) {
    for (const amount of ['0.6', '0.3', '0.09', '0.009'])
      await scene.want(amount, round === 1 ? 'key_01' : 'unknown', HIS)
    await scene.sign()
    await scene.sql(`delete from alerts`)
    await scene.sql(
      `update approval_requests set status = 'approved', decided_at = now() where status = 'open'`,
    )
  }
  const { rows } = await scene.gateway.db.query<{ gross: bigint }>(
    `select sum(amount_atoms) as gross from withdrawals w where exists (select from signed_payouts s where s.withdrawal_id = w.id)`,
  )
  assert.equal(rows[0]?.gross, (999n * COIN) / 1_000n)
  assert.equal(await scene.paidTo(HIS), await scene.left())
})

test('an approver who is removed counts at once no more, also for what he approved and nobody paid', async () => {
  const scene = await openApprovalScene()
  await scene.enforce(ONE_COIN)
  const withdrawal = await scene.want('2')
  await scene.sql(`insert into freezes (chain, asset, reason) values ('sim-litecoin', 'LTC', 'a wait')`)
  const asking = await scene.ask({ act: 'withdrawal', withdrawal })
  await scene.approve(asking, scene.ann)
  await scene.sign()
  await scene.unpin(scene.ann)
  await scene.sql('delete from freezes')
  await scene.sign()
  assert.equal((await scene.now(withdrawal)).waitingFor, 'approval')
  // Pinned again, under a policy, he counts after a week.
  await scene.pin(scene.ann)
  await scene.sign()
  assert.equal(await scene.left(), 0n)
  await scene.approve(asking, scene.bob)
  await scene.sign()
  assert.equal(await scene.left(), withdrawal.netAtoms)
})
