/** The events a merchant can subscribe to (contract, Events), and how a flow announces one. */
import type { AccountId } from '../core/ids.ts'

export const EVENT_TYPES = [
  'payment.created',
  'payment.confirming',
  'payment.completed',
  'payment.expired',
  'payment.refunded',
  'payout.completed',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

export interface Announcement {
  readonly accountId: AccountId
  readonly type: EventType
  /** One cause makes one event: `payment:<uuid>:created`. Announcing a cause again changes nothing. */
  readonly cause: string
  /** The whole payment or withdrawal as the API shows it. */
  readonly data: unknown
}
