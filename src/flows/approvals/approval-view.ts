/** What a withdrawal's approval looks like from outside: how far it is, and who is awaited. */
import { type ApprovalRequest, type ApprovalStatus, isOpen } from '../../approvals/approval-request.ts'
import { listRequests, requestsOfWithdrawals } from '../../approvals/approval-requests.sql.ts'
import { type GivenApproval, listApprovals, mayCount } from '../../approvals/approvals.sql.ts'
import { listApprovers, type PinnedApprover } from '../../approvals/published.sql.ts'
import type { AccountId, UserId, WithdrawalId } from '../../core/ids.ts'
import { showId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { isRole, may } from '../../users/permissions.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'
import { namesOfAskers } from './askers.sql.ts'

export interface ApprovalProgress {
  readonly request: ApprovalRequest
  /** Those that the signer has not turned down. */
  readonly given: readonly GivenApproval[]
  /** Whom the signer would hear, and who has not spoken. */
  readonly awaiting: readonly { readonly userId: UserId; readonly name: string }[]
  /** A person's or a key's name; null where nobody is known. */
  readonly requestedBy: string | null
}

/** How far each of an account's requests is. */
export async function progressOf(
  db: Queryable,
  accountId: AccountId,
  requests: readonly ApprovalRequest[],
): Promise<ApprovalProgress[]> {
  if (requests.length === 0) return []
  const [approvals, approvers, names] = await Promise.all([
    listApprovals(
      db,
      accountId,
      requests.map(({ id }) => id),
    ),
    listApprovers(db, accountId),
    namesOfAskers(
      db,
      accountId,
      requests.map(({ askedBy }) => askedBy),
    ),
  ])
  return requests.map((request) => {
    const given = approvals.filter((each) => each.requestId === request.id && mayCount(each))
    return {
      request,
      given,
      awaiting: awaitedBy(request, given, approvers),
      requestedBy: names.get(request.askedBy) ?? null,
    }
  })
}

function awaitedBy(
  request: ApprovalRequest,
  given: readonly GivenApproval[],
  approvers: readonly PinnedApprover[],
): ApprovalProgress['awaiting'] {
  if (!isOpen(request, new Date()) || given.length >= request.needed) return []
  const people = new Map(approvers.filter(isHeard).map(({ userId, name }) => [userId, name] as const))
  for (const { userId } of given) people.delete(userId)
  return [...people]
    .map(([userId, name]) => ({ userId, name }))
    .filter(({ userId }) => showId('usr', userId) !== request.askedBy)
}

/** Whether the signer counts him, and the dashboard lets him in. */
export const isHeard = ({ counts, role }: PinnedApprover): boolean =>
  counts && role !== null && isRole(role) && may(role, 'approvals:write')

/** How many requests wait for a person, of an account. */
export async function countAwaiting(db: Queryable, accountId: AccountId, userId: UserId): Promise<number> {
  const progress = await progressOf(db, accountId, await listRequests(db, accountId, 0))
  return progress.filter(({ awaiting }) => awaiting.some((each) => each.userId === userId)).length
}

/** As the API shows it beside a withdrawal. */
export interface ApprovalResource {
  readonly status: ApprovalStatus
  readonly needed: number
  readonly given: number
  readonly valid_until: string
  readonly requested_by: string | null
  readonly awaiting: string[]
}

const resourceOf = ({ request, given, awaiting, requestedBy }: ApprovalProgress): ApprovalResource => ({
  status: request.status,
  needed: request.needed,
  given: given.length,
  valid_until: request.validUntil.toISOString(),
  requested_by: requestedBy,
  awaiting: awaiting.map(({ name }) => name),
})

/** By the withdrawal's id; what needs, and needed, nobody's approval is not in it. */
export async function approvalsOfWithdrawals(
  db: Queryable,
  accountId: AccountId,
  withdrawals: readonly Pick<Withdrawal, 'id'>[],
): Promise<Map<WithdrawalId, ApprovalResource>> {
  const requests = await requestsOfWithdrawals(
    db,
    accountId,
    withdrawals.map(({ id }) => id),
  )
  // Of a batch, one request stands for many.
  const byId = new Map([...requests.values()].map((request) => [request.id, request] as const))
  const progress = new Map(
    (await progressOf(db, accountId, [...byId.values()])).map(
      (each) => [each.request.id, resourceOf(each)] as const,
    ),
  )
  return new Map(
    [...requests].flatMap(([of, { id }]) => {
      const shown = progress.get(id)
      return shown ? [[of, shown] as const] : []
    }),
  )
}
