/**
 * Single sign-on. The first time, a person is found by the email that the provider verified; from then on by the provider's
 * own name of him, so that an email that passes to somebody else there opens nothing here.
 *
 * Whoever handed him the link that let him in could have used it himself: then what was set up with it goes the first time
 * that the provider vouches for him. What he set up by a link that came to him alone stays, and is asked for.
 */
import { forbidden } from '../../core/errors.ts'
import { showId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { dropHandedOver } from '../../users/credentials.sql.ts'
import { type Factor, type Session, stepUpSession } from '../../users/sessions.sql.ts'
import { findBySubject, tieSubject } from '../../users/sign-on-identities.sql.ts'
import type { SignOnIdentity } from '../../users/single-sign-on.ts'
import type { User } from '../../users/user.ts'
import { findUser, findUserByEmail } from '../../users/users.sql.ts'
import type { Gateway } from '../gateway.ts'
import { type Place, recordActOf } from './person.ts'
import { hasSecondFactor, openSession, type SignedIn } from './sign-in.ts'

/**
 * What the provider vouched for counts as a password, unless it says that it asked for more: then as a whole sign-in. One
 * who has a second factor here is asked for it after a mere password there.
 *
 * @throws {Refusal} `nobody_known`, `other_identity`.
 */
export async function signOn(
  gateway: Pick<Gateway, 'db'>,
  identity: SignOnIdentity,
  place: Place,
): Promise<SignedIn> {
  return gateway.db.transaction(async (tx) => {
    const { user } = await personOf(tx, identity, place)
    return openVouched(tx, user, identity, place)
  })
}

async function openVouched(tx: Tx, user: User, identity: SignOnIdentity, place: Place): Promise<SignedIn> {
  const factor: Factor = identity.isStrong
    ? 'sign_on'
    : (await hasSecondFactor(tx, user.id))
      ? 'half'
      : 'password'
  // The provider may have let him pass without a question.
  return openSession(tx, user, factor, place, false)
}

/**
 * A confirmation by the provider, which asked the person again. It is good for five minutes; what is confirmed afresh each
 * time wants a factor of Beck's own.
 *
 * @throws {Refusal} `other_person`, and as {@link signOn}.
 */
export async function stepUpBySignOn(
  gateway: Pick<Gateway, 'db'>,
  session: Session,
  identity: SignOnIdentity,
  place: Place,
): Promise<SignedIn> {
  return gateway.db.transaction(async (tx) => {
    const { user, isFresh } = await personOf(tx, identity, place)
    if (user.id !== session.userId)
      throw forbidden('other_person', 'that was somebody else’s sign-in; confirm with your own')
    // The session that asked is gone with what it was opened with.
    if (isFresh) return openVouched(tx, user, identity, place)
    // One with factors of his own shows them: the provider may know less than Beck does.
    if (session.hasTotp || session.hasPasskey)
      throw forbidden('own_factor_needed', 'confirm with your passkey or the code of your app')
    const factor: Factor = identity.isStrong ? 'sign_on' : session.factor
    return { token: await stepUpSession(tx, session.id, factor), factor }
  })
}

interface Vouched {
  readonly user: User
  /** What he signed in with before was taken away just now. */
  readonly isFresh: boolean
}

async function personOf(tx: Tx, identity: SignOnIdentity, place: Place): Promise<Vouched> {
  const known = await findBySubject(tx, identity)
  const user = known ? await findUser(tx, known) : await findUserByEmail(tx, identity.email)
  if (!user || user.disabledAt)
    throw forbidden(
      'nobody_known',
      `nobody here has the email ${identity.email.slice(0, 254)}; ask an owner or admin of your team for an invitation`,
    )
  if (known) return { user, isFresh: false }
  if (!(await tieSubject(tx, user.id, identity)))
    throw forbidden(
      'other_identity',
      'this email belongs to somebody whom your provider knows as another one; the operator can look into it',
    )
  const isFresh = await dropHandedOver(tx, user.id)
  const { issuer, subject } = identity
  await recordActOf(
    tx,
    { userId: user.id, email: user.email, address: place.address },
    { action: 'sign_on.tie', subject: showId('usr', user.id), after: { issuer, subject, anew: isFresh } },
  )
  return { user, isFresh }
}
