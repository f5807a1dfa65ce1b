/** Links that let one person in, once. */
import { type InvitationId, type MerchantId, newId, type UserId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { allRows, anyRow, countRows, firstRow } from '../db/rows.ts'
import type { Role } from './permissions.ts'
import { newToken } from './token.ts'

export const INVITATION_HOURS = 72
/** Of a link that anybody may have asked for. */
const ASKED_RESET_HOURS = 2

export interface Invitation {
  readonly id: InvitationId
  readonly kind: 'first' | 'invite' | 'reset'
  readonly email: string | null
  readonly merchantId: MerchantId | null
  readonly role: Role | null
  readonly makesOperator: boolean
  readonly userId: UserId | null
  /** Null for one that was made on the command line. */
  readonly invitedBy: UserId | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** What is left out it does not have, and does not give. */
export interface InvitationDraft
  extends Pick<Invitation, 'kind'>,
    Partial<Pick<Invitation, 'email' | 'merchantId' | 'role' | 'makesOperator' | 'userId' | 'invitedBy'>> {
  /** How long it is good; {@link INVITATION_HOURS} when left out. */
  readonly hours?: number
}

/** A link that gives a person a new password, and nothing else. */
export const resetDraft = (userId: UserId): InvitationDraft => ({ kind: 'reset', userId })

/** One that was asked for on the page of the sign-in, where strangers ask too. */
export const askedResetDraft = (userId: UserId): InvitationDraft => ({
  ...resetDraft(userId),
  hours: ASKED_RESET_HOURS,
})

const COLUMNS = `i.id, i.kind, i.email, i.merchant_id as "merchantId", i.role, i.makes_operator as "makesOperator",
  i.user_id as "userId", i.invited_by as "invitedBy", i.created_at as "createdAt", i.expires_at as "expiresAt"`

/** @returns Its token is for the link: nobody can read it again. */
export async function insertInvitation(
  db: Queryable,
  draft: InvitationDraft,
): Promise<{ readonly id: InvitationId; readonly token: string }> {
  const token = newToken()
  const id = newId('inv')
  await db.query(
    `insert into invitations (id, token_hash, kind, email, merchant_id, role, makes_operator, user_id, invited_by,
       expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + $10 * interval '1 hour')`,
    [
      id,
      token.hash,
      draft.kind,
      draft.email ?? null,
      draft.merchantId ?? null,
      draft.role ?? null,
      draft.makesOperator ?? false,
      draft.userId ?? null,
      draft.invitedBy ?? null,
      draft.hours ?? INVITATION_HOURS,
    ],
  )
  return { id, token: token.text }
}

/** Null when it is unknown, used or too old. */
export const findInvitation = (db: Queryable, tokenHash: Uint8Array): Promise<Invitation | null> =>
  firstRow(
    db,
    `select ${COLUMNS} from invitations i where i.token_hash = $1 and i.used_at is null and i.expires_at > now()`,
    [tokenHash],
  )

/** How many links could give a person a new password now. */
export async function countResets(db: Queryable, userId: UserId): Promise<number> {
  const { rows } = await db.query<{ open: number }>(
    `select count(*)::int as open from invitations i
     where i.kind = 'reset' and i.user_id = $1 and i.used_at is null and i.expires_at > now()`,
    [userId],
  )
  return rows[0]?.open ?? 0
}

/** Uses it up; null when somebody was faster. */
export const takeInvitation = (tx: Tx, tokenHash: Uint8Array): Promise<Invitation | null> =>
  firstRow(
    tx,
    `update invitations i set used_at = now()
     where i.token_hash = $1 and i.used_at is null and i.expires_at > now() returning ${COLUMNS}`,
    [tokenHash],
  )

/** Those that still let somebody in. */
export const listInvitations = (db: Queryable, merchantId: MerchantId): Promise<Invitation[]> =>
  allRows(
    db,
    `select ${COLUMNS} from invitations i
     where i.merchant_id = $1 and i.used_at is null and i.expires_at > now() order by i.created_at desc`,
    [merchantId],
  )

/** Takes an invitation back. @returns Whether the merchant had it. */
export const voidInvitation = (tx: Tx, merchantId: MerchantId, id: InvitationId): Promise<boolean> =>
  anyRow(
    tx,
    'update invitations set used_at = now() where merchant_id = $1 and id = $2 and used_at is null',
    [merchantId, id],
  )

/** The earlier links of a kind: a new one leaves none of them good. */
export async function voidInvitationsOf(
  tx: Tx,
  kind: 'first' | 'reset',
  userId: UserId | null,
): Promise<void> {
  await tx.query(
    `update invitations set used_at = now()
     where kind = $1 and user_id is not distinct from $2::uuid and used_at is null`,
    [kind, userId],
  )
}

/** Every invitation of a merchant to one email: whoever came, left or changed his role comes back by a new one only. */
export async function voidInvitesTo(tx: Tx, merchantId: MerchantId, email: string): Promise<void> {
  await tx.query(
    `update invitations set used_at = now()
     where kind = 'invite' and merchant_id = $1 and lower(email) = lower($2) and used_at is null`,
    [merchantId, email],
  )
}

/**
 * Every link that a person made for others: what he gave, he may give no more.
 *
 * @param merchantId - Whose: its invitations, and new passwords of its members. Null voids all that he made.
 */
export async function voidLinksBy(tx: Tx, userId: UserId, merchantId: MerchantId | null): Promise<void> {
  await tx.query(
    `update invitations i set used_at = now()
     where i.invited_by = $1 and i.used_at is null and ($2::uuid is null or i.merchant_id = $2
       or i.user_id in (select x.user_id from members x where x.merchant_id = $2))`,
    [userId, merchantId],
  )
}

/** Removes links that were used, or ended, long ago. @returns How many. */
export const pruneInvitations = (db: Queryable, days: number, limit: number): Promise<number> =>
  countRows(
    db,
    `delete from invitations where id in (select id from invitations
       where coalesce(used_at, expires_at) < now() - make_interval(days => $1) limit $2)`,
    [days, limit],
  )
