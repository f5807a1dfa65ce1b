/** Decides about payments that the chain touched, some of them in one transaction. Any number of these may run. */
import { raiseAlert } from '../alerts/alerts.sql.ts'
import { type Aside, listAside, setAside } from '../core/aside.ts'
import { crashPoint } from '../core/crash-point.ts'
import { OutsideFailure, TamperedRow } from '../core/errors.ts'
import { type PaymentId, showId } from '../core/ids.ts'
import { below, rootOf, type Traces } from '../core/trace.ts'
import { together } from '../db/together.ts'
import type { Gateway } from '../flows/gateway.ts'
import { settlePayment } from '../flows/payments/settle-payment.ts'
import { type Settled, tellOfPayments } from '../flows/payments/tell-of-payments.ts'
import { type ClaimedDecision, claimDecisions } from '../payments/payments.sql.ts'
import { type Loop, startLoop } from './loop.ts'

/** Payments that nothing can be decided about, with the time to try again: they do not hold up the others. */
export type SetAside = Aside<PaymentId>

/** While one waits for PostgreSQL, or for a merchant's balance, others are decided about; more keep two processors no busier. */
const AT_ONCE = 3
/** Payments of one transaction: they take as many statements as one, and nobody waits long for its commit. */
const TOGETHER_MAX = 100

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
 * Settles what is due, some transactions at once.
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
 * Claims payments and settles them. The claims and their effects commit together, so a crash leaves them due. When one of
 * them fails, all are undone, and each has a transaction of its own.
 *
 * @param aside - Where a payment goes that fails; without it, its failure is the caller's.
 * @returns Whether there was one.
 */
export async function settleNext(
  gateway: Gateway,
  aside?: SetAside,
  most: number = TOGETHER_MAX,
): Promise<boolean> {
  let claims: ClaimedDecision[] = []
  const startedAt = new Date()
  const beganMs = performance.now()
  try {
    const settled = await gateway.db.transaction(async (tx) => {
      claims = await claimDecisions(tx, most, aside ? listAside(aside) : [])
      const decided = await together(
        tx,
        claims,
        (claim) => claim.checkoutSessionId,
        (one, claim) => settlePayment(gateway, one, claim.accountId, claim.paymentId),
      )
      await tellOfPayments(gateway, tx, decided)
      return decided
    })
    for (const { payment } of settled) crashPoint(`settle:${payment.status}-committed`)
    if (gateway.traces) traceDecisions(gateway.traces, settled, startedAt, performance.now() - beganMs)
    if (settled.length > 0) gateway.wake('deliver')
    return claims.length > 0
  } catch (error) {
    if (error instanceof OutsideFailure) throw error
    const [only, ...others] = claims
    if (others.length > 0) {
      for (const _ of claims) await settleNext(gateway, aside, 1)
      return true
    }
    if (!aside || !only) throw error
    setAside(aside, only.paymentId)
    await tellStuck(gateway, only, error)
    return true
  }
}

function traceDecisions(
  traces: Traces,
  settled: readonly Settled[],
  startedAt: Date,
  durationMs: number,
): void {
  for (const { payment } of settled)
    traces.add({
      ...below(rootOf(payment.id)),
      name: 'settle payment',
      kind: 'internal',
      startedAt,
      durationMs,
      attributes: { 'beck.payment.status': payment.status, 'beck.payments_together': settled.length },
      failure: null,
    })
}

/** A bug, or rows that somebody changed: the other payments go on, and the operator looks at this one. */
async function tellStuck(
  gateway: Gateway,
  { accountId, paymentId }: ClaimedDecision,
  error: unknown,
): Promise<void> {
  const shown = showId('pay', paymentId)
  gateway.log.error(
    { payment: shown, account: showId('acct', accountId), err: error },
    'a payment can not be decided about',
  )
  const isTampered = error instanceof TamperedRow
  await raiseAlert(gateway.db, {
    kind: isTampered ? 'row_tampered' : 'payment_stuck',
    accountId,
    subject: shown,
    message: isTampered
      ? `${error.message}. Nothing is credited for the payment; find out who writes the database`
      : `payment ${shown} can not be decided about; the log says why. It is tried again every minute`,
  })
}
