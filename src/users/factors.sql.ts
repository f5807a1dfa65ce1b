/** What a person proves himself with: passkeys, the codes of an app, recovery codes. */
import { newId, type PasskeyId, type UserId, type UserSessionId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { allRows, anyRow, firstRow } from '../db/rows.ts'

export interface Passkey {
  readonly userId: UserId
  readonly id: PasskeyId
  readonly credentialId: Buffer
  readonly publicKey: Buffer
  readonly counter: bigint
  readonly transports: readonly string[]
  readonly name: string
  readonly createdAt: Date
  readonly usedAt: Date | null
}

const PASSKEY = `p.user_id as "userId", p.id, p.credential_id as "credentialId", p.public_key as "publicKey", p.counter,
  p.transports, p.name, p.created_at as "createdAt", p.used_at as "usedAt"`

export const listPasskeys = (db: Queryable, userId: UserId): Promise<Passkey[]> =>
  allRows(db, `select ${PASSKEY} from passkeys p where p.user_id = $1 order by p.created_at`, [userId])

export const findPasskey = (db: Queryable, credentialId: Uint8Array): Promise<Passkey | null> =>
  firstRow(db, `select ${PASSKEY} from passkeys p where p.credential_id = $1`, [credentialId])

/** @returns False when the credential is known already. */
export const insertPasskey = (
  tx: Tx,
  passkey: Omit<Passkey, 'id' | 'createdAt' | 'usedAt'>,
): Promise<boolean> =>
  anyRow(
    tx,
    `insert into passkeys (user_id, id, credential_id, public_key, counter, transports, name)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict (credential_id) do nothing`,
    [
      passkey.userId,
      newId('psk'),
      passkey.credentialId,
      passkey.publicKey,
      passkey.counter,
      passkey.transports,
      passkey.name,
    ],
  )

/** A counter that stood still or went back tells of a copy, where one is kept at all. @returns Whether it was good. */
export const markPasskeyUsed = (tx: Tx, passkey: Passkey, counter: number): Promise<boolean> =>
  anyRow(
    tx,
    `update passkeys set used_at = now(), counter = $3
     where user_id = $1 and id = $2 and (counter < $3 or (counter = 0 and $3 = 0))`,
    [passkey.userId, passkey.id, counter],
  )

export const deletePasskey = (tx: Tx, userId: UserId, id: PasskeyId): Promise<boolean> =>
  anyRow(tx, 'delete from passkeys where user_id = $1 and id = $2', [userId, id])

/** How long a secret waits for its first code. */
const TOTP_BEGUN_MINUTES = 15

export interface Totp {
  readonly secretSealed: Buffer
  readonly confirmedAt: Date | null
}

/** The app that was set up, or is being set up by this session: another one's secret, or an old one, is none. */
export const findTotp = (
  db: Queryable,
  { id, userId }: { readonly id: UserSessionId; readonly userId: UserId },
): Promise<Totp | null> =>
  firstRow(
    db,
    `select secret_sealed as "secretSealed", confirmed_at as "confirmedAt" from totp
     where user_id = $1 and (confirmed_at is not null
       or (begun_by = $2 and begun_at > now() - ${TOTP_BEGUN_MINUTES} * interval '1 minute'))`,
    [userId, id],
  )

/** A secret to be confirmed by the session that shows it, instead of another that was not. */
export async function putTotp(
  tx: Tx,
  { id, userId }: { readonly id: UserSessionId; readonly userId: UserId },
  secretSealed: Uint8Array,
): Promise<void> {
  await tx.query(
    `insert into totp (user_id, secret_sealed, begun_by) values ($1, $2, $3)
     on conflict (user_id) do update
       set secret_sealed = excluded.secret_sealed, begun_by = excluded.begun_by, begun_at = now()
       where totp.confirmed_at is null`,
    [userId, secretSealed, id],
  )
}

/**
 * Takes the code of this counter, once; the first one confirms.
 *
 * @param secretSealed - What the code was checked with: another secret that came meanwhile is not confirmed by it.
 * @returns False for a code that was taken before.
 */
export const takeTotpCounter = (
  tx: Tx,
  userId: UserId,
  secretSealed: Uint8Array,
  counter: number,
): Promise<boolean> =>
  anyRow(
    tx,
    `update totp set last_counter = $3, confirmed_at = coalesce(confirmed_at, now())
     where user_id = $1 and secret_sealed = $2 and last_counter < $3`,
    [userId, secretSealed, counter],
  )

export async function deleteTotp(tx: Tx, userId: UserId): Promise<void> {
  await tx.query('delete from totp where user_id = $1', [userId])
}

/** New codes; the old ones are void. */
export async function replaceRecoveryCodes(
  tx: Tx,
  userId: UserId,
  hashes: readonly Uint8Array[],
): Promise<void> {
  await tx.query('delete from recovery_codes where user_id = $1', [userId])
  await tx.query('insert into recovery_codes (user_id, code_hash) select $1, unnest($2::bytea[])', [
    userId,
    hashes,
  ])
}

export const takeRecoveryCode = (tx: Tx, userId: UserId, hash: Uint8Array): Promise<boolean> =>
  anyRow(
    tx,
    'update recovery_codes set used_at = now() where user_id = $1 and code_hash = $2 and used_at is null',
    [userId, hash],
  )

export async function countRecoveryCodes(db: Queryable, userId: UserId): Promise<number> {
  const { rows } = await db.query<{ left: number }>(
    'select count(*)::int as left from recovery_codes where user_id = $1 and used_at is null',
    [userId],
  )
  return rows[0]?.left ?? 0
}
