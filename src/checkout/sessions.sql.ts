/** Checkout sessions as rows. A buyer's requests bring the id alone: it is the secret that lets him in. */
import { type AccountId, newPublicId, type PaymentId, type SessionId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { countRows, oneRow } from '../db/rows.ts'
import { type CheckoutSession, SESSION_WINDOW_MS } from './session.ts'

const COLUMNS = `account_id as "accountId", id, amount_minor as "amountMinor", currency, label, reference,
  customer_email as "customerEmail", success_url as "successUrl", cancel_url as "cancelUrl",
  offered_assets as "offeredAssets", payment_link_id as "paymentLinkId", point_of_sale_id as "pointOfSaleId", payment_id as "paymentId", created_at as "createdAt",
  expires_at as "expiresAt", cancelled_at as "cancelledAt", sent_tx as "sentTx", refund_address as "refundAddress",
  refund_address_mac as "refundAddressMac"`

/** What is left out it does not have. */
interface SessionDraft
  extends Pick<CheckoutSession, 'accountId' | 'amountMinor' | 'currency'>,
    Partial<
      Pick<
        CheckoutSession,
        | 'label'
        | 'reference'
        | 'customerEmail'
        | 'successUrl'
        | 'cancelUrl'
        | 'offeredAssets'
        | 'paymentLinkId'
        | 'pointOfSaleId'
      >
    > {}

export const insertSession = (tx: Tx, draft: SessionDraft): Promise<CheckoutSession> =>
  oneRow(
    tx,
    `insert into checkout_sessions (account_id, id, amount_minor, currency, label, reference, customer_email, success_url,
       cancel_url, payment_link_id, offered_assets, point_of_sale_id, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $12, $13, now() + $11::bigint * interval '1 millisecond')
     returning ${COLUMNS}`,
    [
      draft.accountId,
      newPublicId('cs'),
      draft.amountMinor,
      draft.currency,
      draft.label ?? null,
      draft.reference ?? null,
      draft.customerEmail ?? null,
      draft.successUrl ?? null,
      draft.cancelUrl ?? null,
      draft.paymentLinkId ?? null,
      SESSION_WINDOW_MS,
      draft.offeredAssets ?? null,
      draft.pointOfSaleId ?? null,
    ],
  )

/** A session and the database's clock. */
export interface SessionNow {
  readonly session: CheckoutSession
  readonly now: Date
}

export async function findSession(
  db: Queryable,
  accountId: AccountId,
  id: SessionId,
): Promise<SessionNow | null> {
  const { rows } = await db.query<CheckoutSession & { now: Date }>(
    `select ${COLUMNS}, now() as now from checkout_sessions where account_id = $1 and id = $2`,
    [accountId, id],
  )
  return withClock(rows[0])
}

/** For a buyer, who brings the id alone. */
export async function findSessionForBuyer(db: Queryable, id: SessionId): Promise<SessionNow | null> {
  const { rows } = await db.query<CheckoutSession & { now: Date }>(
    `select ${COLUMNS}, now() as now from checkout_sessions where id = $1`,
    [id],
  )
  return withClock(rows[0])
}

/** The session, locked until the transaction ends: whoever changes its coin takes this lock before any payment's. */
export async function lockSession(tx: Tx, id: SessionId): Promise<SessionNow | null> {
  const { rows } = await tx.query<CheckoutSession & { now: Date }>(
    `select ${COLUMNS}, clock_timestamp() as now from checkout_sessions where id = $1 for update`,
    [id],
  )
  return withClock(rows[0])
}

/** A coin was picked: its payment is the session's, and the window begins again. */
export async function setSessionPayment(
  tx: Tx,
  session: CheckoutSession,
  paymentId: PaymentId,
): Promise<void> {
  await tx.query(
    `update checkout_sessions
     set payment_id = $3, sent_tx = null, refund_address = null, refund_address_mac = null, expires_at = now() + $4::bigint * interval '1 millisecond'
     where account_id = $1 and id = $2`,
    [session.accountId, session.id, paymentId, SESSION_WINDOW_MS],
  )
}

/** Another payment of the session is the one that its buyer pays; its window stays what it is. */
export async function setPresentPayment(
  tx: Tx,
  session: CheckoutSession,
  paymentId: PaymentId,
): Promise<void> {
  await tx.query(
    `update checkout_sessions set payment_id = $3, sent_tx = null, refund_address = null, refund_address_mac = null
     where account_id = $1 and id = $2`,
    [session.accountId, session.id, paymentId],
  )
}

/** @param mac - Of `macOfRefundAddress`. */
export async function setRefundAddress(
  tx: Tx,
  session: CheckoutSession,
  address: string,
  mac: Buffer,
): Promise<void> {
  await tx.query(
    `update checkout_sessions set refund_address = $3, refund_address_mac = $4
     where account_id = $1 and id = $2`,
    [session.accountId, session.id, address, mac],
  )
}

/** @param txHash - As chains write it; null when it will not come. */
export async function setSentTransaction(
  tx: Tx,
  session: CheckoutSession,
  txHash: string | null,
): Promise<void> {
  await tx.query('update checkout_sessions set sent_tx = $3 where account_id = $1 and id = $2', [
    session.accountId,
    session.id,
    txHash,
  ])
}

/** @param isCancelled - False takes it back. */
export async function markSessionCancelled(
  tx: Tx,
  session: CheckoutSession,
  isCancelled: boolean,
): Promise<void> {
  await tx.query(
    `update checkout_sessions set cancelled_at = case when $3::boolean then now() end
     where account_id = $1 and id = $2`,
    [session.accountId, session.id, isCancelled],
  )
}

function withClock(row: (CheckoutSession & { now: Date }) | undefined): SessionNow | null {
  if (!row) return null
  const { now, ...session } = row
  return { session, now }
}

/**
 * Removes sessions that ended long ago and in which no coin was ever taken, the opened payment links among them.
 *
 * @returns How many; fewer than `limit` means all of them.
 */
export const pruneUnusedSessions = (db: Queryable, days: number, limit: number): Promise<number> =>
  countRows(
    db,
    `delete from checkout_sessions where ctid = any(array(
       select ctid from checkout_sessions
       where payment_id is null and expires_at < now() - make_interval(days => $1)
       order by expires_at limit $2 for update skip locked))`,
    [days, limit],
  )
