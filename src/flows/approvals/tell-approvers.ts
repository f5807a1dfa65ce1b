/**
 * Mails about approvals: to those who are awaited, that they are; to the owners, what came into force and whose passkeys were
 * pinned or removed. A thief who gets an approver pinned is seen before that one counts.
 */

import type { ApprovalRequest } from '../../approvals/approval-request.ts'
import { findRequest, takeUntoldRequests } from '../../approvals/approval-requests.sql.ts'
import { takeUntoldApprovers } from '../../approvals/published.sql.ts'
import { type AccountId, showId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { approvalLetter, changeLetter, pinLetter } from '../../mails/letters.ts'
import type { Letter } from '../../mails/mail.ts'
import { type MailDraft, queueMails } from '../../mails/mails.sql.ts'
import { may, ROLES } from '../../users/permissions.ts'
import type { Gateway } from '../gateway.ts'
import { progressOf } from './approval-view.ts'
import { requestWords } from './request-words.ts'
import { tryStatementOf } from './statement-of-request.ts'
import { listUntoldChanges, membersWithRoles } from './tell-approvers.sql.ts'

type Teller = Pick<Gateway, 'db' | 'settings' | 'secrets'>

const REQUESTS_PER_TURN = 20
const APPROVING_ROLES = ROLES.filter((role) => may(role, 'approvals:write'))

/** @returns Whether there may be more to tell at once. */
export async function tellApprovers(gateway: Teller): Promise<boolean> {
  return gateway.db.transaction(async (tx) => {
    const requests = await takeUntoldRequests(tx, REQUESTS_PER_TURN)
    const drafts: MailDraft[] = []
    for (const request of requests) drafts.push(...(await askingMails(gateway, tx, request)))
    for (const { accountId, id } of await listUntoldChanges(tx)) {
      const request = await findRequest(tx, accountId, id)
      if (request) drafts.push(...(await changeMails(gateway, tx, request)))
    }
    drafts.push(...(await pinMails(gateway, tx)))
    await queueMails(tx, gateway.secrets, drafts)
    return requests.length === REQUESTS_PER_TURN
  })
}

const pageOf = ({ settings }: Teller, accountId: AccountId, path: string): string =>
  `${settings.dashboardUrl}/dashboard/${showId('acct', accountId)}${path}`

/** One for each, who need not see who else is told. */
const notices = (
  cause: string,
  readers: readonly { readonly email: string; readonly merchant: string }[],
  letterOf: (merchant: string) => Letter,
): MailDraft[] =>
  readers.map(({ email, merchant }) => ({ cause, kind: 'notice', to: [email], letter: letterOf(merchant) }))

/** Mails go out even where a statement cannot be made now; the page says more. */
async function wordsOf({ secrets }: Teller, tx: Tx, request: ApprovalRequest): Promise<string> {
  const { statement } = await tryStatementOf(tx, secrets, request)
  return statement ? requestWords(statement) : 'A request; its page says for what'
}

/** Nobody is asked whom the signer would not hear. */
async function askingMails(gateway: Teller, tx: Tx, request: ApprovalRequest): Promise<MailDraft[]> {
  const { accountId, id, validUntil } = request
  const [progress] = await progressOf(tx, accountId, [request])
  const awaited = new Set(progress?.awaiting.map(({ userId }) => userId))
  const readers = (await membersWithRoles(tx, accountId, APPROVING_ROLES)).filter(({ userId }) =>
    awaited.has(userId),
  )
  if (readers.length === 0) return []
  const words = await wordsOf(gateway, tx, request)
  return notices(`approval:${id}`, readers, (merchant) =>
    approvalLetter({
      merchant,
      what: `${words}.`,
      requestedBy: progress?.requestedBy?.name ?? request.askedBy,
      until: validUntil,
      page: pageOf(gateway, accountId, `/approvals/${showId('apr', id)}`),
    }),
  )
}

async function changeMails(gateway: Teller, tx: Tx, request: ApprovalRequest): Promise<MailDraft[]> {
  const { accountId, id } = request
  const owners = await membersWithRoles(tx, accountId, ['owner'])
  const words = await wordsOf(gateway, tx, request)
  const page = pageOf(gateway, accountId, `/approvals/${showId('apr', id)}`)
  return notices(`approved:${id}`, owners, (merchant) => changeLetter(merchant, `${words}.`, page))
}

async function pinMails(gateway: Teller, tx: Tx): Promise<MailDraft[]> {
  const drafts: MailDraft[] = []
  for (const pin of await takeUntoldApprovers(tx)) {
    const { accountId, name, fingerprint, pinnedAt, countsFrom, removedAt } = pin
    const at = removedAt ?? pinnedAt
    const owners = await membersWithRoles(tx, accountId, ['owner'])
    const page = pageOf(gateway, accountId, '/approvers')
    const isRemoved = removedAt !== null
    drafts.push(
      ...notices(`pin:${accountId}:${fingerprint}:${at.toISOString()}`, owners, (merchant) =>
        pinLetter({ merchant, name, fingerprint, countsFrom, isRemoved, page }),
      ),
    )
  }
  return drafts
}
