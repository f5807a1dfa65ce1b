/** Coming in by a link: the very first person, one who was invited, one who gets a new password. */
import { findAccount, listAccounts } from '../../accounts/accounts.sql.ts'
import { conflict, forbidden, notFound } from '../../core/errors.ts'
import { type AccountId, showId } from '../../core/ids.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { mailsOfCauses } from '../../mails/mails.sql.ts'
import { markHandedOver } from '../../users/credentials.sql.ts'
import { replaceRecoveryCodes } from '../../users/factors.sql.ts'
import {
  findInvitation,
  type Invitation,
  insertInvitation,
  takeInvitation,
  voidInvitationsOf,
  voidInvitesTo,
} from '../../users/invitations.sql.ts'
import {
  findMerchant,
  listMembers,
  lockMerchant,
  type Merchant,
  putMember,
} from '../../users/merchants.sql.ts'
import { hashPassword, requireStrongPassword } from '../../users/password.ts'
import { mayGrant } from '../../users/permissions.ts'
import { hashRecoveryCode, newRecoveryCodes } from '../../users/recovery-code.ts'
import { deleteSessions } from '../../users/sessions.sql.ts'
import { takeSignInChallenge } from '../../users/sign-in-challenge.sql.ts'
import { readToken } from '../../users/token.ts'
import { readEmail, readName, type User, wordsAbout } from '../../users/user.ts'
import {
  findUser,
  findUserByEmail,
  hasUser,
  insertUser,
  lockFirstUser,
  makeOperator,
  setPassword,
} from '../../users/users.sql.ts'
import type { Gateway } from '../gateway.ts'
import { invitationCause, joinLink } from './hand-over.ts'
import { merchantOfAccount } from './merchants.ts'
import { challengeOf, keepPasskey } from './passkeys.ts'
import { type Place, recordActOf } from './person.ts'
import { hasSecondFactor, openSession, type SignedIn } from './sign-in.ts'

/** {@link makeFirstLink} in a transaction of its own: each start of the API that somebody watches. */
export const inviteFirstPerson = (gateway: Pick<Gateway, 'db' | 'settings'>): Promise<string | null> =>
  gateway.db.transaction((tx) => makeFirstLink(gateway, tx))

/**
 * While there is nobody yet, a link for the first person, which voids the one before.
 *
 * @returns The link, or null once there is somebody.
 */
export async function makeFirstLink(gateway: Pick<Gateway, 'settings'>, tx: Tx): Promise<string | null> {
  if (await hasUser(tx)) return null
  await voidInvitationsOf(tx, 'first', null)
  const { token } = await insertInvitation(tx, { kind: 'first', makesOperator: true })
  return joinLink(gateway, token)
}

export interface OpenInvitation extends Invitation {
  readonly merchantName: string | null
  /** Who it lets in again: known already, so the link only adds to what he may. */
  readonly known: User | null
}

/** @throws {Refusal} `not_found`, `invitation_over`. */
export async function readInvitation(db: Queryable, token: string): Promise<OpenInvitation> {
  const hash = readToken(token)
  const invitation = hash && (await findInvitation(db, hash))
  if (!invitation || (invitation.kind === 'first' && (await hasUser(db)))) throw over()
  const merchant = invitation.merchantId && (await findMerchant(db, invitation.merchantId))
  const known = invitation.userId
    ? await findUser(db, invitation.userId)
    : invitation.email
      ? await findUserByEmail(db, invitation.email)
      : null
  return { ...invitation, merchantName: merchant ? merchant.name : null, known }
}

const over = () =>
  notFound('invitation_over', 'this link was used already or is too old; ask whoever sent it for another one')

/** A reset gives a new password and nothing more: second factors stay, and none comes in by its link. */
export const resetTakesPassword = () =>
  forbidden('passkey_refused', 'this link is for a new password; add a passkey once you are signed in')

export interface Joining {
  readonly name: string
  readonly email: string
  /** Empty with a passkey. */
  readonly password: string
  /** A browser's answer with a new passkey, as JSON; empty with a password. */
  readonly passkey: string
}

export interface Joined extends SignedIn {
  readonly user: User
  /** Shown once, with a passkey. */
  readonly recoveryCodes: readonly string[] | null
}

/**
 * Uses the link up, makes the person, and signs him in.
 *
 * @throws {Refusal} `invitation_over`; `weak_password`, `invalid_name`, `invalid_email`, `passkey_refused`;
 *   `email_taken`, when it is a person's who has to sign in instead.
 */
export async function join(gateway: Gateway, token: string, given: Joining, place: Place): Promise<Joined> {
  const open = await readInvitation(gateway.db, token)
  if (open.kind === 'reset' && given.passkey) throw resetTakesPassword()
  const email = open.email ?? open.known?.email ?? readEmail(given.email)
  const name = open.kind === 'reset' && open.known ? open.known.name : readName(given.name)
  if (!given.passkey) requireStrongPassword(given.password, wordsAbout(email, name))
  const passwordHash = given.passkey ? null : await hashPassword(given.password)
  const hash = readToken(token)
  return gateway.db.transaction(async (tx) => {
    if (open.kind === 'first' && (await lockFirstUser(tx))) throw over()
    const invitation = hash && (await takeInvitation(tx, hash))
    if (!invitation) throw over()
    const user =
      invitation.kind === 'reset'
        ? await resetPassword(tx, invitation, passwordHash)
        : await insertUser(tx, { email, name, passwordHash, isOperator: invitation.makesOperator })
    if (!user) throw conflict('email_taken', 'somebody has this email already; sign in with it instead')
    const person = { userId: user.id, email: user.email, address: place.address }
    const accountId = await putIntoMerchant(tx, invitation, user)
    if (invitation.kind !== 'first' && !(await wasMailed(tx, invitation))) await markHandedOver(tx, user.id)
    await recordActOf(tx, person, {
      action: invitation.kind === 'reset' ? 'password.reset' : 'user.join',
      accountId,
      subject: showId('usr', user.id),
      after: { role: invitation.role, operator: invitation.makesOperator },
    })
    if (!given.passkey) {
      const needsFactor = invitation.kind === 'reset' && (await hasSecondFactor(tx, user.id))
      return {
        ...(await openSession(tx, user, needsFactor ? 'half' : 'password', place)),
        user,
        recoveryCodes: null,
      }
    }
    const challenge = challengeOf(given.passkey)
    if (!challenge || !(await takeSignInChallenge(tx, gateway.secrets, challenge)))
      throw conflict('challenge_over', 'that took too long; try again')
    await keepPasskey(gateway, tx, user.id, { response: given.passkey, challenge, name: 'First passkey' })
    const recoveryCodes = newRecoveryCodes()
    await replaceRecoveryCodes(tx, user.id, recoveryCodes.map(hashRecoveryCode))
    return { ...(await openSession(tx, user, 'passkey', place)), user, recoveryCodes }
  })
}

async function resetPassword(
  tx: Tx,
  { userId }: Invitation,
  passwordHash: string | null,
): Promise<User | null> {
  const user = userId && (await findUser(tx, userId))
  if (!user || user.disabledAt) throw over()
  if (passwordHash) await setPassword(tx, user.id, passwordHash)
  await deleteSessions(tx, user.id, null)
  // Others of his links that are still on their way set no other one.
  await voidInvitationsOf(tx, 'reset', user.id)
  return user
}

/** A link that was not mailed was shown to whoever handed it over. */
async function wasMailed(tx: Tx, { id }: Invitation): Promise<boolean> {
  const cause = invitationCause(id)
  return (await mailsOfCauses(tx, [cause])).has(cause)
}

/**
 * The first person owns the first merchant. Other invitations to him are good no more: he may what this one says.
 *
 * @returns The account whose audit log tells of him; null for none.
 */
async function putIntoMerchant(
  tx: Tx,
  invitation: Pick<Invitation, 'kind' | 'merchantId' | 'role'>,
  user: Pick<User, 'id' | 'email'>,
): Promise<AccountId | null> {
  const { merchantId, role } = invitation
  const merchant = merchantId
    ? await findMerchant(tx, merchantId)
    : invitation.kind === 'first'
      ? await firstMerchant(tx)
      : null
  if (!merchant) return null
  await putMember(tx, merchant.id, user.id, role ?? 'owner')
  await voidInvitesTo(tx, merchant.id, user.email)
  return merchant.liveAccountId ?? merchant.testAccountId
}

async function firstMerchant(tx: Tx): Promise<Merchant | null> {
  const [first] = await listAccounts(tx)
  const account = first && (await findAccount(tx, first.id))
  return account ? merchantOfAccount(tx, account) : null
}

/**
 * One who is known already takes up what a link offers, signed in.
 *
 * @throws {Refusal} `invitation_over`; `member_already`.
 */
export async function acceptKnown(
  gateway: Pick<Gateway, 'db'>,
  token: string,
  user: Pick<User, 'id' | 'email'>,
  address: string,
): Promise<void> {
  const hash = readToken(token)
  await gateway.db.transaction(async (tx) => {
    const invitation = hash ? await takeInvitation(tx, hash) : null
    const isHis = invitation?.email?.toLowerCase() === user.email.toLowerCase()
    if (invitation?.kind !== 'invite' || !isHis) throw over()
    await requireNewcomer(tx, invitation, user)
    const accountId = await putIntoMerchant(tx, invitation, user)
    if (invitation.makesOperator) await makeOperator(tx, user.id)
    // Whoever made such a link could give what it opened then, not what he may from now on.
    await voidInvitationsOf(tx, 'reset', user.id)
    await recordActOf(
      tx,
      { userId: user.id, email: user.email, address },
      {
        action: 'user.join',
        accountId,
        subject: showId('usr', user.id),
        after: { role: invitation.role, operator: invitation.makesOperator },
      },
    )
  })
}

/** A member's role is the team's to change. Only the command line's link raises it, where no owner is left who could. */
async function requireNewcomer(
  tx: Tx,
  { merchantId, role, invitedBy }: Invitation,
  { id }: Pick<User, 'id'>,
): Promise<void> {
  if (!merchantId || !role) return
  await lockMerchant(tx, merchantId)
  const member = (await listMembers(tx, merchantId)).find((each) => each.userId === id)
  if (!member || (invitedBy === null && mayGrant(role, member.role))) return
  throw conflict('member_already', 'you belong to this team already; an owner or admin changes your role')
}
