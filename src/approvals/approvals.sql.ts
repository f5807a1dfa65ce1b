/** Approvals: passkeys' signatures as they were given. The signer alone says which of them count. */
import type { AccountId, ApprovalRequestId, UserId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import type { Assertion } from './assertion.ts'

export interface GivenApproval {
  readonly requestId: ApprovalRequestId
  readonly userId: UserId
  readonly name: string
  readonly at: Date
  /** What the signer said of it: `counts`, or why not; null before it came to it. */
  readonly verdict: string | null
}

/** Whether it was not turned down. */
export const mayCount = ({ verdict }: Pick<GivenApproval, 'verdict'>): boolean =>
  verdict === null || verdict === 'counts'

/** Of some requests of an account, in the order in which they came. */
export async function listApprovals(
  db: Queryable,
  accountId: AccountId,
  requests: readonly ApprovalRequestId[],
): Promise<GivenApproval[]> {
  if (requests.length === 0) return []
  const { rows } = await db.query<GivenApproval>(
    `select a.request_id as "requestId", a.user_id as "userId", coalesce(u.name, 'somebody') as name, a.created_at as at, a.verdict
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
 * One of a person for a request. What the signer turned down he may give anew: it takes the place of the other, as late as
 * it came, since a passkey's counter went up meanwhile.
 *
 * @returns False when his stands already.
 */
export async function insertApproval(tx: Tx, approval: NewApproval): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into approvals (account_id, request_id, user_id, credential_id, authenticator_data, client_data, signature)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (account_id, request_id, user_id) do update set credential_id = excluded.credential_id,
       authenticator_data = excluded.authenticator_data, client_data = excluded.client_data, signature = excluded.signature,
       created_at = excluded.created_at, verdict = null
     where approvals.verdict is not null and approvals.verdict <> 'counts'`,
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
  return rowCount === 1
}
