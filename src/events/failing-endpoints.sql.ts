/** Since when an endpoint has been failing, and when that has gone on for too long. */
import type { AccountId, WebhookEndpointId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'
import { FAILING_MAX, SILENT_DAYS } from './delivery.ts'

interface EndpointKey {
  readonly accountId: AccountId
  readonly id: WebhookEndpointId
}

/** A change of those of the endpoints that it concerns, `$1` and `$2`. Locks them by id. */
const change = (assignment: string, concerned: string): string =>
  `update webhook_endpoints w set ${assignment}
   from (
     select w.account_id, w.id
     from unnest($1::uuid[], $2::uuid[]) as k (account_id, id)
     join webhook_endpoints w on w.account_id = k.account_id and w.id = k.id
     where ${concerned}
     order by w.id for update of w
   ) k
   where w.account_id = k.account_id and w.id = k.id`

/** An attempt succeeded: the record is clean again. Locks the endpoints by id. */
export async function markEndpointsWell(tx: Tx, endpoints: readonly EndpointKey[]): Promise<void> {
  await tx.query(
    change('failing_since = null, failed_at = null', 'w.failing_since is not null'),
    arraysOf(endpoints, 'accountId', 'id'),
  )
}

/**
 * An attempt failed: the time of failure begins, or goes on. It begins anew after a silence longer than any wait between two
 * attempts: nothing was sent meanwhile, so nobody knows how long the receiver was well. Locks the endpoints by id.
 *
 * @returns Those that have been failing for {@link FAILING_MAX}.
 */
export async function markEndpointsFailing(
  tx: Tx,
  endpoints: readonly EndpointKey[],
): Promise<readonly EndpointKey[]> {
  const { rows } = await tx.query<EndpointKey & { tooLong: boolean }>(
    `${change(
      `failing_since = case when w.failed_at > now() - make_interval(days => $4) then w.failing_since else now() end,
       failed_at = now()`,
      'w.is_active',
    )}
     returning w.account_id as "accountId", w.id,
       w.failing_since <= now() - make_interval(days => $3) as "tooLong"`,
    [...arraysOf(endpoints, 'accountId', 'id'), FAILING_MAX.days, SILENT_DAYS],
  )
  return rows.filter(({ tooLong }) => tooLong).map(({ accountId, id }) => ({ accountId, id }))
}
