/** Sends mails that are due, and writes those that tell of acts and alerts. Runs where SMTP_URL is set. */
import { raiseAlert } from '../alerts/alerts.sql.ts'
import { InvariantBroken } from '../core/errors.ts'
import { pause } from '../core/pause.ts'
import { SECOND_MS } from '../core/time.ts'
import { tellApprovers } from '../flows/approvals/tell-approvers.ts'
import type { Gateway } from '../flows/gateway.ts'
import { tellPeople } from '../flows/people/tell-people.ts'
import { type Letter, pauseAfter } from '../mails/mail.ts'
import {
  type ClaimedMail,
  claimMails,
  finishMail,
  openLetter,
  postponeMail,
  releaseMail,
} from '../mails/mails.sql.ts'
import type { MailSender } from '../mails/send-mail.ts'
import { type Loop, startLoop } from './loop.ts'

type MailerPorts = Pick<Gateway, 'db' | 'log' | 'secrets' | 'settings'>

/** At once: each is an exchange of its own with the operator's server. */
const MAILS_PER_TURN = 5
/** Those that take longer hold up no others, until there are so many of them. */
const SLOW_MS = 10 * SECOND_MS
const IN_FLIGHT_MAX = 20
/** How long `stop` waits for what the server says: a mail that is cut off may have been taken, and comes twice then. */
const DRAIN_MS = 5 * SECOND_MS
const IDLE_MS = 5 * SECOND_MS
/** A server that stays away so often is worth the operator's look: nobody else sees that no mail comes. */
const ATTEMPTS_BEFORE_ALERT = 4

export function startMailer(
  gateway: MailerPorts,
  sender: MailSender,
  options: { readonly idleMs?: number; readonly slowMs?: number; readonly drainMs?: number } = {},
): Loop {
  const { idleMs = IDLE_MS, slowMs = SLOW_MS, drainMs = DRAIN_MS } = options
  const cut = new AbortController()
  const inFlight = new Set<Promise<void>>()
  const start = (mail: ClaimedMail): Promise<void> => {
    const done = attempt(gateway, sender, mail, cut.signal)
      .catch((error: unknown) =>
        gateway.log.error({ mail: mail.id, err: error }, 'what became of a mail could not be written'),
      )
      .finally(() => inFlight.delete(done))
    inFlight.add(done)
    return done
  }
  const loop = startLoop({
    name: 'mail',
    idleMs,
    log: gateway.log,
    async turn(signal) {
      const telling = async () => (await tellPeople(gateway)) || (await tellApprovers(gateway))
      // Whatever keeps new ones from being written, those that were are sent.
      const [told] = await Promise.allSettled([telling()])
      const due = await claimMails(gateway.db, Math.min(MAILS_PER_TURN, IN_FLIGHT_MAX - inFlight.size))
      await firstOf(Promise.all(due.map(start)), slowMs, signal)
      if (due.length === MAILS_PER_TURN) return true
      if (told.status === 'rejected') throw told.reason
      return told.value
    },
  })
  return {
    wake: () => loop.wake(),
    async stop() {
      await loop.stop()
      const patience = setTimeout(() => cut.abort(), drainMs)
      await Promise.all(inFlight)
      clearTimeout(patience)
    },
  }
}

/** Waits for the work, and no longer than that, nor when it is stopped. */
async function firstOf(work: Promise<unknown>, limitMs: number, signal: AbortSignal): Promise<void> {
  const ended = new AbortController()
  await Promise.race([
    work.finally(() => ended.abort()),
    pause(limitMs, AbortSignal.any([signal, ended.signal])),
  ])
}

const TOO_OLD = 'a mail is too old to be of use and was given up'

/** Null for one that no key opens: another attempt would change nothing. */
function openedLetter({ secrets }: MailerPorts, mail: ClaimedMail): Letter | null {
  try {
    return openLetter(secrets, mail)
  } catch (error) {
    if (error instanceof InvariantBroken) return null
    throw error
  }
}

async function attempt(
  gateway: MailerPorts,
  sender: MailSender,
  mail: ClaimedMail,
  signal: AbortSignal,
): Promise<void> {
  const { db, log } = gateway
  // Who gets mail is not the log's business; its id finds it on the operator's page.
  const told = { mail: mail.id, kind: mail.kind, attempts: mail.attempts }
  if (mail.expiresAt.getTime() <= Date.now()) {
    await finishMail(db, mail.id, 'given_up', 'too old by the time that it could be sent')
    return log.warn(told, TOO_OLD)
  }
  const letter = openedLetter(gateway, mail)
  if (letter === null) {
    await finishMail(db, mail.id, 'given_up', 'sealed with a BECK_SECRET_KEY that this Beck does not have')
    return log.error(told, 'a mail does not open with BECK_SECRET_KEY and was given up')
  }
  const outcome = await sender.send(mail.id, mail.recipient, letter, signal)
  if (outcome === null) return releaseMail(db, mail.id)
  if (outcome.kind === 'sent') {
    await finishMail(db, mail.id, 'sent', null)
    return log.debug(told, 'a mail was sent')
  }
  const { trouble } = outcome
  if (outcome.kind === 'refused') {
    await finishMail(db, mail.id, 'refused', trouble)
    return log.warn(told, 'the mail server refused a mail for good; the page of alerts says why')
  }
  const pauseMs = pauseAfter(mail.attempts, Math.random())
  if (Date.now() + pauseMs >= mail.expiresAt.getTime()) {
    await finishMail(db, mail.id, 'given_up', trouble)
    log.warn(told, TOO_OLD)
  } else {
    await postponeMail(db, mail.id, pauseMs, trouble)
    log.warn({ ...told, pauseMs }, 'the mail server did not take a mail; it is tried again')
  }
  if (mail.attempts >= ATTEMPTS_BEFORE_ALERT)
    await raiseAlert(db, {
      kind: 'mail_server',
      accountId: null,
      subject: 'SMTP_URL',
      message: `the mail server takes no mail: ${trouble}`,
    })
}
