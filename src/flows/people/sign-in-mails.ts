/** Mails about a sign-in, to people who may not be there: who asks learns nothing of that. */
import { conflict, forbidden } from '../../core/errors.ts'
import { showId } from '../../core/ids.ts'
import { MINUTE_MS } from '../../core/time.ts'
import { lockoutLetter } from '../../mails/letters.ts'
import { queueMailToUser } from '../../mails/mails.sql.ts'
import { countAttempt } from '../../users/attempts.sql.ts'
import { askedResetDraft, countResets } from '../../users/invitations.sql.ts'
import { readEmail } from '../../users/user.ts'
import { findUserByEmail, lockUser } from '../../users/users.sql.ts'
import type { Gateway } from '../gateway.ts'
import { handOver } from './hand-over.ts'
import { type Place, recordActOf } from './person.ts'

/** One mail for each such quarter of an hour. */
const LOCKOUT_MS = 15 * MINUTE_MS

const OPEN_RESETS_MAX = 3

/** Tells somebody that his password waits, since a stranger guesses at it. */
export async function mailLockout(gateway: Gateway, email: string, address: string): Promise<void> {
  if (!gateway.settings.sendsMail) return
  await queueMailToUser(gateway.db, gateway.secrets, {
    email,
    cause: `lockout:${Math.floor(Date.now() / LOCKOUT_MS)}`,
    kind: 'lockout',
    letter: lockoutLetter(address),
  })
}

/**
 * Somebody lost his password. The link is mailed to him, if there is such a person and no more than two are open already;
 * the work is done after the answer, which is the same for everybody.
 *
 * @returns The work, for tests.
 * @throws {Refusal} `invalid_email`; `too_many_attempts`; `no_mail` where Beck sends none.
 */
export async function askForReset(gateway: Gateway, given: string, place: Place): Promise<Promise<void>[]> {
  if (!gateway.settings.sendsMail)
    throw conflict('no_mail', 'this Beck sends no mail; an owner or admin of your team can make you a link')
  const email = readEmail(given)
  if (!(await countAttempt(gateway.db, `reset of ${email}`, place.address)))
    throw forbidden('too_many_attempts', 'that was asked for too often; wait a quarter of an hour')
  const work = mailReset(gateway, email, place).catch((error) =>
    gateway.log.error({ err: error }, 'a link for a new password could not be made'),
  )
  // In an array, so that awaiting the answer does not await the work.
  return [work]
}

async function mailReset(gateway: Gateway, email: string, place: Place): Promise<void> {
  await gateway.db.transaction(async (tx) => {
    const user = await findUserByEmail(tx, email)
    if (!user || user.disabledAt) return
    // One after the other, or each would count without the other.
    await lockUser(tx, user.id)
    // Whoever asks may be a stranger: a link that is under way stays good, and the next ones wait until some are over.
    if ((await countResets(tx, user.id)) >= OPEN_RESETS_MAX) return
    await handOver(gateway, tx, askedResetDraft(user.id), { email: user.email, merchant: null, by: null })
    await recordActOf(
      tx,
      { userId: user.id, email: user.email, address: place.address },
      { action: 'password.ask', subject: showId('usr', user.id) },
    )
  })
}
