/**
 * Mails about what was done and what is wrong: to the person and the owners when something changes that gets at money, to
 * the operators when an alert is raised. Acts are in the audit log with what they did, so none is missed: this reads the
 * log's chain to its end.
 */
import { newRowId, readId, showId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { FAILING_MAX } from '../../events/delivery.ts'
import { findWebhookEndpoint } from '../../events/webhook-endpoints.sql.ts'
import {
  alertLetter,
  endpointOffLetter,
  isOfPerson,
  isOfTeam,
  NOTICES,
  noticeLetter,
} from '../../mails/letters.ts'
import type { Letter } from '../../mails/mail.ts'
import { type MailDraft, queueMails } from '../../mails/mails.sql.ts'
import { membersWithRoles } from '../approvals/tell-approvers.sql.ts'
import type { Gateway } from '../gateway.ts'
import {
  emailsAround,
  emailsOfOperators,
  takeUntoldActs,
  takeUntoldAlerts,
  type UntoldAct,
} from './tell-people.sql.ts'

type Teller = Pick<Gateway, 'db' | 'settings' | 'secrets'>

const ACTS_PER_TURN = 100

/** @returns Whether there may be more to tell at once. */
export async function tellPeople(gateway: Teller): Promise<boolean> {
  return gateway.db.transaction(async (tx) => {
    const acts = await takeUntoldActs(tx, Object.keys(NOTICES), ACTS_PER_TURN)
    const drafts: MailDraft[] = []
    for (const act of acts) drafts.push(...(await noticesOf(gateway, tx, act)))
    const alerts = await takeUntoldAlerts(tx)
    if (alerts.length > 0)
      drafts.push({
        cause: `alerts:${newRowId()}`,
        kind: 'alert',
        to: await emailsOfOperators(tx),
        letter: alertLetter(alerts, `${gateway.settings.dashboardUrl}/dashboard/operator/alerts`),
      })
    await queueMails(tx, gateway.secrets, drafts)
    return acts.length === ACTS_PER_TURN
  })
}

async function noticesOf(gateway: Teller, tx: Tx, act: UntoldAct): Promise<MailDraft[]> {
  const userId = isOfPerson(act.action) ? readId('usr', personOf(act) ?? '') : null
  // What is tried out on a test account gets at nothing.
  const matters = act.isLive || isOfTeam(act.action)
  const to = userId
    ? await emailsAround(tx, userId)
    : act.accountId && matters
      ? (await membersWithRoles(tx, act.accountId, ['owner'])).map(({ email }) => email)
      : []
  const home = `${gateway.settings.dashboardUrl}/dashboard`
  const own = to.length > 0 ? await ownLetterOf(tx, act, home) : null
  const letterTo = (email: string) =>
    own ??
    noticeLetter({
      what:
        userId && email !== (act.actorName ?? act.after?.email)
          ? `${act.actorName ?? act.after?.email}: ${lower(NOTICES[act.action])}`
          : (NOTICES[act.action] ?? act.action),
      merchant: act.merchant,
      who: act.actorName ?? (act.actorKind === 'cli' ? 'the command line' : act.actorKind),
      address: act.address,
      at: act.at,
      page:
        userId || act.accountId === null ? `${home}/me` : `${home}/${showId('acct', act.accountId)}/audit`,
    })
  return to.map((email) => ({ cause: `act:${act.id}`, kind: 'notice', to: [email], letter: letterTo(email) }))
}

/** Who has the factors that changed: who changed them, unless a command did. */
const personOf = ({ actorKind, actorId, subject }: UntoldAct): string | null =>
  actorKind === 'cli' ? subject : actorId

/** What Beck did by itself says why; null for everything else, and for an endpoint that somebody removed since. */
async function ownLetterOf(tx: Tx, act: UntoldAct, home: string): Promise<Letter | null> {
  const { accountId, subject, after, merchant, at } = act
  if (act.action !== 'webhook.disable' || act.actorKind !== 'system' || !accountId || !subject) return null
  const id = readId('whk', subject)
  const endpoint = id && (await findWebhookEndpoint(tx, accountId, id))
  if (!endpoint) return null
  return endpointOffLetter({
    merchant,
    url: endpoint.url,
    failedFor: after?.reason === 'gone' ? null : FAILING_MAX.words,
    at,
    page: `${home}/${showId('acct', accountId)}/webhooks/${subject}`,
  })
}

const lower = (text = ''): string =>
  text.replace(/^Your /, 'the ').replace(/^./, (first) => first.toLowerCase())
