/** The events a merchant can subscribe to (`payout.failed` is an addition to the contract), and how a flow announces one. */
import type { AccountId } from '../core/ids.ts'

export const EVENT_TYPES = [
  'payment.created',
  'payment.confirming',
  'payment.completed',
  'payment.expired',
  'payment.refunded',
  'payout.completed',
  'payout.failed',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** Which events somebody may read who may read payments: two hold a withdrawal. */
export const readableTypes = (mayReadWithdrawals: boolean): readonly EventType[] =>
  EVENT_TYPES.filter((type) => mayReadWithdrawals || !type.startsWith('payout.'))

export interface Announcement {
  readonly accountId: AccountId
  readonly type: EventType
  /** One cause makes one event: `payment:<uuid>:created`. Announcing a cause again changes nothing. */
  readonly cause: string
  /** The whole payment or withdrawal as the API shows it. */
  readonly data: unknown
}
