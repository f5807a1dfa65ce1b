/**
 * How long Beck keeps what grows, in one table: the worker in `workers/forget.ts` removes what is older. What is not named
 * here is kept for good; docs/operators.md says why, table by table.
 */
import { forgetOldAnswers } from '../../accounts/idempotency-keys.sql.ts'
import { pruneRequests } from '../../accounts/request-log.sql.ts'
import { pruneAlerts } from '../../alerts/alerts.sql.ts'
import { pruneUnusedSessions } from '../../checkout/sessions.sql.ts'
import type { Queryable } from '../../db/database.ts'
import { pruneEndpoints, pruneEvents } from '../../events/prune-events.sql.ts'
import { pruneMails } from '../../mails/mails.sql.ts'
import { forgetUncountedChanges } from '../../payments/places/payment-ranks.sql.ts'
import { pruneInvitations } from '../../users/invitations.sql.ts'
import { pruneSessions, pruneSignIns } from '../../users/sessions.sql.ts'

/** Ages that the operator sets: the variable, and days. */
export const KEPT_DAYS = {
  events: { variable: 'BECK_KEEP_EVENTS_DAYS', usual: 30, min: 7, max: 3_650 },
  checkouts: { variable: 'BECK_KEEP_CHECKOUTS_DAYS', usual: 30, min: 2, max: 3_650 },
  invitations: { variable: 'BECK_KEEP_INVITATIONS_DAYS', usual: 30, min: 4, max: 3_650 },
  alerts: { variable: 'BECK_KEEP_ALERTS_DAYS', usual: 365, min: 30, max: 3_650 },
} as const satisfies Record<
  string,
  { variable: `BECK_KEEP_${string}_DAYS`; usual: number; min: number; max: number }
>

export type KeptDays = Readonly<Record<keyof typeof KEPT_DAYS, number>>

export type Age = { readonly tables: readonly string[] } & (
  | {
      /** As the guide says it: nobody sets it. */
      readonly fixed: string
      readonly set?: undefined
      /** @returns How many rows went; fewer than `limit` means all of them. */
      remove(db: Queryable, limit: number): Promise<number>
    }
  | {
      readonly fixed?: undefined
      readonly set: keyof KeptDays
      remove(db: Queryable, days: number, limit: number): Promise<number>
    }
)

export const AGES: readonly Age[] = [
  { tables: ['idempotency_keys'], fixed: '24 hours', remove: forgetOldAnswers },
  { tables: ['sessions'], fixed: '24 hours', remove: pruneSessions },
  { tables: ['sign_in_failures', 'sign_in_challenges'], fixed: '24 hours', remove: pruneSignIns },
  { tables: ['events', 'deliveries', 'delivery_attempts'], set: 'events', remove: pruneEvents },
  { tables: ['webhook_endpoints'], set: 'events', remove: pruneEndpoints },
  { tables: ['checkout_sessions'], set: 'checkouts', remove: pruneUnusedSessions },
  { tables: ['invitations'], set: 'invitations', remove: pruneInvitations },
  { tables: ['mails'], fixed: '30 days', remove: pruneMails },
  { tables: ['api_requests'], fixed: '7 days', remove: pruneRequests },
  { tables: ['payment_changes'], fixed: '2 hours', remove: forgetUncountedChanges },
  { tables: ['alerts'], set: 'alerts', remove: pruneAlerts },
]
