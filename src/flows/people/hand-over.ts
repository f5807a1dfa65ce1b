/** Links that let somebody in: mailed where Beck sends mails, otherwise shown once to whoever hands them over. */
import type { Tx } from '../../db/database.ts'
import { invitationLetter, resetLetter } from '../../mails/letters.ts'
import { queueMails } from '../../mails/mails.sql.ts'
import { INVITATION_HOURS, type InvitationDraft, insertInvitation } from '../../users/invitations.sql.ts'
import type { Gateway } from '../gateway.ts'

/** Where a link leads. */
export const joinLink = (gateway: Pick<Gateway, 'settings'>, token: string): string =>
  `${gateway.settings.dashboardUrl}/dashboard/join/${token}`

export interface HandedOver {
  readonly link: string
  /** It is on its way to whom it is for: nobody else has to see it. */
  readonly isMailed: boolean
}

/** What a mail of an invitation is filed under. */
export const invitationCause = (id: string): string => `invitation:${id}`

/** @param to - Who it is for, and what his mail says of it. */
export async function handOver(
  gateway: Pick<Gateway, 'settings' | 'secrets'>,
  tx: Tx,
  draft: InvitationDraft,
  to: { readonly email: string; readonly merchant: string | null; readonly by: string | null },
): Promise<HandedOver> {
  const { id, token } = await insertInvitation(tx, draft)
  const link = joinLink(gateway, token)
  if (!gateway.settings.sendsMail) return { link, isMailed: false }
  const hours = draft.hours ?? INVITATION_HOURS
  const isReset = draft.kind === 'reset'
  const letter = isReset
    ? resetLetter(link, hours)
    : invitationLetter({ link, hours, merchant: to.merchant, role: draft.role ?? null, by: to.by })
  const kind = isReset ? 'reset' : 'invitation'
  await queueMails(tx, gateway.secrets, [{ cause: invitationCause(id), kind, to: [to.email], letter, hours }])
  return { link, isMailed: true }
}
