/** All that a person signs in with, at once. */
import type { UserId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'
import { anyRow } from '../db/rows.ts'
import { voidInvitationsOf } from './invitations.sql.ts'
import { deleteSessions } from './sessions.sql.ts'

/** He came in, or got his password, by a link that somebody else saw too. */
export async function markHandedOver(tx: Tx, id: UserId): Promise<void> {
  await tx.query('update users set is_handed_over = true where id = $1', [id])
}

/**
 * Takes away what a person signs in with, his sessions and his open links, if somebody else may have made them. Locks his
 * row first, so that whoever comes in meanwhile comes before or after all of it.
 *
 * @returns Whether it was taken away.
 */
export async function dropHandedOver(tx: Tx, id: UserId): Promise<boolean> {
  if (!(await anyRow(tx, 'select from users where id = $1 and is_handed_over for update', [id]))) return false
  await dropCredentials(tx, id)
  return true
}

/** Takes away password and factors of a person, his sessions and his open links, whoever made them. What his provider says of him stays. */
export async function dropCredentials(tx: Tx, id: UserId): Promise<void> {
  await tx.query('update users set is_handed_over = false, password_hash = null where id = $1', [id])
  await tx.query('delete from passkeys where user_id = $1', [id])
  await tx.query('delete from totp where user_id = $1', [id])
  await tx.query('delete from recovery_codes where user_id = $1', [id])
  await deleteSessions(tx, id, null)
  await voidInvitationsOf(tx, 'reset', id)
}
