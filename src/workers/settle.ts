/** Decides about payments that the chain touched, one transaction each. Any number of these may run. */
import { crashPoint } from '../core/crash-point.ts'
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
export async function settleNext(gateway: Gateway): Promise<boolean> {
  const settled = await gateway.db.transaction(async (tx) => {
    const due = await claimDecision(tx)
    return due && settlePayment(gateway, tx, due.accountId, due.paymentId)
  })
  if (settled) {
    crashPoint(`settle:${settled.status}-committed`)
    gateway.wake('deliver')
  }
  return settled !== null
}
