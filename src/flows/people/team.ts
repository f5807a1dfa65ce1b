/** Who belongs to a merchant, and with what role. A merchant never loses its last owner. */
import { conflict, forbidden, invalidField, notFound } from '../../core/errors.ts'
import { type AccountId, type InvitationId, type MerchantId, showId, type UserId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import {
  resetDraft,
  voidInvitation,
  voidInvitationsOf,
  voidInvitesTo,
  voidLinksBy,
} from '../../users/invitations.sql.ts'
import {
  countMemberships,
  deleteMember,
  findMerchant,
  listMembers,
  lockMerchant,
  type Member,
  putMember,
} from '../../users/merchants.sql.ts'
import { isRole, mayGrant, type Role } from '../../users/permissions.ts'
import { deleteSessions } from '../../users/sessions.sql.ts'
import { readEmail } from '../../users/user.ts'
import { findUser } from '../../users/users.sql.ts'
import type { Gateway } from '../gateway.ts'
import { type HandedOver, handOver } from './hand-over.ts'
import { type Person, recordActOf } from './person.ts'

/** Who changes the team, and as what. */
export interface TeamChange {
  readonly person: Person
  readonly role: Role
  readonly merchantId: MerchantId
  /** Whose audit log tells of it. */
  readonly accountId: AccountId
}

const readRole = ({ role }: TeamChange, wanted: string): Role => {
  if (!isRole(wanted)) throw invalidField('role', 'invalid_role', `there is no role "${wanted.slice(0, 40)}"`)
  if (!mayGrant(role, wanted))
    throw forbidden('role_above_own', `as ${role} you cannot make somebody ${wanted}`)
  return wanted
}

/** @throws {Refusal} `invalid_email`, `invalid_role`, `role_above_own`, `member_already`. */
export async function inviteMember(
  gateway: Pick<Gateway, 'settings' | 'secrets'>,
  tx: Tx,
  change: TeamChange,
  given: { readonly email: string; readonly role: string },
): Promise<HandedOver> {
  const email = readEmail(given.email)
  const role = readRole(change, given.role)
  const members = await lockTeam(tx, change)
  if (members.some((member) => member.email.toLowerCase() === email.toLowerCase()))
    throw conflict('member_already', `${email} belongs to the team already; change the role instead`)
  await record(tx, change, 'member.invite', null, null, { email, role })
  const merchant = await findMerchant(tx, change.merchantId)
  const draft = {
    kind: 'invite',
    email,
    merchantId: change.merchantId,
    role,
    invitedBy: change.person.userId,
  } as const
  return handOver(gateway, tx, draft, { email, merchant: merchant?.name ?? null, by: change.person.email })
}

export async function withdrawInvitation(tx: Tx, change: TeamChange, id: InvitationId): Promise<void> {
  if (!(await voidInvitation(tx, change.merchantId, id)))
    throw notFound('invitation_over', 'this invitation was used or taken back already')
  await record(tx, change, 'member.uninvite', showId('inv', id), null, null)
}

/** @throws {Refusal} `member_not_found`, `role_above_own`, `last_owner`. */
export async function changeRole(tx: Tx, change: TeamChange, userId: UserId, wanted: string): Promise<void> {
  const member = await lockMember(tx, change, userId)
  const role = readRole(change, wanted)
  if (member.role === role) return
  if (role !== 'owner') await keepAnOwner(tx, change, member)
  await putMember(tx, change.merchantId, userId, role)
  await voidLinksOf(tx, change, member)
  if (!mayGrant(role, member.role)) await voidLinksBy(tx, userId, change.merchantId)
  // What he may is read anew with every request; what he has open shows what he might.
  await deleteSessions(tx, userId, change.person.userId === userId ? change.person.sessionId : null)
  await record(tx, change, 'member.change', showId('usr', userId), { role: member.role }, { role })
}

/** @throws {Refusal} as {@link changeRole}. */
export async function removeMember(tx: Tx, change: TeamChange, userId: UserId): Promise<void> {
  const member = await lockMember(tx, change, userId)
  await keepAnOwner(tx, change, member)
  await deleteMember(tx, change.merchantId, userId)
  await voidLinksOf(tx, change, member)
  await voidLinksBy(tx, userId, change.merchantId)
  await deleteSessions(tx, userId, change.person.userId === userId ? change.person.sessionId : null)
  await record(
    tx,
    change,
    'member.remove',
    showId('usr', userId),
    { email: member.email, role: member.role },
    null,
  )
}

/** Links that were made for what he was let nobody in as what he is. */
async function voidLinksOf(tx: Tx, { merchantId }: TeamChange, member: Member): Promise<void> {
  await voidInvitationsOf(tx, 'reset', member.userId)
  await voidInvitesTo(tx, merchantId, member.email)
}

/**
 * A link with which a member makes himself a new password. Second factors stay as they are.
 *
 * @throws {Refusal} `member_elsewhere` for one who belongs to other teams too, or runs the whole Beck.
 */
export async function resetMember(
  gateway: Pick<Gateway, 'settings' | 'secrets'>,
  tx: Tx,
  change: TeamChange,
  userId: UserId,
): Promise<HandedOver> {
  const member = await lockMember(tx, change, userId)
  // Whoever sets his password gets in wherever he may: that is only theirs to hand out whose alone he is.
  const user = await findUser(tx, userId)
  if (user?.isOperator || (await countMemberships(tx, userId)) > 1)
    throw forbidden(
      'member_elsewhere',
      `${member.email} may more than this team can give; the operator makes the link: npx beck users reset ${member.email}`,
    )
  await voidInvitationsOf(tx, 'reset', userId)
  await record(tx, change, 'member.reset', showId('usr', userId), null, { email: member.email })
  const draft = { ...resetDraft(userId), invitedBy: change.person.userId }
  return handOver(gateway, tx, draft, { email: member.email, merchant: null, by: change.person.email })
}

/**
 * Changes of one team take turns, so that two owners cannot remove each other, nor somebody make a link while he is removed.
 *
 * @throws {Refusal} `role_changed` when who changes it is not any more what he was when he asked.
 */
async function lockTeam(tx: Tx, { merchantId, person, role }: TeamChange): Promise<readonly Member[]> {
  const merchant = await lockMerchant(tx, merchantId)
  const members = await listMembers(tx, merchant.id)
  if (members.find((each) => each.userId === person.userId)?.role !== role)
    throw forbidden('role_changed', 'your role in this team was changed this moment; load the page again')
  return members
}

async function lockMember(tx: Tx, change: TeamChange, userId: UserId): Promise<Member> {
  const member = (await lockTeam(tx, change)).find((each) => each.userId === userId)
  if (!member) throw notFound('member_not_found', 'nobody like that belongs to this team')
  if (!mayGrant(change.role, member.role))
    throw forbidden('role_above_own', `as ${change.role} you cannot change an ${member.role}`)
  return member
}

async function keepAnOwner(tx: Tx, change: TeamChange, member: Member): Promise<void> {
  if (member.role !== 'owner') return
  const owners = (await listMembers(tx, change.merchantId)).filter(
    (each) => each.role === 'owner' && !each.isDisabled,
  )
  if (owners.every((owner) => owner.userId === member.userId))
    throw conflict('last_owner', 'a merchant needs an owner; make somebody else one first')
}

const record = (
  tx: Tx,
  { person, accountId }: TeamChange,
  action: string,
  subject: string | null,
  before: Record<string, unknown> | null,
  after: Record<string, unknown> | null,
) => recordActOf(tx, person, { action, accountId, subject, before, after })
