/** What happened around one payment besides its deposits: events, deliveries, refunds, people's acts, what is held. */
import type { AccountId, DeliveryId, EventId, PaymentId, WebhookEndpointId } from '../../core/ids.ts'
import { showId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import type { HeldFunds } from '../../payments/unresolved-funds.sql.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'

export interface PaymentHistory {
  readonly unresolved: readonly HeldFunds[]
  readonly refunds: readonly Pick<
    Withdrawal,
    'id' | 'status' | 'asset' | 'netAtoms' | 'destination' | 'createdAt'
  >[]
  readonly events: readonly {
    readonly id: EventId
    readonly type: string
    readonly createdAt: Date
    readonly deliveries: readonly {
      readonly id: DeliveryId
      readonly endpoint: WebhookEndpointId
      readonly status: string
    }[]
  }[]
  readonly acts: readonly {
    readonly action: string
    readonly actor: string
    readonly at: Date
  }[]
}

/** What the causes of a payment's own events end in. */
const CAUSES = ['created', 'confirming', 'completed', 'expired', 'failed']

export async function readPaymentHistory(
  db: Queryable,
  accountId: AccountId,
  payment: { readonly id: PaymentId; readonly createdAt: Date },
): Promise<PaymentHistory> {
  const shown = showId('pay', payment.id)
  const [unresolved, refunds, events, acts] = await Promise.all([
    db.query<PaymentHistory['unresolved'][number]>(
      'select asset, atoms from unresolved_funds where account_id = $1 and payment_id = $2 and atoms > 0 order by asset',
      [accountId, payment.id],
    ),
    db.query<PaymentHistory['refunds'][number]>(
      `select id, status, asset, net_atoms as "netAtoms", destination, created_at as "createdAt" from withdrawals
       where account_id = $1 and payment_id = $2 order by created_at`,
      [accountId, payment.id],
    ),
    db.query<PaymentHistory['events'][number]>(
      `select e.id, e.type, e.created_at as "createdAt",
         coalesce((select json_agg(json_build_object('id', d.id, 'endpoint', d.endpoint_id, 'status', d.status))
           from deliveries d where d.account_id = e.account_id and d.event_id = e.id), '[]') as deliveries
       from events e where e.account_id = $1 and e.cause = any($2::text[] || array(
         select $3 || w.id from withdrawals w where w.account_id = $1 and w.payment_id = $4))
       order by e.created_at`,
      [
        accountId,
        CAUSES.map((cause) => `payment:${payment.id}:${cause}`),
        `payment:${payment.id}:refunded:`,
        payment.id,
      ],
    ),
    db.query<PaymentHistory['acts'][number]>(
      `select action, coalesce(actor_name, actor_id, actor_kind) as actor, at from audit_log
       where account_id = $1 and at >= $3 and subject = $2 order by at limit 50`,
      [accountId, shown, payment.createdAt],
    ),
  ])
  return { unresolved: unresolved.rows, refunds: refunds.rows, events: events.rows, acts: acts.rows }
}
