/** Which person a subject of an OpenID provider is. */
import type { UserId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'
import { anyRow } from '../db/rows.ts'
import type { SignOnIdentity } from './single-sign-on.ts'

/** The person whom the provider's subject was tied to; null when it was tied to none yet. */
export async function findBySubject(tx: Tx, { issuer, subject }: SignOnIdentity): Promise<UserId | null> {
  const { rows } = await tx.query<{ userId: UserId }>(
    'select user_id as "userId" from sign_on_identities where issuer = $1 and subject = $2',
    [issuer, subject],
  )
  return rows[0]?.userId ?? null
}

/** Ties a subject to a person. @returns Whether he had none of this issuer before. */
export const tieSubject = (tx: Tx, userId: UserId, { issuer, subject }: SignOnIdentity): Promise<boolean> =>
  anyRow(
    tx,
    `insert into sign_on_identities (issuer, subject, user_id) values ($1, $2, $3) on conflict do nothing`,
    [issuer, subject, userId],
  )
