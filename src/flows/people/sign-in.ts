/**
 * Signing in: a passkey, or a password and then a second factor. What is wrong is told alike for people who are known and
 * who are not, after the same work, and counted before it is looked at.
 */
import { conflict, forbidden, unauthenticated } from '../../core/errors.ts'
import type { Tx } from '../../db/database.ts'
import { countAttempt, forgetAttempts } from '../../users/attempts.sql.ts'
import { findTotp, takeRecoveryCode } from '../../users/factors.sql.ts'
import { isPassword } from '../../users/password.ts'
import { readRecoveryCode } from '../../users/recovery-code.ts'
import {
  deleteSession,
  type Factor,
  insertSession,
  type Session,
  stepUpSession,
  takeChallenge,
} from '../../users/sessions.sql.ts'
import { takeSignInChallenge } from '../../users/sign-in-challenge.sql.ts'
import type { User } from '../../users/user.ts'
import { findUser, findUserByEmail } from '../../users/users.sql.ts'
import type { Gateway } from '../gateway.ts'
import { takeAppCode } from './app-code.ts'
import { challengeOf, verifyPasskey } from './passkeys.ts'
import { type Place, recordActOf } from './person.ts'
import { mailLockout } from './sign-in-mails.ts'

export interface SignedIn {
  /** For the cookie. */
  readonly token: string
  readonly factor: Factor
}

const WRONG = 'the email or the password is wrong'

const tooMany = () =>
  forbidden(
    'too_many_attempts',
    'too many wrong attempts; wait a quarter of an hour, or sign in with a passkey',
  )

/**
 * @returns A session of the factor `half` when a second factor is still to be shown.
 * @throws {Refusal} `wrong_password`; `too_many_attempts`.
 */
export async function signInWithPassword(
  gateway: Gateway,
  given: { readonly email: string; readonly password: string },
  place: Place,
): Promise<SignedIn> {
  if (!(await countAttempt(gateway.db, given.email, place.address))) {
    await mailLockout(gateway, given.email, place.address)
    throw tooMany()
  }
  const user = await findUserByEmail(gateway.db, given.email)
  const isRight = await isPassword(user?.passwordHash ?? null, given.password)
  if (!user || !isRight || user.disabledAt) throw unauthenticated('wrong_password', WRONG)
  return gateway.db.transaction(async (tx) => {
    const factor: Factor = (await hasSecondFactor(tx, user.id)) ? 'half' : 'password'
    if (factor !== 'half') await forgetAttempts(tx, given.email, place.address)
    return openSession(tx, user, factor, place)
  })
}

/** Whether somebody has a passkey or an app: then a password is half a sign-in. */
export async function hasSecondFactor(tx: Tx, userId: User['id']): Promise<boolean> {
  const { rows } = await tx.query<{ needed: boolean }>(
    `select exists (select from passkeys where user_id = $1)
       or exists (select from totp where user_id = $1 and confirmed_at is not null) as needed`,
    [userId],
  )
  return rows[0]?.needed === true
}

/** @throws {Refusal} `passkey_refused`. */
export async function signInWithPasskey(gateway: Gateway, response: string, place: Place): Promise<SignedIn> {
  return gateway.db.transaction(async (tx) => {
    const challenge = challengeOf(response)
    const isOurs = challenge !== null && (await takeSignInChallenge(tx, gateway.secrets, challenge))
    if (!isOurs) throw unauthenticated('passkey_refused', 'that took too long; try again')
    const passkey = await verifyPasskey(gateway, tx, { response, challenge })
    const user = await findUser(tx, passkey.userId)
    if (!user || user.disabledAt)
      throw unauthenticated('passkey_refused', 'this passkey lets nobody in any more')
    return openSession(tx, user, 'passkey', place)
  })
}

/**
 * A new session under a new token, told in the audit log once it is a whole one.
 *
 * @param wasAsked - Whether it was he who answered just now, which counts as a confirmation.
 */
export async function openSession(
  tx: Tx,
  user: User,
  factor: Factor,
  place: Place,
  wasAsked = true,
): Promise<SignedIn> {
  const isSteppedUp = wasAsked && factor !== 'half'
  const token = await insertSession(tx, { userId: user.id, factor, isSteppedUp, ...place })
  if (factor !== 'half') await recordSignIn(tx, user.id, user.email, factor, place)
  return { token, factor }
}

const recordSignIn = (tx: Tx, userId: User['id'], email: string, factor: Factor, place: Place) =>
  recordActOf(
    tx,
    { userId, email, address: place.address },
    { action: 'session.open', after: { factor, agent: place.agent } },
  )

/** What somebody shows to prove that it is he: one of these. */
export interface Proof {
  /** Of the page that asked, base64url. */
  readonly challenge: string
  /** An app's code, a recovery code, or the password of one who has neither app nor passkey. */
  readonly code: string
  /** A browser's answer for a passkey, as JSON; empty for none. */
  readonly assertion: string
}

/**
 * Checks a proof against the session's person, and gives the session a new token: for the second half of a sign-in, and
 * for a step-up. Each proof passes once: the page's challenge, the code's counter and the recovery code are used up.
 *
 * @returns The new token.
 * @throws {Refusal} `challenge_over` when the page was used already or is too old; `wrong_code`; `passkey_refused`;
 *   `too_many_attempts`.
 */
export async function proveAgain(
  gateway: Gateway,
  session: Session,
  proof: Proof,
  place: Place,
): Promise<SignedIn> {
  // By a name that strangers cannot count against: they know his email, not his session.
  const subject = `session:${session.userId}`
  if (!proof.assertion && !(await countAttempt(gateway.db, subject, place.address))) throw tooMany()
  const rightHash = await rightPasswordHash(gateway, session, proof)
  return gateway.db.transaction(async (tx) => {
    const challenge = proof.assertion
      ? challengeOf(proof.assertion)
      : Buffer.from(proof.challenge, 'base64url')
    if (challenge?.length !== 32 || !(await takeChallenge(tx, session.id, challenge)))
      throw conflict('challenge_over', 'this page was used already or is too old; confirm once more')
    const factor = proof.assertion
      ? await provePasskey(gateway, tx, session, proof.assertion, challenge)
      : await proveCode(gateway, tx, session, proof.code, rightHash)
    await forgetAttempts(tx, subject, place.address)
    if (session.factor === 'half') await recordSignIn(tx, session.userId, session.email, factor, place)
    // A password confirmed once more proves no more than the session did, and takes nothing from it.
    const proven = factor === 'password' ? session.factor : factor
    return { token: await stepUpSession(tx, session.id, proven), factor: proven }
  })
}

async function provePasskey(
  gateway: Gateway,
  tx: Tx,
  session: Session,
  response: string,
  challenge: Uint8Array,
): Promise<Factor> {
  const { userId } = await verifyPasskey(gateway, tx, { response, challenge })
  if (userId !== session.userId) throw unauthenticated('passkey_refused', 'this passkey is somebody else’s')
  return 'passkey'
}

/** Whether his password is what is asked of him. */
const hasPasswordAlone = ({ hasTotp, hasPasskey }: Session): boolean => !hasTotp && !hasPasskey

/**
 * The hash that a password was found right for; null where it is wrong, or none was asked for. In no transaction: it waits for
 * other people's passwords, and no connection and no lock should with it.
 */
async function rightPasswordHash(gateway: Gateway, session: Session, proof: Proof): Promise<string | null> {
  if (proof.assertion || !hasPasswordAlone(session)) return null
  const hash = (await findUser(gateway.db, session.userId))?.passwordHash ?? null
  return (await isPassword(hash, proof.code)) ? hash : null
}

/** @param rightHash - Of the password that `code` is. */
async function proveCode(
  gateway: Gateway,
  tx: Tx,
  session: Session,
  code: string,
  rightHash: string | null,
): Promise<Factor> {
  const totp = session.hasTotp ? await findTotp(tx, session) : null
  if (totp && (await takeAppCode(gateway, tx, session.userId, totp, code))) return 'totp'
  const recovery = hasPasswordAlone(session) ? null : readRecoveryCode(code)
  if (recovery && (await takeRecoveryCode(tx, session.userId, recovery))) return 'recovery'
  if (hasPasswordAlone(session)) {
    // Changed meanwhile, it is the password no more.
    const user = await findUser(tx, session.userId)
    if (rightHash !== null && user?.passwordHash === rightHash) return 'password'
    throw unauthenticated('wrong_code', 'that is not the password')
  }
  throw unauthenticated(
    'wrong_code',
    session.hasTotp
      ? 'that code is wrong or was used already; wait for the app to show the next one'
      : 'that is none of the recovery codes that are left',
  )
}

/** Ends the session. */
export async function signOut(gateway: Gateway, session: Session, address: string): Promise<void> {
  await gateway.db.transaction(async (tx) => {
    await deleteSession(tx, session.userId, session.id)
    await recordActOf(tx, { ...session, address }, { action: 'session.close' })
  })
}
