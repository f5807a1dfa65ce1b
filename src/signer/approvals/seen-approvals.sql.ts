/** What the signer reads of approvals and their requests, and what it says of them. Nothing of it is believed. */
import type { ApprovalStatus } from '../../approvals/approval-request.ts'
import type { Mode } from '../../core/assets.ts'
import type { AccountId, ApprovalRequestId, PayoutBatchId, UserId, WithdrawalId } from '../../core/ids.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { allRows, anyRow } from '../../db/rows.ts'
import type { WithdrawalRequest } from '../../withdrawals/withdrawal.ts'
import { WITHDRAWAL_REQUEST_COLUMNS } from '../../withdrawals/withdrawals.sql.ts'

export interface RequestRow {
  readonly accountId: AccountId
  readonly id: ApprovalRequestId
  readonly act: 'withdrawal' | 'batch' | 'policy' | 'allow' | 'disallow'
  readonly withdrawalId: WithdrawalId | null
  readonly batchId: PayoutBatchId | null
  readonly terms: unknown
  readonly askedBy: string
  readonly needed: number
  readonly validUntil: Date
  readonly status: ApprovalStatus
  /** How many policies the account had, as the database says. */
  readonly policiesShown: number
}

export interface ApprovalRow {
  readonly request: RequestRow
  readonly userId: UserId
  readonly credentialId: Buffer
  readonly authenticatorData: Buffer
  readonly clientData: Buffer
  readonly signature: Buffer
  /** False for one with more bytes than any answer has: they are not read. */
  readonly isReadable: boolean
  /** Its place among those that nothing was said of: when it came, to the microsecond. */
  readonly cameAt: string
}

/** As many as the server takes of each part. */
const PART_BYTES_MAX = 4_096

const REQUEST_COLUMNS = `r.account_id as "accountId", r.id, r.act, r.withdrawal_id as "withdrawalId", r.batch_id as "batchId", r.terms,
  r.asked_by as "askedBy", r.needed, r.valid_until as "validUntil", r.status,
  coalesce((select s.number from approval_policies s where s.account_id = r.account_id), 0) as "policiesShown"`

const part = (column: string): string => `case when s.fits then p.${column} else ''::bytea end`

/**
 * Approvals of one side's accounts that nothing was said of yet, the oldest first: a passkey's counter goes up with them.
 * The length of bytes is known without reading them.
 *
 * @param after - The last one of the page before; null for the first page.
 */
export async function listUnjudged(
  db: Queryable,
  mode: Mode,
  limit: number,
  after: ApprovalRow | null,
): Promise<ApprovalRow[]> {
  const { rows } = await db.query<RequestRow & Omit<ApprovalRow, 'request'>>(
    `select ${REQUEST_COLUMNS}, p.user_id as "userId", ${part('credential_id')} as "credentialId",
       ${part('authenticator_data')} as "authenticatorData", ${part('client_data')} as "clientData", ${part('signature')} as signature,
       s.fits as "isReadable", p.created_at::text as "cameAt"
     from approvals p
     join approval_requests r on r.account_id = p.account_id and r.id = p.request_id
     join accounts a on a.id = p.account_id and a.mode = $1
     cross join lateral (select greatest(octet_length(p.credential_id), octet_length(p.authenticator_data),
       octet_length(p.client_data), octet_length(p.signature)) <= ${PART_BYTES_MAX} as fits) s
     where p.verdict is null and ($3::text is null or (p.created_at, p.request_id, p.user_id) > ($3::timestamptz, $4::uuid, $5::uuid))
     order by p.created_at, p.request_id, p.user_id limit $2`,
    [mode, limit, after?.cameAt ?? null, after?.request.id ?? null, after?.userId ?? null],
  )
  return rows.map(
    ({ userId, credentialId, authenticatorData, clientData, signature, isReadable, cameAt, ...request }) => ({
      request,
      userId,
      credentialId,
      authenticatorData,
      clientData,
      signature,
      isReadable,
      cameAt,
    }),
  )
}

/** @returns True: something was said of it. */
export async function noteVerdict(db: Queryable, row: ApprovalRow, verdict: string): Promise<true> {
  await db.query(
    'update approvals set verdict = $4 where account_id = $1 and request_id = $2 and user_id = $3',
    [row.request.accountId, row.request.id, row.userId, verdict],
  )
  return true
}

/** Locks a request. @returns Whether it waits still. */
export const lockOpen = (tx: Tx, { accountId, id }: Pick<RequestRow, 'accountId' | 'id'>): Promise<boolean> =>
  anyRow(
    tx,
    `select from approval_requests where account_id = $1 and id = $2 and status = 'open' for update`,
    [accountId, id],
  )

/** A request that waits is over. Says it once. */
export async function closeRequest(
  db: Queryable,
  { accountId, id }: Pick<RequestRow, 'accountId' | 'id'>,
  status: 'approved' | 'expired' | 'refused',
  refusedReason: string | null = null,
): Promise<void> {
  await db.query(
    `update approval_requests set status = $3, refused_reason = $4, decided_at = now()
     where account_id = $1 and id = $2 and status = 'open'`,
    [accountId, id, status, refusedReason],
  )
}

/** Whether `r` is the request of withdrawal $2, or of its batch. */
const IS_OF_WITHDRAWAL = `(r.withdrawal_id = $2
       or r.batch_id = (select w.batch_id from withdrawals w where w.account_id = $1 and w.id = $2))`

/** The request for approvals of a withdrawal that was not approved in time. */
export async function expireRequestOf(
  db: Queryable,
  { accountId, id }: Pick<WithdrawalRequest, 'accountId' | 'id'>,
): Promise<void> {
  await db.query(
    `update approval_requests r set status = 'expired', decided_at = now()
     where r.account_id = $1 and r.status = 'open' and ${IS_OF_WITHDRAWAL}`,
    [accountId, id],
  )
}

/** What the database calls approved, and the signer does not, waits for approvals again. */
export async function reopenRequestOf(
  db: Queryable,
  { accountId, id }: Pick<WithdrawalRequest, 'accountId' | 'id'>,
): Promise<void> {
  await db.query(
    `update approval_requests r set status = 'open', decided_at = null
     where r.account_id = $1 and r.status = 'approved' and ${IS_OF_WITHDRAWAL}`,
    [accountId, id],
  )
}

export interface LineRow extends WithdrawalRequest {
  readonly mac: Buffer
}

/** The withdrawals that a request is for: one, or those of a batch. */
export const listLines = (
  db: Queryable,
  { accountId, withdrawalId, batchId }: Pick<RequestRow, 'accountId' | 'withdrawalId' | 'batchId'>,
): Promise<LineRow[]> =>
  allRows(
    db,
    `select ${WITHDRAWAL_REQUEST_COLUMNS}, w.mac from withdrawals w
     where account_id = $1 and (id = $2 or batch_id = $3) order by id`,
    [accountId, withdrawalId, batchId],
  )

/** Those of the accounts that are of one side. */
export async function accountsOf(db: Queryable, mode: Mode, ids: readonly AccountId[]): Promise<AccountId[]> {
  const { rows } = await db.query<{ id: AccountId }>(
    'select id from accounts where mode = $1 and id = any($2::uuid[])',
    [mode, ids],
  )
  return rows.map(({ id }) => id)
}
