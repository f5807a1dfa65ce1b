/** `beck users`: people of the dashboard, for who has a shell: invite, reset, list, disable. */
import { findAccount } from '../accounts/accounts.sql.ts'
import { listFingerprints } from '../approvals/published.sql.ts'
import { conflict, invalid, notFound } from '../core/errors.ts'
import { readId, showId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'
import { type HandedOver, handOver } from '../flows/people/hand-over.ts'
import { makeFirstLink } from '../flows/people/join.ts'
import { merchantOfAccount } from '../flows/people/merchants.ts'
import { dropCredentials } from '../users/credentials.sql.ts'
import { INVITATION_HOURS, resetDraft, voidInvitationsOf, voidLinksBy } from '../users/invitations.sql.ts'
import { isRole, ROLES } from '../users/permissions.ts'
import { deleteSessions } from '../users/sessions.sql.ts'
import { readEmail, type User } from '../users/user.ts'
import { disableUser, enableUser, findUserByEmail, listUsers } from '../users/users.sql.ts'
import { recordCommand } from './record-command.ts'
import { type Terminal, table } from './terminal.ts'
import { inTransaction, withStore } from './tool.ts'

interface InviteOptions {
  readonly account?: string
  readonly role?: string
  readonly operator?: true
}

/** A link that lets somebody in: to a merchant with a role, as an operator, or both. */
export async function inviteUser(terminal: Terminal, address: string, options: InviteOptions): Promise<void> {
  const email = readEmail(address)
  if ((options.account === undefined) !== (options.operator === true))
    throw invalid('usage', 'give --account ID and --role ROLE for a merchant, or --operator')
  const role = options.account === undefined ? null : (options.role ?? 'owner')
  if (role !== null && !isRole(role))
    throw invalid('invalid_role', `a role is one of ${ROLES.join(', ')}, got "${role}"`)
  const handed = await inTransaction(async (tx, { secrets }, { settings }) => {
    const id = options.account === undefined ? null : readId('acct', options.account)
    const account = id && (await findAccount(tx, id))
    if (options.account !== undefined && !account)
      throw notFound(
        'account_not_found',
        `there is no account ${options.account}; npx beck accounts list names them`,
      )
    const merchant = account ? await merchantOfAccount(tx, account) : null
    const draft = {
      kind: 'invite',
      email,
      merchantId: merchant?.id ?? null,
      role,
      makesOperator: options.operator === true,
      userId: null,
      invitedBy: null,
    } as const
    await recordCommand(tx, {
      action: 'user.invite',
      accountId: id,
      after: { email, role, operator: options.operator === true },
    })
    return handOver({ settings, secrets }, tx, draft, { email, merchant: merchant?.name ?? null, by: null })
  })
  tellLink(terminal, handed, email)
}

/** The link that makes the first person, while there is nobody. It voids the one before. */
export async function inviteFirst(terminal: Terminal): Promise<void> {
  const link = await inTransaction(async (tx, _store, { settings }) => {
    const made = await makeFirstLink({ settings }, tx)
    if (made) await recordCommand(tx, { action: 'user.first' })
    return made
  })
  if (!link)
    throw conflict(
      'somebody_there',
      'there is a first person already; npx beck users invite EMAIL --operator lets another in',
    )
  terminal.answer({ link }, [
    link,
    `Open it to make yourself the first person: it is good once, for ${INVITATION_HOURS} hours, and shown only now.`,
  ])
}

/**
 * A link with which somebody sets a new password. His sessions end when he uses it; second factors stay.
 *
 * @param options - `factors`: he lost them. Then they go at once, and his password too: alone it would let in whoever knows it.
 *   Single sign-on stays as it is. What the signer knows of his passkeys stays, and is told.
 */
export async function resetUser(
  terminal: Terminal,
  address: string,
  options: { readonly factors?: true },
): Promise<void> {
  const { handed, pinned } = await inTransaction(async (tx, { secrets }, { settings }) => {
    const user = await userOf(tx, address)
    if (options.factors) await dropCredentials(tx, user.id)
    else await voidInvitationsOf(tx, 'reset', user.id)
    await recordCommand(tx, {
      action: options.factors ? 'factors.reset' : 'user.reset',
      subject: showId('usr', user.id),
      after: { email: user.email },
    })
    const to = { email: user.email, merchant: null, by: null }
    return {
      handed: await handOver({ settings, secrets }, tx, resetDraft(user.id), to),
      pinned: options.factors ? await listFingerprints(tx, user.id) : [],
    }
  })
  const fingerprints = pinned.map(({ fingerprint }) => fingerprint)
  tellLink(terminal, handed, address, options.factors && { pinned_approvers: fingerprints }, [
    ...(options.factors
      ? [
          `${address} is signed out everywhere, and has no password and no factor now. Single sign-on is the provider's to end.`,
        ]
      : []),
    ...fingerprints.map(
      (each) => `The signer still knows a passkey of theirs: npx beck wallet approvers remove '${each}'`,
    ),
  ])
}

const tellLink = (
  terminal: Terminal,
  { link, isMailed }: HandedOver,
  email: string,
  facts: Readonly<Record<string, unknown>> = {},
  more: readonly string[] = [],
) =>
  terminal.answer({ link, is_mailed: isMailed, ...facts }, [
    link,
    isMailed
      ? `It is on its way to ${email} by mail: good once, for ${INVITATION_HOURS} hours, and shown only now.`
      : `Hand this to ${email}: it is good once, for ${INVITATION_HOURS} hours, and shown only now.`,
    ...more,
  ])

export async function showUsers(terminal: Terminal): Promise<void> {
  const users = (await withStore(({ db }) => listUsers(db))).map(shown)
  terminal.answer(
    { users },
    table(
      users.map((user) => [
        user.id,
        user.disabled_at ? 'disabled' : 'active',
        user.is_operator ? 'operator' : '',
        user.email,
        user.name,
      ]),
      'There is nobody yet: npx beck users first shows the link that makes the first person.',
    ),
  )
}

/** @param isDisabled - False lets him in again. */
export async function setUserDisabled(
  terminal: Terminal,
  address: string,
  isDisabled: boolean,
): Promise<void> {
  const user = await inTransaction(async (tx) => {
    const found = await userOf(tx, address)
    if (isDisabled) {
      await disableUser(tx, found.id)
      await voidLinksBy(tx, found.id, null)
      await deleteSessions(tx, found.id, null)
    } else await enableUser(tx, found.id)
    await recordCommand(tx, {
      action: isDisabled ? 'user.disable' : 'user.enable',
      subject: showId('usr', found.id),
      after: { email: found.email },
    })
    return userOf(tx, address)
  })
  terminal.answer(shown(user), [
    isDisabled
      ? `${user.email} is signed out everywhere and cannot come in.`
      : `${user.email} can sign in again.`,
  ])
}

async function userOf(tx: Tx, address: string): Promise<User> {
  const user = await findUserByEmail(tx, address)
  if (user) return user
  throw notFound('user_not_found', `nobody has the email ${address}; npx beck users list names all`)
}

const shown = (user: User) => ({
  id: showId('usr', user.id),
  email: user.email,
  name: user.name,
  is_operator: user.isOperator,
  created_at: user.createdAt.toISOString(),
  disabled_at: user.disabledAt?.toISOString() ?? null,
})
