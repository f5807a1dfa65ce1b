/** Most payouts are signed and sent within a second: whoever asked for one hears of it at once. */
import { crashPoint } from '../../core/crash-point.ts'
import type { AccountId, WithdrawalId } from '../../core/ids.ts'
import { pause } from '../../core/pause.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'
import { findWithdrawal } from '../../withdrawals/withdrawals.sql.ts'
import type { Gateway } from '../gateway.ts'

const POLL_MS = 50

/**
 * Waits until a withdrawal is no longer `requested`, or for as long as the settings say; not for people, who take hours.
 *
 * @returns It, as it is then.
 */
export async function awaitBroadcast(
  gateway: Gateway,
  accountId: AccountId,
  id: WithdrawalId,
): Promise<Withdrawal | null> {
  crashPoint('request:committed')
  const deadlineMs = performance.now() + gateway.settings.broadcastWaitMs
  for (;;) {
    const withdrawal = await findWithdrawal(gateway.db, accountId, id)
    const isOver = withdrawal?.status !== 'requested' || withdrawal.waitingFor === 'approval'
    if (isOver || performance.now() >= deadlineMs) return withdrawal
    await pause(POLL_MS)
  }
}
