/** Approvals: passkeys' signatures as they were given. The signer alone says which of them count. */
import type { AccountId, ApprovalRequestId, UserId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { anyRow } from '../db/rows.ts'
import type { Assertion } from './assertion.ts'

export interface GivenApproval {
  readonly requestId: ApprovalRequestId
  readonly userId: UserId
  readonly name: string
  readonly at: Date
  /** What the signer said of it: `counts`, or why not; null before it came to it. */
  readonly verdict: string | null
  /** Whether its passkey is pinned, and counts by now. */
  readonly isPinned: boolean
}

/** Whether it was not turned down. */
export const mayCount = ({ verdict }: Pick<GivenApproval, 'verdict'>): boolean =>
  verdict === null || verdict === 'counts'

/** Whether it counts, by what is known now. */
export const stands = (approval: Pick<GivenApproval, 'verdict' | 'isPinned'>): boolean =>
  mayCount(approval) && approval.isPinned

/** Of a row of `approvals`, as {@link GivenApproval} says it. */
const isPinned = (
  row: string,
): string => `exists (select from pinned_approvers p where p.account_id = ${row}.account_id
  and p.credential_id = ${row}.credential_id and p.user_id = ${row}.user_id and p.removed_at is null and p.counts_from <= now())`

/** People whose approval of the request `r` stands. */
export const STANDING = `select a.user_id from approvals a where a.account_id = r.account_id and a.request_id = r.id
  and (a.verdict is null or a.verdict = 'counts') and ${isPinned('a')}`

/** Of some requests of an account, in the order in which they came. */
export async function listApprovals(
  db: Queryable,
  accountId: AccountId,
  requests: readonly ApprovalRequestId[],
): Promise<GivenApproval[]> {
  if (requests.length === 0) return []
  const { rows } = await db.query<GivenApproval>(
    `select a.request_id as "requestId", a.user_id as "userId", coalesce(u.name, 'somebody') as name, a.created_at as at, a.verdict,
       ${isPinned('a')} as "isPinned"
     from approvals a left join users u on u.id = a.user_id
     where a.account_id = $1 and a.request_id = any($2::uuid[]) order by a.created_at, a.user_id`,
    [accountId, requests],
  )
  return rows
}

export interface NewApproval extends Assertion {
  readonly accountId: AccountId
  readonly requestId: ApprovalRequestId
  readonly userId: UserId
  readonly credentialId: Uint8Array
}

/**
 * One of a person for a request. What the signer turned down, or a passkey said that is pinned no more, he may give anew: it
 * takes the place of the other, as late as it came, since a passkey's counter went up meanwhile.
 *
 * @returns False when his stands already.
 */
export const insertApproval = (tx: Tx, approval: NewApproval): Promise<boolean> =>
  anyRow(
    tx,
    `insert into approvals (account_id, request_id, user_id, credential_id, authenticator_data, client_data, signature)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (account_id, request_id, user_id) do update set credential_id = excluded.credential_id,
       authenticator_data = excluded.authenticator_data, client_data = excluded.client_data, signature = excluded.signature,
       created_at = excluded.created_at, verdict = null
     where (approvals.verdict is not null and approvals.verdict <> 'counts') or not ${isPinned('approvals')}`,
    [
      approval.accountId,
      approval.requestId,
      approval.userId,
      approval.credentialId,
      approval.authenticatorData,
      approval.clientData,
      approval.signature,
    ],
  )
