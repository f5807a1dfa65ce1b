/** What people do about money that nobody moves alone: told to a server in this process, or to one that is killed. */
import type { Account } from '../src/accounts/account.ts'
import { type PolicyJson, readPolicy } from '../src/approvals/approval-policy.ts'
import { invariant } from '../src/core/errors.ts'
import { type ApprovalRequestId, showId, type UserId } from '../src/core/ids.ts'
import type { Tx } from '../src/db/database.ts'
import { giveApproval } from '../src/flows/approvals/give-approval.ts'
import { proposePolicy } from '../src/flows/approvals/propose-change.ts'
import type { Gateway } from '../src/flows/gateway.ts'
import { requestWithdrawal } from '../src/flows/withdrawals/request-withdrawal.ts'

/** As JSON carries it. */
export type Act = { readonly by: UserId } & (
  | { readonly kind: 'propose'; readonly policy: PolicyJson }
  | { readonly kind: 'ask'; readonly amount: string; readonly destination: string }
  | { readonly kind: 'approve'; readonly id: ApprovalRequestId; readonly response: string }
)

export async function doAct(gateway: Gateway, tx: Tx, account: Account, act: Act): Promise<void> {
  if (act.kind === 'propose') {
    const policy = readPolicy(act.policy)
    invariant(policy, 'it is a policy')
    await proposePolicy(tx, account, { userId: act.by }, policy)
  } else if (act.kind === 'ask') {
    const { amount, destination, by } = act
    await requestWithdrawal(gateway, tx, account, {
      asset: 'LTC',
      amount,
      destination,
      askedBy: showId('usr', by),
    })
  } else {
    const { id, response, by: userId } = act
    await giveApproval(gateway, tx, account, { id, userId, response })
  }
}
