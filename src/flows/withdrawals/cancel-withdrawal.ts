/**
 * A withdrawal that is wanted no longer. Only the signer's journal knows for certain that nothing was ever signed for it, in a
 * restored database too: so the signer says when it has failed, and from this moment on signs nothing for it.
 */
import type { Account } from '../../accounts/account.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { conflict, notFound, type Refusal } from '../../core/errors.ts'
import type { WithdrawalId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'
import { isSigned, lockWithdrawal, wantCancelled } from '../../withdrawals/withdrawals.sql.ts'

/**
 * Locks the withdrawal, as the signer does before it writes down what pays it: one of the two comes first. Doing it again
 * changes nothing.
 *
 * @throws {Refusal} `not_found`; `conflict`, reason `already_signed` or `withdrawal_finished`.
 */
export async function cancelWithdrawal(
  tx: Tx,
  account: Pick<Account, 'id'>,
  id: WithdrawalId,
): Promise<Withdrawal> {
  const withdrawal = await lockWithdrawal(tx, account.id, id)
  if (!withdrawal) throw withdrawalNotFound()
  const { status } = withdrawal
  if (status === 'completed' || status === 'failed')
    throw conflict('withdrawal_finished', `the withdrawal is ${status}; there is nothing left to cancel`)
  if (status === 'broadcast' || (await isSigned(tx, account.id, id)))
    throw conflict(
      'already_signed',
      'a transaction that pays the withdrawal is signed, or is being signed, or coins are being gathered for it; it can not be called back',
    )
  crashPoint('cancel:locked')
  return wantCancelled(tx, withdrawal)
}

export const withdrawalNotFound = (): Refusal =>
  notFound('withdrawal_not_found', 'no such withdrawal in this account')
