/** Decides about payments that the chain touched, one transaction each. Any number of these may run. */
import type { Gateway } from '../flows/gateway.ts'
import { settlePayment } from '../flows/settle-payment.ts'
import { claimDecision } from '../payments/payments.sql.ts'
import { type Loop, startLoop } from './loop.ts'

export function startSettler(gateway: Gateway, options: { idleMs?: number } = {}): Loop {
  return startLoop({
    name: 'settle',
    idleMs: options.idleMs ?? 500,
    log: gateway.log,
    turn: () => settleNext(gateway),
  })
}

/**
 * Claims one payment and settles it. The claim and its effect commit together, so a crash leaves it due.
 *
 * @returns Whether there was one.
 */
export function settleNext(gateway: Gateway): Promise<boolean> {
  return gateway.db.transaction(async (tx) => {
    const due = await claimDecision(tx)
    if (!due) return false
    await settlePayment(gateway, tx, due.accountId, due.paymentId)
    return true
  })
}
