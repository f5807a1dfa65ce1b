/** What a withdrawal's approval looks like from outside: how far it is, and who is awaited. */
import { type ApprovalRequest, isOpen } from '../../approvals/approval-request.ts'
import { requestsOfWithdrawals } from '../../approvals/approval-requests.sql.ts'
import { type GivenApproval, listApprovals, mayCount, stands } from '../../approvals/approvals.sql.ts'
import { isAsker } from '../../approvals/asker.ts'
import { listApprovers, type PinnedApprover } from '../../approvals/published.sql.ts'
import type { AccountId, UserId, WithdrawalId } from '../../core/ids.ts'
import { showId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { isRole, may } from '../../users/permissions.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'
import { type AskerNames, namesOfAskers } from './askers.sql.ts'
import { readNeeded } from './progress.sql.ts'

export interface ApprovalProgress {
  readonly request: ApprovalRequest
  /** By what was asked for and the policy in force; of what was decided, as it was asked for. */
  readonly needed: number
  /** Those that the signer has not turned down, and while it is open, whose passkey is pinned and counts. */
  readonly given: readonly GivenApproval[]
  /** The others. */
  readonly discounted: readonly GivenApproval[]
  /** Whom the signer would hear, and who has not spoken. */
  readonly awaiting: readonly { readonly userId: UserId; readonly name: string }[]
  /** Null where nobody is known. */
  readonly requestedBy: AskerNames | null
}

/** How far each of an account's requests is. */
export async function progressOf(
  db: Queryable,
  accountId: AccountId,
  requests: readonly ApprovalRequest[],
): Promise<ApprovalProgress[]> {
  if (requests.length === 0) return []
  const open = requests.filter(({ status }) => status === 'open').map(({ id }) => id)
  const [approvals, approvers, names, neededNow] = await Promise.all([
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
    readNeeded(db, accountId, open),
  ])
  return requests.map((request) => {
    const said = approvals.filter(({ requestId }) => requestId === request.id)
    const needed = neededNow.get(request.id) ?? request.needed
    const given = said.filter((each) => (request.status === 'open' ? stands(each) : mayCount(each)))
    const spoke = new Set(given.map(({ userId }) => userId))
    return {
      request,
      needed,
      given,
      discounted: said.filter((each) => !given.includes(each)),
      awaiting: given.length >= needed ? [] : awaitedBy(request, spoke, approvers),
      requestedBy: names.get(request.askedBy) ?? null,
    }
  })
}

function awaitedBy(
  request: ApprovalRequest,
  spoke: ReadonlySet<UserId>,
  approvers: readonly PinnedApprover[],
): ApprovalProgress['awaiting'] {
  if (!isOpen(request, new Date())) return []
  const people = new Map(approvers.filter(isHeard).map(({ userId, name }) => [userId, name] as const))
  for (const userId of spoke) people.delete(userId)
  return [...people]
    .map(([userId, name]) => ({ userId, name }))
    .filter(({ userId }) => !isAsker(showId('usr', userId), request.askedBy))
}

/** Whether the signer counts him, and the dashboard lets him in. */
export const isHeard = ({ counts, role }: PinnedApprover): boolean =>
  counts && role !== null && isRole(role) && may(role, 'approvals:write')

/** As the API shows it beside a withdrawal. */
const resourceOf = ({ request, needed, given, awaiting, requestedBy }: ApprovalProgress) => ({
  status: request.status,
  needed,
  given: given.length,
  valid_until: request.validUntil.toISOString(),
  requested_by: requestedBy?.name ?? null,
  awaiting: awaiting.map(({ name }) => name),
})

/** By the withdrawal's id; what needs, and needed, nobody's approval is not in it. */
export async function approvalsOfWithdrawals(
  db: Queryable,
  accountId: AccountId,
  withdrawals: readonly Pick<Withdrawal, 'id'>[],
): Promise<Map<WithdrawalId, ReturnType<typeof resourceOf>>> {
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
