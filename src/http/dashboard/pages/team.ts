/** Who belongs to the merchant, and as what. */
import { notFound } from '../../../core/errors.ts'
import { readId, showId, type UserId } from '../../../core/ids.ts'
import type { Tx } from '../../../db/database.ts'
import { type HandedOver, invitationCause } from '../../../flows/people/hand-over.ts'
import {
  changeRole,
  inviteMember,
  removeMember,
  resetMember,
  type TeamChange,
  withdrawInvitation,
} from '../../../flows/people/team.ts'
import { mailsOfCauses } from '../../../mails/mails.sql.ts'
import { INVITATION_HOURS, listInvitations } from '../../../users/invitations.sql.ts'
import { listMembers } from '../../../users/merchants.sql.ts'
import { mayGrant, ROLE_PURPOSE, ROLES } from '../../../users/permissions.ts'
import { html, type Part } from '../../hosted/html.ts'
import { button, card, copyable, field, formProblem, select, submit, table } from '../parts.ts'
import { type DashboardRow, type Move, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { badge, time } from '../words.ts'

const teamChange = (call: PlaceCall): TeamChange => ({
  person: call.person,
  role: call.place.membership.role,
  merchantId: call.place.membership.merchantId,
  accountId: call.place.account.id,
})

const ROLE_CHOICES = (call: PlaceCall) =>
  ROLES.filter((role) => mayGrant(call.place.membership.role, role)).map((role) => [role, role] as const)

async function teamPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const { merchantId, role, timeZone } = place.membership
  const [members, invitations] = await Promise.all([
    listMembers(gateway.db, merchantId),
    listInvitations(gateway.db, merchantId),
  ])
  const mails = await mailsOfCauses(
    gateway.db,
    invitations.map(({ id }) => invitationCause(id)),
  )
  const mayWrite = call.may('team:write')
  const change = (member: (typeof members)[number]): Part => {
    if (!mayWrite || !mayGrant(role, member.role)) return null
    const path = `${here}/team/${showId('usr', member.userId)}`
    return html`<details><summary>Change</summary><form method="post" action="${path}" class="row"><label class="hidden" for="role-${showId('usr', member.userId)}">Role of ${member.name}</label><select id="role-${showId('usr', member.userId)}" name="role">${ROLE_CHOICES(call).map(([each]) => html`<option value="${each}"${each === member.role && html` selected`}>${each}</option>`)}</select><button type="submit">Set</button></form><div class="actions">${button(`${path}/reset`, 'New password link', { name: `New password link for ${member.name}` })}${button(`${path}/remove`, 'Remove', { tone: 'danger', name: `Remove ${member.name}` })}</div></details>`
  }
  return {
    title: 'Team',
    nav: 'team',
    content: html`<header class="head"><h1>Team</h1></header><p class="lead">Everybody who belongs to this merchant, on one page.</p>${formProblem(call)}
${table(
  'Team',
  [
    {
      label: 'Name',
      cell: (row) =>
        html`<strong>${row.name}</strong>${row.isDisabled && html` ${badge('inactive')}`}<br><span class="hint">${row.email}</span>`,
    },
    {
      label: 'Role',
      cell: (row) => html`${row.role}<br><span class="hint">${ROLE_PURPOSE[row.role]}</span>`,
    },
    {
      label: 'Second factor',
      isMinor: true,
      cell: (row) => (row.hasFactor ? badge('active') : html`<span class="badge wait">none yet</span>`),
    },
    { label: 'Last seen', isMinor: true, cell: (row) => time(row.seenAt, timeZone) },
    { label: '', cell: change },
  ],
  members,
)}
${
  invitations.length > 0 &&
  card(
    'Invited',
    html`<ul class="rows">${invitations.map((each) => html`<li><div><strong>${each.email}</strong><span>as ${each.role}, until ${time(each.expiresAt, timeZone)}${MAIL_WORDS[mails.get(invitationCause(each.id)) ?? '']}</span></div>${mayWrite && button(`${here}/team/invitations/${showId('inv', each.id)}/withdraw`, 'Take back', { name: `Take back the invitation of ${each.email}` })}</li>`)}</ul>`,
  )
}
${mayWrite && card('Invite', html`<form method="post" action="${here}/team"><div class="pair">${field(call, { name: 'email', label: 'Email', type: 'email', required: true, maxlength: 254 })}${select(call, { name: 'role', label: 'Role', choices: ROLE_CHOICES(call), value: 'viewer' })}</div><p class="hint">${ROLES.map((each) => html`<strong>${each}</strong>: ${ROLE_PURPOSE[each]}. `)}</p>${submit(gateway.settings.sendsMail ? 'Send an invitation' : 'Make an invitation')}</form>`)}`,
  }
}

/** What became of an invitation's mail. */
const MAIL_WORDS: Readonly<Record<string, string>> = {
  queued: '; its mail is on its way',
  sent: '; its mail was sent',
  refused: '; the mail server refused its mail',
  given_up: '; its mail could not be sent',
}

/** The link to hand over, once; a mailed one is nobody's but the receiver's. */
const linkPage = (
  call: PlaceCall,
  title: string,
  text: string,
  { link, isMailed }: HandedOver,
): Sheet | Move =>
  isMailed
    ? { to: `${call.here}/team`, done: 'mailed' }
    : {
        title,
        nav: 'team',
        width: 'narrow',
        content: html`<h1>${title}</h1><p class="lead">${text} It is good once, for ${INVITATION_HOURS} hours, and shown only now.</p><div class="secret">${copyable(link, 'Copy the link')}</div><div class="actions"><a class="button primary" href="${call.here}/team">Done</a></div>`,
      }

/** @throws {Refusal} `not_found`. */
function userOf(call: PlaceCall): UserId {
  const id = readId('usr', call.params.user ?? '')
  if (!id) throw notFound('member_not_found', 'nobody like that belongs to this team')
  return id
}

/** A change of the team, as one transaction. */
const teamRow = (
  path: '' | `/${string}`,
  act: (call: PlaceCall, tx: Tx) => Promise<Sheet | Move>,
): DashboardRow =>
  placeRow('team:write', `POST /:account/team${path}`, {
    confirm: 'recent',
    handle: (call) => call.gateway.db.transaction((tx) => act(call, tx)),
    redraw: teamPage,
  })

export const teamRows: readonly DashboardRow[] = [
  placeRow('team:read', 'GET /:account/team', { handle: teamPage }),
  teamRow('', async (call, tx) => {
    const given = { email: call.form.get('email'), role: call.form.get('role') }
    const handed = await inviteMember(call.gateway, tx, teamChange(call), given)
    return linkPage(call, 'Hand this link over', `It lets ${given.email} in as ${given.role}.`, handed)
  }),
  teamRow('/invitations/:id/withdraw', async (call, tx) => {
    const id = readId('inv', call.params.id ?? '')
    if (!id) throw notFound('invitation_over', 'there is no such invitation')
    await withdrawInvitation(tx, teamChange(call), id)
    return { to: `${call.here}/team`, done: 'uninvited' }
  }),
  teamRow('/:user', async (call, tx) => {
    await changeRole(tx, teamChange(call), userOf(call), call.form.get('role'))
    return { to: `${call.here}/team`, done: 'member-changed' }
  }),
  teamRow('/:user/reset', async (call, tx) => {
    const handed = await resetMember(call.gateway, tx, teamChange(call), userOf(call))
    const text = 'Hand this link over: it sets a new password. Second factors stay.'
    return linkPage(call, 'A new password', text, handed)
  }),
  teamRow('/:user/remove', async (call, tx) => {
    const user = userOf(call)
    await removeMember(tx, teamChange(call), user)
    return { to: user === call.session.userId ? call.base : `${call.here}/team`, done: 'member-removed' }
  }),
]
