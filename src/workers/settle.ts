/** Decides about payments that the chain touched, one transaction each. Any number of these may run. */
import { crashPoint } from '../core/crash-point.ts'
import { OutsideFailure, TamperedRow } from '../core/errors.ts'
import type { AccountId, PaymentId } from '../core/ids.ts'
import { MINUTE_MS } from '../core/time.ts'
import type { Gateway } from '../flows/gateway.ts'
import { settlePayment } from '../flows/payments/settle-payment.ts'
import { raiseAlert } from '../ledger/alerts.sql.ts'
import { claimDecision } from '../payments/payments.sql.ts'
import { type Loop, startLoop } from './loop.ts'

/** Payments that nothing can be decided about, with the time to try again: they do not hold up the others. */
export type SetAside = Map<PaymentId, number>

const ASIDE_MS = MINUTE_MS
/** More wait for the same balances, and leave no connection to requests. */
const AT_ONCE = 4

export function startSettler(gateway: Gateway, options: { idleMs?: number } = {}): Loop {
  const aside: SetAside = new Map()
  return startLoop({
    name: 'settle',
    idleMs: options.idleMs ?? 500,
    log: gateway.log,
    turn: (signal) => settleAll(gateway, aside, signal),
  })
}

/**
 * Settles what is due, some at once: while one waits for PostgreSQL another is decided about.
 *
 * @returns False: nothing is left, or the worker is to stop.
 */
export async function settleAll(gateway: Gateway, aside: SetAside, signal: AbortSignal): Promise<boolean> {
  if (!(await settleNext(gateway, aside))) return false
  const settle = async () => {
    while (!signal.aborted && (await settleNext(gateway, aside)));
  }
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, settle))
  const failed = ended.find((each) => each.status === 'rejected')
  if (failed) throw failed.reason
  return false
}

/**
 * Claims one payment and settles it. The claim and its effect commit together, so a crash leaves it due.
 *
 * @param aside - Where a payment goes that fails; without it, its failure is the caller's.
 * @returns Whether there was one.
 */
export async function settleNext(gateway: Gateway, aside?: SetAside): Promise<boolean> {
  for (const [id, untilMs] of aside ?? []) if (untilMs < Date.now()) aside?.delete(id)
  const claim: { due: { accountId: AccountId; paymentId: PaymentId } | null } = { due: null }
  try {
    const settled = await gateway.db.transaction(async (tx) => {
      claim.due = await claimDecision(tx, aside ? [...aside.keys()] : [])
      return claim.due && settlePayment(gateway, tx, claim.due.accountId, claim.due.paymentId)
    })
    if (settled) {
      crashPoint(`settle:${settled.status}-committed`)
      gateway.wake('deliver')
    }
    return settled !== null
  } catch (error) {
    if (!aside || !claim.due || error instanceof OutsideFailure) throw error
    aside.set(claim.due.paymentId, Date.now() + ASIDE_MS)
    await tellStuck(gateway, claim.due, error)
    return true
  }
}

/** A bug, or rows that somebody changed: the other payments go on, and the operator looks at this one. */
async function tellStuck(
  gateway: Gateway,
  { accountId, paymentId }: { accountId: AccountId; paymentId: PaymentId },
  error: unknown,
): Promise<void> {
  gateway.log.error(
    { payment: paymentId, account: accountId, err: error },
    'a payment can not be decided about',
  )
  const isTampered = error instanceof TamperedRow
  await raiseAlert(gateway.db, {
    kind: isTampered ? 'row_tampered' : 'payment_stuck',
    accountId,
    subject: paymentId,
    message: isTampered
      ? `${error.message}. Nothing is credited for the payment; find out who writes the database`
      : `payment ${paymentId} can not be decided about; the log says why. It is tried again every minute`,
  })
}
