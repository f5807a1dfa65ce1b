import type { Account } from '../../accounts/account.ts'
import type { ApprovalRequest, Asked } from '../../approvals/approval-request.ts'
import { lockRequest, declineRequest as markDeclined } from '../../approvals/approval-requests.sql.ts'
import { conflict, notFound, type Refusal } from '../../core/errors.ts'
import type { AccountId, ApprovalRequestId, UserId, WithdrawalId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { listBatch } from '../../withdrawals/payout-batches.sql.ts'
import { isSigned, lockByIds, wantCancelled } from '../../withdrawals/withdrawals.sql.ts'

/**
 * Says no, for good: nothing is signed for it from this moment on, and its hold is given back once the signer has seen it.
 * Locks the request, then its withdrawals in the order of their ids, as the signer does before he writes down what pays them.
 *
 * @throws {Refusal} `not_found`; `conflict`, reason `request_over` or `already_signed`.
 */
export async function declineRequest(
  tx: Tx,
  account: Pick<Account, 'id'>,
  id: ApprovalRequestId,
  by: UserId,
): Promise<ApprovalRequest> {
  const request = await lockRequest(tx, account.id, id)
  if (!request) throw requestNotFound()
  if (request.status !== 'open') throw conflict('request_over', 'the request is not open any more')
  const wanted = (await withdrawalsOf(tx, account.id, request.asked)).map((of) => ({
    accountId: account.id,
    id: of,
  }))
  for (const withdrawal of await lockByIds(tx, wanted)) {
    if (withdrawal.status === 'failed') continue
    if (withdrawal.status !== 'requested' || (await isSigned(tx, account.id, withdrawal.id)))
      throw conflict(
        'already_signed',
        'a transaction that pays it is signed, or is being signed; it can not be called back',
      )
    await wantCancelled(tx, withdrawal)
  }
  await markDeclined(tx, request, by)
  return request
}

async function withdrawalsOf(tx: Tx, accountId: AccountId, asked: Asked): Promise<WithdrawalId[]> {
  if (asked.act === 'withdrawal') return [asked.withdrawalId]
  if (asked.act !== 'batch') return []
  return (await listBatch(tx, accountId, asked.batchId)).map(({ id }) => id)
}

export const requestNotFound = (): Refusal =>
  notFound('request_not_found', 'there is no such request in this account')
