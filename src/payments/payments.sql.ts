/** Payments as rows. Every query is scoped by account; only the settle worker's claim crosses accounts. */
import type { AccountId, PaymentId, SessionId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { arraysOf, overRows } from '../db/row-statements.ts'
import { allRows } from '../db/rows.ts'
import { runRows } from '../db/together.ts'
import type { Accepted, Payment } from './payment.ts'

interface PaymentRow extends Omit<Payment, 'rate' | 'settlementRate' | 'accepted'> {
  readonly rateNumerator: bigint
  readonly rateDenominator: bigint
  readonly settlementNumerator: bigint
  readonly settlementDenominator: bigint
  readonly acceptedNetAtoms: bigint | null
  readonly acceptedFeeAtoms: bigint | null
  readonly acceptedNetMinor: bigint | null
  readonly acceptedFeeMinor: bigint | null
}

/** `metadata::text`, so that numbers come back with the digits they were given. */
const COLUMNS = `account_id as "accountId", id, status, chain, asset, fiat_currency as "fiatCurrency", fiat_minor as "fiatMinor",
  fee_minor as "feeMinor", net_minor as "netMinor", quoted_fee_minor as "quotedFeeMinor", fee_bps::bigint as "feeBps",
  rate_numerator as "rateNumerator", rate_denominator as "rateDenominator", rate_source as "rateSource", rate_at as "rateAt",
  settlement_numerator as "settlementNumerator", settlement_denominator as "settlementDenominator", due_atoms as "dueAtoms",
  tolerated_atoms as "toleratedAtoms", address, required_confirmations as "requiredConfirmations", terms_mac as "termsMac",
  customer_id as "customerId", customer_email as "customerEmail", reference, metadata::text as metadata,
  checkout_session_id as "checkoutSessionId", created_at as "createdAt", expires_at as "expiresAt", detected_at as "detectedAt",
  completed_at as "completedAt", credited_atoms as "creditedAtoms", gateway_fee_atoms as "gatewayFeeAtoms",
  shortfall_atoms as "shortfallAtoms", recovered_atoms as "recoveredAtoms", spent_minor as "spentMinor", settlements,
  accepted_net_atoms as "acceptedNetAtoms", accepted_fee_atoms as "acceptedFeeAtoms", accepted_net_minor as "acceptedNetMinor",
  accepted_fee_minor as "acceptedFeeMinor"`

function fromRow(row: PaymentRow): Payment {
  const { rateNumerator, rateDenominator, settlementNumerator, settlementDenominator, ...rest } = row
  const { acceptedNetAtoms, acceptedFeeAtoms, acceptedNetMinor, acceptedFeeMinor, ...payment } = rest
  // All of them are null, or none is.
  const wasAccepted = acceptedNetAtoms !== null && acceptedFeeAtoms !== null
  const inMinor = { netMinor: acceptedNetMinor ?? 0n, feeMinor: acceptedFeeMinor ?? 0n }
  return {
    ...payment,
    accepted: wasAccepted ? { netAtoms: acceptedNetAtoms, feeAtoms: acceptedFeeAtoms, ...inMinor } : null,
    rate: { numerator: rateNumerator, denominator: rateDenominator },
    settlementRate: { numerator: settlementNumerator, denominator: settlementDenominator },
  }
}

export async function findPayment(
  db: Queryable,
  accountId: AccountId,
  id: PaymentId,
): Promise<Payment | null> {
  const { rows } = await db.query<PaymentRow>(
    `select ${COLUMNS} from payments where account_id = $1 and id = $2`,
    [accountId, id],
  )
  return rows[0] ? fromRow(rows[0]) : null
}

/** The payment, locked until the transaction ends: whoever decides about it takes this lock first, before any balance. */
export async function lockPayment(tx: Tx, accountId: AccountId, id: PaymentId): Promise<Payment | null> {
  const [row] = await runRows<PaymentRow>(tx, LOCK, [{ of_account: accountId, of_payment: id }])
  return row ? fromRow(row) : null
}

/** Of several in the order of their keys. */
const LOCK = overRows(
  { of_account: 'uuid', of_payment: 'uuid' },
  (rows) => `select place, ${COLUMNS} from ${rows}
    join payments on account_id = of_account and id = of_payment order by account_id, id for update of payments`,
)

/** Locks payments in the order of the primary key: who locks more than one does it so, and before any balance. */
export async function lockPayments(
  tx: Tx,
  keys: readonly { readonly accountId: AccountId; readonly paymentId: PaymentId | null }[],
): Promise<void> {
  const wanted = keys.filter(({ paymentId }) => paymentId !== null)
  if (wanted.length === 0) return
  await tx.query(
    `select from payments where (account_id, id) in (select * from unnest($1::uuid[], $2::uuid[]))
     order by account_id, id for update`,
    arraysOf(wanted, 'accountId', 'paymentId'),
  )
}

/**
 * Everything about a payment that its life changes.
 *
 * @param decided - What is written was decided just now: the payment leaves the settle queue.
 */
export async function updatePayment(tx: Tx, payment: Payment, decided?: 'decided'): Promise<void> {
  await runRows(tx, UPDATE, [
    {
      account_id: payment.accountId,
      id: payment.id,
      status: payment.status,
      fee_minor: payment.feeMinor,
      net_minor: payment.netMinor,
      detected_at: payment.detectedAt,
      completed_at: payment.completedAt,
      credited_atoms: payment.creditedAtoms,
      gateway_fee_atoms: payment.gatewayFeeAtoms,
      shortfall_atoms: payment.shortfallAtoms,
      recovered_atoms: payment.recoveredAtoms,
      spent_minor: payment.spentMinor,
      settlements: payment.settlements,
      is_decided: decided === 'decided',
    },
  ])
}

const UPDATE = overRows(
  {
    account_id: 'uuid',
    id: 'uuid',
    status: 'text',
    fee_minor: 'bigint',
    net_minor: 'bigint',
    detected_at: 'timestamptz',
    completed_at: 'timestamptz',
    credited_atoms: 'numeric',
    gateway_fee_atoms: 'numeric',
    shortfall_atoms: 'numeric',
    recovered_atoms: 'numeric',
    spent_minor: 'bigint',
    settlements: 'integer',
    is_decided: 'boolean',
  },
  (rows) => `update payments p set status = r.status, fee_minor = r.fee_minor, net_minor = r.net_minor,
      detected_at = r.detected_at, completed_at = r.completed_at, credited_atoms = r.credited_atoms,
      gateway_fee_atoms = r.gateway_fee_atoms, shortfall_atoms = r.shortfall_atoms, recovered_atoms = r.recovered_atoms,
      spent_minor = r.spent_minor, settlements = r.settlements, decision_due = p.decision_due and not r.is_decided
    from ${rows} where p.account_id = r.account_id and p.id = r.id`,
)

/** Beside {@link updatePayment}, which every payment takes several times: what few of them ever have is written by itself. */
export async function recordAccepted(
  tx: Tx,
  { accountId, id }: Pick<Payment, 'accountId' | 'id'>,
  { netAtoms, feeAtoms, netMinor, feeMinor }: Accepted,
): Promise<void> {
  await tx.query(
    `update payments set accepted_net_atoms = $3, accepted_fee_atoms = $4, accepted_net_minor = $5, accepted_fee_minor = $6
     where account_id = $1 and id = $2`,
    [accountId, id, netAtoms, feeAtoms, netMinor, feeMinor],
  )
}

/**
 * Puts payments into the settle worker's queue. Locks their rows in the order of their keys, those that are queued
 * already too: such a one may just be taken off by a decision that has not seen what the caller writes.
 */
export async function markDecisionDue(
  tx: Tx,
  payments: readonly { accountId: AccountId; paymentId: PaymentId }[],
): Promise<void> {
  if (payments.length === 0) return
  await tx.query(
    `update payments p set decision_due = true
     from (select p.account_id, p.id from payments p
       join (select distinct * from unnest($1::uuid[], $2::uuid[]) as u (account_id, id)) k using (account_id, id)
       order by p.account_id, p.id for update of p) due
     where p.account_id = due.account_id and p.id = due.id`,
    arraysOf(payments, 'accountId', 'paymentId'),
  )
}

/** A payment that is due to be decided about. */
export interface ClaimedDecision {
  readonly accountId: AccountId
  readonly paymentId: PaymentId
  /** What is decided about one payment of a checkout looks at the others. */
  readonly checkoutSessionId: SessionId | null
}

/**
 * Locks payments of the settle queue, the oldest first; those that others have locked are stepped over. None when nothing is
 * due. A payment leaves the queue by the update that says what was decided about it ({@link updatePayment}).
 *
 * The order is the index's: where PostgreSQL has not counted yet it takes half of all payments to be queued, and would walk
 * through every one of them.
 *
 * @param except - Payments to leave where they are.
 */
export const claimDecisions = (
  tx: Tx,
  limit: number,
  except: readonly PaymentId[] = [],
): Promise<ClaimedDecision[]> =>
  allRows(
    tx,
    `select account_id as "accountId", id as "paymentId", checkout_session_id as "checkoutSessionId" from payments
     where decision_due and id <> all($1::uuid[]) order by created_at limit $2 for update skip locked`,
    [except, limit],
  )
