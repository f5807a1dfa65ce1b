/** What the server asks people to sign is what the signer makes of it by itself: for each act, from the flow's own rows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findRequest } from '../../src/approvals/approval-requests.sql.ts'
import type { ApprovalRequestId } from '../../src/core/ids.ts'
import { askForApproval } from '../../src/flows/approvals/ask-for-approval.ts'
import { proposeAddress, proposePolicy } from '../../src/flows/approvals/propose-change.ts'
import { statementOf } from '../../src/flows/approvals/statement-of-request.ts'
import { type Approving, ONE_COIN, openApprovalScene } from '../approval-scene.ts'

test('a policy, an address and a payout that the server asks for are released by approvals of its own statements', async () => {
  const scene = await openApprovalScene()
  const { gateway, account, ann, cid, sql } = scene
  await scene.join()
  const approve = async (id: ApprovalRequestId, who: Approving) => {
    const request = await findRequest(gateway.db, account.id, id)
    assert.ok(request)
    const statement = await statementOf(gateway.db, gateway.secrets, request)
    const { askedBy, validUntil } = request
    await scene.approve({ id, act: statement.act, askedBy, validUntil }, who, statement)
    await scene.sign()
    return (await scene.statusOf({ id })).join()
  }
  const policy = { ...ONE_COIN, allowlist: { isRequired: true, delayHours: 0 } }
  const asked = await gateway.db.transaction((tx) => proposePolicy(tx, account, cid, policy))
  assert.equal(await approve(asked, ann), 'approved,')
  const address = await gateway.db.transaction((tx) =>
    proposeAddress(gateway, tx, account, cid, {
      act: 'allow',
      network: 'litecoin',
      address: 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0',
      name: 'Cold, "second" floor',
    }),
  )
  assert.equal(await approve(address, ann), 'approved,')
  const withdrawal = await scene.want('2')
  await gateway.db.transaction((tx) => askForApproval(tx, withdrawal))
  const { rows } = (await sql('select id from approval_requests where withdrawal_id = $1', [
    withdrawal.id,
  ])) as {
    rows: { id: ApprovalRequestId }[]
  }
  const [opened] = rows
  assert.ok(opened, 'the flow opened a request with the hold')
  assert.equal(await approve(opened.id, ann), 'approved,')
  assert.equal(await scene.left(), withdrawal.netAtoms)
  assert.deepEqual(await scene.verdicts(), ['counts', 'counts', 'counts'])
})
