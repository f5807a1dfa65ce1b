/** Who is signed in. A session is found by the hash of its token, and lives as long as its ages and its person let it. */
import { newId, type UserId, type UserSessionId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { allRows, anyRow, countRows, firstRow } from '../db/rows.ts'
import { newToken } from './token.ts'
import type { Membership } from './user.ts'

export const SESSION_IDLE_HOURS = 8
export const SESSION_HOURS = 24
/** How long a right password may wait for its second factor. */
const HALF_MINUTES = 10
export const STEP_UP_MINUTES = 5

/** What was proven at sign-in. */
export type Factor = 'half' | 'password' | 'totp' | 'recovery' | 'passkey' | 'sign_on'

export interface Session {
  readonly id: UserSessionId
  readonly userId: UserId
  readonly email: string
  readonly name: string
  readonly isOperator: boolean
  readonly factor: Factor
  /** Confirmed within the last minutes that it is still he. */
  readonly isSteppedUp: boolean
  readonly hasPassword: boolean
  readonly hasTotp: boolean
  readonly hasPasskey: boolean
  readonly memberships: readonly Membership[]
}

const ALIVE = `s.created_at > now() - ${SESSION_HOURS} * interval '1 hour'
  and s.seen_at > now() - ${SESSION_IDLE_HOURS} * interval '1 hour'
  and (s.factor <> 'half' or s.created_at > now() - ${HALF_MINUTES} * interval '1 minute')`

export const findSession = (db: Queryable, tokenHash: Uint8Array): Promise<Session | null> =>
  firstRow(
    db,
    `select s.id, s.user_id as "userId", u.email, u.name, u.is_operator as "isOperator", s.factor,
       coalesce(s.stepped_up_at > now() - ${STEP_UP_MINUTES} * interval '1 minute', false) as "isSteppedUp",
       u.password_hash is not null as "hasPassword",
       exists (select from totp t where t.user_id = u.id and t.confirmed_at is not null) as "hasTotp",
       exists (select from passkeys p where p.user_id = u.id) as "hasPasskey",
       coalesce((select json_agg(json_build_object('merchantId', m.id, 'merchantName', m.name, 'role', x.role,
           'timeZone', m.time_zone, 'liveAccountId', m.live_account_id, 'testAccountId', m.test_account_id)
           order by m.name, m.id)
         from members x join merchants m on m.id = x.merchant_id where x.user_id = u.id), '[]') as memberships
     from sessions s join users u on u.id = s.user_id
     where s.token_hash = $1 and u.disabled_at is null and ${ALIVE}`,
    [tokenHash],
  )

/** Once a minute is often enough to tell idle from busy. */
export async function touchSession(db: Queryable, id: UserSessionId): Promise<void> {
  await db.query(
    `update sessions set seen_at = now() where id = $1 and seen_at < now() - interval '1 minute'`,
    [id],
  )
}

export interface SessionDraft {
  readonly userId: UserId
  readonly factor: Factor
  /** Whether he was asked just now: not by a provider that let him pass as one it knows. */
  readonly isSteppedUp: boolean
  readonly address: string
  readonly agent: string
}

/** @returns The token for the cookie. */
export async function insertSession(tx: Tx, draft: SessionDraft): Promise<string> {
  const token = newToken()
  await tx.query(
    `insert into sessions (id, user_id, token_hash, factor, address, agent, stepped_up_at)
     values ($1, $2, $3, $4, $5, $6, case when $7 then now() end)`,
    [
      newId('ses'),
      draft.userId,
      token.hash,
      draft.factor,
      draft.address,
      draft.agent.slice(0, 200),
      draft.isSteppedUp,
    ],
  )
  return token.text
}

/** What the session proves now, under a token nobody has seen before (ASVS 5, 7.2.4). @returns The token. */
export async function stepUpSession(tx: Tx, id: UserSessionId, factor: Factor): Promise<string> {
  const token = newToken()
  await tx.query(
    `update sessions set token_hash = $2, factor = $3, stepped_up_at = now(), seen_at = now(), challenge = null
     where id = $1`,
    [id, token.hash, factor],
  )
  return token.text
}

export interface ListedSession {
  readonly id: UserSessionId
  readonly factor: Factor
  readonly address: string
  readonly agent: string
  readonly createdAt: Date
  readonly seenAt: Date
}

export const listSessions = (db: Queryable, userId: UserId): Promise<ListedSession[]> =>
  allRows(
    db,
    `select s.id, s.factor, s.address, s.agent, s.created_at as "createdAt", s.seen_at as "seenAt"
     from sessions s where s.user_id = $1 and ${ALIVE} order by s.seen_at desc`,
    [userId],
  )

/** @returns Whether it was his. */
export const deleteSession = (db: Queryable, userId: UserId, id: UserSessionId): Promise<boolean> =>
  anyRow(db, 'delete from sessions where user_id = $1 and id = $2', [userId, id])

/** Ends a person's sessions. @param but - The one that stays; null ends all. */
export async function deleteSessions(tx: Tx, userId: UserId, but: UserSessionId | null): Promise<void> {
  await tx.query('delete from sessions where user_id = $1 and id is distinct from $2::uuid', [userId, but])
}

/** What the next confirmation of this session has to carry. Another page that asks takes its place. */
export async function setChallenge(db: Queryable, id: UserSessionId, challenge: Uint8Array): Promise<void> {
  await db.query(
    `update sessions set challenge = $2, challenge_until = now() + interval '10 minutes' where id = $1`,
    [id, challenge],
  )
}

/** Uses the challenge up. @returns Whether it was the session's, in time and for the first time. */
export const takeChallenge = (tx: Tx, id: UserSessionId, challenge: Uint8Array): Promise<boolean> =>
  anyRow(
    tx,
    `update sessions set challenge = null where id = $1 and challenge = $2 and challenge_until > now()`,
    [id, challenge],
  )

/** Removes sessions past their age. @returns How many; fewer than `limit` means all of them. */
export const pruneSessions = (db: Queryable, limit: number): Promise<number> =>
  countRows(
    db,
    `delete from sessions where ctid = any(array(select ctid from sessions
       where created_at < now() - ${SESSION_HOURS} * interval '1 hour'
       order by created_at limit $1 for update skip locked))`,
    [limit],
  )

/** Removes what happened at the door: challenges that were used and are over, wrong passwords of a day ago. @returns How many. */
export async function pruneSignIns(db: Queryable, limit: number): Promise<number> {
  const { rowCount: challenges } = await db.query(
    `delete from sign_in_challenges where challenge in (select challenge from sign_in_challenges
       where until < now() limit $1)`,
    [limit],
  )
  const { rowCount: failures } = await db.query(
    `delete from sign_in_failures where ctid = any (array(select ctid from sign_in_failures
       where failed_at < now() - interval '1 day' order by failed_at limit $1))`,
    [limit],
  )
  return Math.max(challenges, failures)
}
