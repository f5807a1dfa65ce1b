/** The withdrawals that return what a payment holds. */
import type { Asset } from '../core/assets.ts'
import type { AccountId, PaymentId, WithdrawalId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import { overRows } from '../db/row-statements.ts'
import { firstRow } from '../db/rows.ts'
import { runRows } from '../db/together.ts'
import type { Withdrawal } from './withdrawal.ts'
import { WITHDRAWAL_COLUMNS } from './withdrawals.sql.ts'

/** The refund of a payment that is under way or done. */
export const findRefund = (
  db: Queryable,
  accountId: AccountId,
  paymentId: PaymentId,
): Promise<Withdrawal | null> =>
  firstRow(
    db,
    `select ${WITHDRAWAL_COLUMNS} from withdrawals w where account_id = $1 and payment_id = $2 and status <> 'failed'`,
    [accountId, paymentId],
  )

/** Every refund of a payment, failed ones too. */
export async function listRefundIds(
  db: Queryable,
  accountId: AccountId,
  paymentId: PaymentId,
): Promise<WithdrawalId[]> {
  const { rows } = await db.query<{ id: WithdrawalId }>(
    'select id from withdrawals where account_id = $1 and payment_id = $2',
    [accountId, paymentId],
  )
  return rows.map((row) => row.id)
}

/** SQL of the alias `w` of `withdrawals`, refunds of one payment: what they took, done or under way, or in vain. */
export const REFUNDED_ATOMS = "sum(case when w.status = 'failed' then w.kept_atoms else w.amount_atoms end)"

export interface Refunds {
  /** Of the payment's own asset: what refunds took from what it holds, done or under way, or in vain. */
  readonly refundedAtoms: bigint
  /** Somebody wanted its buyer to have something back, and may have got nothing of it done. */
  readonly wereAsked: boolean
}

export async function readRefunds(
  db: Queryable,
  payment: { readonly accountId: AccountId; readonly id: PaymentId; readonly asset: Asset },
): Promise<Refunds> {
  const [asked] = await runRows<{ atoms: bigint | null }>(db, READ_REFUNDS, [
    { account_id: payment.accountId, payment_id: payment.id, asset: payment.asset },
  ])
  return { refundedAtoms: asked?.atoms ?? 0n, wereAsked: asked !== undefined }
}

const READ_REFUNDS = overRows(
  { account_id: 'uuid', payment_id: 'uuid', asset: 'text' },
  (rows) => `select place, ${REFUNDED_ATOMS} filter (where w.asset = r.asset) as atoms from ${rows}
    join withdrawals w on w.account_id = r.account_id and w.payment_id = r.payment_id group by place`,
)
