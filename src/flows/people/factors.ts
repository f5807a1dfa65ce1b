/** How a person proves himself, changed: whatever changes, all his other sessions end. */
import { conflict, invalid } from '../../core/errors.ts'
import { type PasskeyId, showId, type UserSessionId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import {
  deletePasskey,
  deleteTotp,
  findTotp,
  listPasskeys,
  putTotp,
  replaceRecoveryCodes,
} from '../../users/factors.sql.ts'
import { voidInvitationsOf } from '../../users/invitations.sql.ts'
import { hashPassword, requireStrongPassword } from '../../users/password.ts'
import { hashRecoveryCode, newRecoveryCodes } from '../../users/recovery-code.ts'
import {
  deleteSession,
  deleteSessions,
  type Session,
  stepUpSession,
  takeChallenge,
} from '../../users/sessions.sql.ts'
import { describeTotp, newTotpSecret, type TotpSetup } from '../../users/totp.ts'
import { wordsAbout } from '../../users/user.ts'
import { lockUser, setPassword, setUserName } from '../../users/users.sql.ts'
import type { Gateway } from '../gateway.ts'
import { takeAppCode } from './app-code.ts'
import { challengeOf, keepPasskey } from './passkeys.ts'
import { type Person, recordActOf } from './person.ts'

const recordFactor = (tx: Tx, person: Person, action: string, after: Record<string, unknown> = {}) =>
  recordActOf(tx, person, { action, after })

async function endOthers(tx: Tx, session: Session): Promise<void> {
  await deleteSessions(tx, session.userId, session.id)
}

/** A secret that the next code of this session will confirm, within a quarter of an hour; the same one until then. */
export async function beginTotp(gateway: Gateway, session: Session): Promise<TotpSetup> {
  const known = await findTotp(gateway.db, session)
  if (known?.confirmedAt) throw conflict('totp_is_set', 'an authenticator app is set up already')
  if (known)
    return describeTotp(gateway.secrets.open('totp', session.userId, known.secretSealed), session.email)
  const secret = newTotpSecret()
  await gateway.db.transaction((tx) =>
    putTotp(tx, session, gateway.secrets.seal('totp', session.userId, secret)),
  )
  const kept = await findTotp(gateway.db, session)
  return describeTotp(
    kept ? gateway.secrets.open('totp', session.userId, kept.secretSealed) : secret,
    session.email,
  )
}

export interface FactorAdded {
  /** The session's new token. */
  readonly token: string
  /** Shown once, with the first factor; null when there are codes already. */
  readonly recoveryCodes: readonly string[] | null
}

/** @throws {Refusal} `wrong_code`, when the app shows another code than it should. */
export async function confirmTotp(
  gateway: Gateway,
  session: Session,
  person: Person,
  code: string,
): Promise<FactorAdded> {
  return gateway.db.transaction(async (tx) => {
    const totp = await findTotp(tx, session)
    if (totp?.confirmedAt === null && (await takeAppCode(gateway, tx, session.userId, totp, code))) {
      await recordFactor(tx, person, 'totp.add')
      return factorAdded(tx, session, 'totp')
    }
    throw invalid(
      'wrong_code',
      'that is not the code the app should show now; check the clock of the phone, and that the newest entry was scanned',
      [{ field: 'code', message: 'is not the code of this moment' }],
    )
  })
}

/** @throws {Refusal} `passkey_refused`; `challenge_over`. */
export async function addPasskey(
  gateway: Gateway,
  session: Session,
  person: Person,
  given: { readonly response: string; readonly name: string },
): Promise<FactorAdded> {
  return gateway.db.transaction(async (tx) => {
    const challenge = challengeOf(given.response)
    if (!challenge || !(await takeChallenge(tx, session.id, challenge)))
      throw conflict('challenge_over', 'that took too long; try again')
    await keepPasskey(gateway, tx, session.userId, { ...given, challenge })
    await recordFactor(tx, person, 'passkey.add', { name: given.name })
    return factorAdded(tx, session, 'passkey')
  })
}

async function factorAdded(tx: Tx, session: Session, factor: 'totp' | 'passkey'): Promise<FactorAdded> {
  const isFirst = !session.hasTotp && !session.hasPasskey
  const recoveryCodes = isFirst ? await putRecoveryCodes(tx, session) : null
  await endOthers(tx, session)
  return { token: await stepUpSession(tx, session.id, factor), recoveryCodes }
}

async function putRecoveryCodes(tx: Tx, session: Session): Promise<readonly string[]> {
  const codes = newRecoveryCodes()
  await replaceRecoveryCodes(tx, session.userId, codes.map(hashRecoveryCode))
  return codes
}

export async function renewRecoveryCodes(
  gateway: Gateway,
  session: Session,
  person: Person,
): Promise<readonly string[]> {
  return gateway.db.transaction(async (tx) => {
    await recordFactor(tx, person, 'recovery_codes.renew')
    return putRecoveryCodes(tx, session)
  })
}

/** @throws {Refusal} `conflict`, `last_factor`: without one nothing live can be opened. */
export async function removeTotp(gateway: Gateway, session: Session, person: Person): Promise<void> {
  await gateway.db.transaction(async (tx) => {
    await requireAnother(tx, session, 'totp')
    await deleteTotp(tx, session.userId)
    await recordFactor(tx, person, 'totp.remove')
    await endOthers(tx, session)
  })
}

/** @throws {Refusal} `conflict`, `last_factor`. */
export async function removePasskey(
  gateway: Gateway,
  session: Session,
  person: Person,
  id: PasskeyId,
): Promise<void> {
  await gateway.db.transaction(async (tx) => {
    await requireAnother(tx, session, id)
    if (!(await deletePasskey(tx, session.userId, id))) return
    await recordFactor(tx, person, 'passkey.remove')
    await endOthers(tx, session)
  })
}

/** Who takes two away at once does so one after the other. */
async function requireAnother(tx: Tx, session: Session, than: PasskeyId | 'totp'): Promise<void> {
  await lockUser(tx, session.userId)
  const passkeys = (await listPasskeys(tx, session.userId)).filter(({ id }) => id !== than)
  const totp = than === 'totp' ? null : await findTotp(tx, session)
  if (passkeys.length > 0 || totp?.confirmedAt) return
  throw conflict('last_factor', 'this is the only second factor; add another one before it goes')
}

/** @throws {Refusal} `weak_password`. */
export async function changePassword(
  gateway: Gateway,
  session: Session,
  person: Person,
  password: string,
): Promise<void> {
  requireStrongPassword(password, wordsAbout(session.email, session.name))
  const hash = await hashPassword(password)
  await gateway.db.transaction(async (tx) => {
    await setPassword(tx, session.userId, hash)
    await voidInvitationsOf(tx, 'reset', session.userId)
    await recordFactor(tx, person, 'password.change')
    await endOthers(tx, session)
  })
}

/** Signs him out elsewhere; another one's session goes on. */
export async function endSession(
  gateway: Pick<Gateway, 'db'>,
  person: Person,
  id: UserSessionId,
): Promise<void> {
  await gateway.db.transaction(async (tx) => {
    if (await deleteSession(tx, person.userId, id))
      await recordActOf(tx, person, { action: 'session.end', subject: showId('ses', id) })
  })
}

export async function rename(
  gateway: Gateway,
  session: Session,
  person: Person,
  name: string,
): Promise<void> {
  await gateway.db.transaction(async (tx) => {
    await setUserName(tx, session.userId, name)
    await recordActOf(tx, person, { action: 'user.rename', before: { name: session.name }, after: { name } })
  })
}
