import { newId, type UserId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { allRows, firstRow } from '../db/rows.ts'
import type { User } from './user.ts'

const COLUMNS = `u.id, u.email, u.name, u.password_hash as "passwordHash", u.is_operator as "isOperator",
  u.created_at as "createdAt", u.disabled_at as "disabledAt"`

export const insertUser = (
  tx: Tx,
  draft: Pick<User, 'email' | 'name' | 'passwordHash' | 'isOperator'>,
): Promise<User | null> =>
  firstRow(
    tx,
    `insert into users as u (id, email, name, password_hash, is_operator) values ($1, $2, $3, $4, $5)
     on conflict (lower(email)) do nothing returning ${COLUMNS}`,
    [newId('usr'), draft.email, draft.name, draft.passwordHash, draft.isOperator],
  )

export const findUser = (db: Queryable, id: UserId): Promise<User | null> =>
  firstRow(db, `select ${COLUMNS} from users u where u.id = $1`, [id])

/** Until the transaction ends, nobody else who locks him too changes what he signs in with, or asks for it. */
export async function lockUser(tx: Tx, id: UserId): Promise<void> {
  await tx.query('select from users where id = $1 for no key update', [id])
}

export const findUserByEmail = (db: Queryable, email: string): Promise<User | null> =>
  firstRow(db, `select ${COLUMNS} from users u where lower(u.email) = lower($1)`, [email])

/** All people, oldest first; for the operator only. */
export const listUsers = (db: Queryable): Promise<User[]> =>
  allRows(db, `select ${COLUMNS} from users u order by u.created_at, u.id`)

export async function setPassword(tx: Tx, id: UserId, passwordHash: string): Promise<void> {
  await tx.query('update users set password_hash = $2 where id = $1', [id, passwordHash])
}

export async function setUserName(tx: Tx, id: UserId, name: string): Promise<void> {
  await tx.query('update users set name = $2 where id = $1', [id, name])
}

export async function makeOperator(tx: Tx, id: UserId): Promise<void> {
  await tx.query('update users set is_operator = true where id = $1', [id])
}

/** The first time stands. */
export async function disableUser(tx: Tx, id: UserId): Promise<void> {
  await tx.query('update users set disabled_at = coalesce(disabled_at, now()) where id = $1', [id])
}

export async function enableUser(tx: Tx, id: UserId): Promise<void> {
  await tx.query('update users set disabled_at = null where id = $1', [id])
}

export async function hasUser(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>('select exists (select 1 from users) as found')
  return rows[0]?.found === true
}

/** Whether there is anybody; while there is nobody, others who would be the first wait for this transaction. */
export async function lockFirstUser(tx: Tx): Promise<boolean> {
  await tx.query('lock table users in share row exclusive mode')
  return hasUser(tx)
}
