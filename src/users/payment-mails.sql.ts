/** Who wants mails about the payments of which merchant. */
import type { AccountId, MerchantId, UserId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import type { PaymentMail } from './payment-mails.ts'
import type { Role } from './permissions.ts'

export interface PaymentMailReader {
  readonly email: string
  readonly role: Role
  readonly mails: readonly PaymentMail[]
  readonly merchant: string
}

/** By account; none of an account that is not live: what is tried out there needs nobody. */
export async function readersOfPayments(
  db: Queryable,
  accountIds: readonly AccountId[],
): Promise<Map<AccountId, PaymentMailReader[]>> {
  const { rows } = await db.query<PaymentMailReader & { accountId: AccountId }>(
    `select m.live_account_id as "accountId", u.email, x.role, x.payment_mails as mails, m.name as merchant
     from merchants m
       join members x on x.merchant_id = m.id and x.payment_mails <> '{}'
       join users u on u.id = x.user_id and u.disabled_at is null
     where m.live_account_id = any($1::uuid[]) order by u.email`,
    [[...new Set(accountIds)]],
  )
  return Map.groupBy(rows, ({ accountId }) => accountId)
}

/** By merchant, of those that have a live account. */
export async function listPaymentMails(
  db: Queryable,
  userId: UserId,
): Promise<Map<MerchantId, readonly PaymentMail[]>> {
  const { rows } = await db.query<{ id: MerchantId; mails: PaymentMail[] }>(
    `select x.merchant_id as id, x.payment_mails as mails from members x
       join merchants m on m.id = x.merchant_id and m.live_account_id is not null
     where x.user_id = $1`,
    [userId],
  )
  return new Map(rows.map(({ id, mails }) => [id, mails]))
}

/** What he wants now, locked until the transaction ends; null for whoever is no member. */
export async function lockPaymentMailsOf(
  tx: Tx,
  merchantId: MerchantId,
  userId: UserId,
): Promise<readonly PaymentMail[] | null> {
  const { rows } = await tx.query<{ mails: PaymentMail[] }>(
    'select payment_mails as mails from members where merchant_id = $1 and user_id = $2 for update',
    [merchantId, userId],
  )
  return rows[0]?.mails ?? null
}

export async function setPaymentMails(
  tx: Tx,
  merchantId: MerchantId,
  userId: UserId,
  mails: readonly PaymentMail[],
): Promise<void> {
  await tx.query('update members set payment_mails = $3 where merchant_id = $1 and user_id = $2', [
    merchantId,
    userId,
    mails,
  ])
}
