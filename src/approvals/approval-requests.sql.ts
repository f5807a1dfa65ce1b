/** Requests for approvals: opened with what they hold up, closed by a person, by time, or by the signer. */
import type { Asset } from '../core/assets.ts'
import type { AccountId, ApprovalRequestId, PayoutBatchId, UserId, WithdrawalId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { listOf, type Page } from '../db/list.ts'
import { isOrIsNot, type ListQuery } from '../db/list-filters.ts'
import { allRows, anyRow, countRows } from '../db/rows.ts'
import { APPROVAL_HOURS, type ApprovalCount, GRACE_MINUTES } from './approval-policy.ts'
import {
  APPROVAL_STATUSES,
  type ApprovalRequest,
  type Asked,
  askedFromRow,
  termsOf,
} from './approval-request.ts'
import type { AskedBy } from './asker.ts'

type RequestRow = Omit<ApprovalRequest, 'asked'> & {
  readonly act: Asked['act']
  readonly withdrawalId: WithdrawalId | null
  readonly batchId: PayoutBatchId | null
  readonly terms: unknown
}

const COLUMNS = `r.account_id as "accountId", r.id, r.act, r.withdrawal_id as "withdrawalId", r.batch_id as "batchId", r.terms,
  r.asked_by as "askedBy", r.needed, r.valid_until as "validUntil", r.status, r.declined_by as "declinedBy",
  r.refused_reason as "refusedReason", r.created_at as "createdAt", r.decided_at as "decidedAt"`

function fromRow({ act, withdrawalId, batchId, terms, ...row }: RequestRow): ApprovalRequest | null {
  const asked = askedFromRow({ act, withdrawalId, batchId, terms })
  return asked && { ...row, asked }
}

const fromRows = (rows: readonly RequestRow[]): ApprovalRequest[] =>
  rows.map(fromRow).filter((request) => request !== null)

/** @param text - Answers with {@link COLUMNS}. */
async function findOne(
  db: Queryable,
  text: string,
  values: readonly unknown[],
): Promise<ApprovalRequest | null> {
  const { rows } = await db.query<RequestRow>(text, values)
  return rows[0] ? fromRow(rows[0]) : null
}

export interface RequestDraft {
  readonly accountId: AccountId
  readonly id: ApprovalRequestId
  readonly asked: Asked
  readonly askedBy: AskedBy
  readonly needed: ApprovalCount
}

/**
 * To the second: the statement names it, and both sides make it anew from the row.
 *
 * @returns False where one is open for the same already: of a withdrawal, a batch, a change of the policy.
 */
export const openRequest = (tx: Tx, { asked, ...draft }: RequestDraft): Promise<boolean> =>
  anyRow(
    tx,
    `insert into approval_requests (account_id, id, act, withdrawal_id, batch_id, terms, asked_by, needed, valid_until)
     values ($1, $2, $3, $4, $5, $6, $7, $8, date_trunc('second', now()) + ${APPROVAL_HOURS} * interval '1 hour')
     on conflict do nothing`,
    [
      draft.accountId,
      draft.id,
      asked.act,
      asked.act === 'withdrawal' ? asked.withdrawalId : null,
      asked.act === 'batch' ? asked.batchId : null,
      termsOf(asked),
      draft.askedBy,
      draft.needed,
    ],
  )

export const findRequest = (db: Queryable, accountId: AccountId, id: ApprovalRequestId) =>
  findOne(db, `select ${COLUMNS} from approval_requests r where r.account_id = $1 and r.id = $2`, [
    accountId,
    id,
  ])

export const lockRequest = (tx: Tx, accountId: AccountId, id: ApprovalRequestId) =>
  findOne(tx, `select ${COLUMNS} from approval_requests r where r.account_id = $1 and r.id = $2 for update`, [
    accountId,
    id,
  ])

/** As many as a page shows: who asks for more than people can read must not hide the rest of the dashboard. */
export const OPEN_MAX = 100

const ACTS: readonly Asked['act'][] = ['withdrawal', 'batch', 'policy', 'allow', 'disallow']
export const DECIDED_STATUSES = APPROVAL_STATUSES.filter((status) => status !== 'open')

const { page: readDecided } = listOf<RequestRow>({
  from: 'approval_requests r',
  columns: COLUMNS,
  account: 'r.account_id',
  id: 'r.id',
  always: `r.status <> 'open'`,
  sorts: { created_at: 'r.created_at' },
  filters: {
    filter_status: isOrIsNot('r.status', DECIDED_STATUSES, 'filter_status_op'),
    filter_kind: isOrIsNot('r.act', ACTS, 'filter_kind_op'),
  },
})

/** A page of what was decided. @throws {Refusal} `invalid` for a wrong query. */
export async function listDecided(
  db: Queryable,
  accountId: AccountId,
  query: ListQuery,
): Promise<Page<ApprovalRequest>> {
  const page = await readDecided(db, accountId, query)
  return { ...page, items: fromRows(page.items) }
}

/** The open ones, those that end first before all, then what was decided lately. */
export async function listRequests(
  db: Queryable,
  accountId: AccountId,
  decidedMax: number,
): Promise<ApprovalRequest[]> {
  const { rows } = await db.query<RequestRow>(
    `(select ${COLUMNS} from approval_requests r where r.account_id = $1 and r.status = 'open'
      order by r.valid_until, r.id limit ${OPEN_MAX})
     union all
     (select ${COLUMNS} from approval_requests r where r.account_id = $1 and r.status <> 'open'
      order by r.created_at desc, r.id desc limit $2)`,
    [accountId, decidedMax],
  )
  return fromRows(rows)
}

/** The change of the policy that waits, if one does. */
export const findPolicyChange = (db: Queryable, accountId: AccountId) =>
  findOne(
    db,
    `select ${COLUMNS} from approval_requests r where r.account_id = $1 and r.act = 'policy' and r.status = 'open'`,
    [accountId],
  )

/** The requests that withdrawals wait for, or waited for, alone or as part of their batch; by the withdrawal's id. */
export async function requestsOfWithdrawals(
  db: Queryable,
  accountId: AccountId,
  ids: readonly WithdrawalId[],
): Promise<Map<WithdrawalId, ApprovalRequest>> {
  if (ids.length === 0) return new Map()
  const { rows } = await db.query<RequestRow & { readonly of: WithdrawalId }>(
    `select ${COLUMNS}, w.id as of from withdrawals w join approval_requests r
       on r.account_id = w.account_id and (r.withdrawal_id = w.id or r.batch_id = w.batch_id)
     where w.account_id = $1 and w.id = any($2::uuid[])`,
    [accountId, ids],
  )
  return new Map(
    rows.flatMap(({ of, ...row }) => {
      const request = fromRow(row)
      return request ? [[of, request] as const] : []
    }),
  )
}

export async function declineRequest(
  tx: Tx,
  { accountId, id }: Pick<ApprovalRequest, 'accountId' | 'id'>,
  by: UserId,
): Promise<void> {
  await tx.query(
    `update approval_requests set status = 'declined', declined_by = $3, decided_at = now()
     where account_id = $1 and id = $2 and status = 'open'`,
    [accountId, id, by],
  )
}

/** Whether somebody said no to a withdrawal, alone or as part of its batch. */
export async function wasDeclined(db: Queryable, accountId: AccountId, id: WithdrawalId): Promise<boolean> {
  const request = (await requestsOfWithdrawals(db, accountId, [id])).get(id)
  return request?.status === 'declined'
}

const GRACE = `interval '${GRACE_MINUTES} minutes'`

/**
 * Closes what the signer has left open: changes that ran out, and what its withdrawals no longer wait for, since they left or
 * failed. While one of them waits, the signer alone says that it is over.
 *
 * @returns How many.
 */
export const closeOver = (tx: Tx): Promise<number> =>
  countRows(
    tx,
    `update approval_requests r set decided_at = now(), status = o.status,
       refused_reason = case o.status when 'refused' then 'cancelled' end
     from (select q.account_id, q.id,
         case when bool_or(w.status in ('broadcast', 'completed')) then 'approved'
              when q.valid_until < now() then 'expired' else 'refused' end as status
       from approval_requests q left join withdrawals w
         on w.account_id = q.account_id and (w.id = q.withdrawal_id or w.batch_id = q.batch_id)
       where q.status = 'open' group by q.account_id, q.id
       having (count(w.id) = 0 and q.valid_until + ${GRACE} < now())
         or (count(w.id) > 0 and not bool_or(w.status = 'requested'))) o
     where r.account_id = o.account_id and r.id = o.id and r.status = 'open'`,
  )

export interface Unasked {
  readonly accountId: AccountId
  readonly withdrawalId: WithdrawalId
  readonly asset: Asset
  readonly askedBy: AskedBy
}

/** What the signer holds up for approvals that nobody was asked for: the policy that was published then was behind. */
export const listUnasked = (db: Queryable, limit: number): Promise<Unasked[]> =>
  allRows(
    db,
    `select w.account_id as "accountId", w.id as "withdrawalId", w.asset, w.asked_by as "askedBy" from withdrawals w
     where w.status = 'requested' and w.waiting_for = 'approval' and w.refused_reason is null and not w.cancel_wanted
       and not exists (select from approval_requests r where r.account_id = w.account_id
         and (r.withdrawal_id = w.id or r.batch_id = w.batch_id))
     order by w.created_at limit $1`,
    [limit],
  )

/** Open ones that nobody was told of yet, and that this transaction tells of. Locks them; other workers pass them by. */
export async function takeUntoldRequests(tx: Tx, limit: number): Promise<ApprovalRequest[]> {
  const { rows } = await tx.query<RequestRow>(
    `update approval_requests r set told_at = now()
     where (r.account_id, r.id) in (select account_id, id from approval_requests
       where status = 'open' and told_at is null order by created_at limit $1 for update skip locked)
     returning ${COLUMNS}`,
    [limit],
  )
  return fromRows(rows)
}
