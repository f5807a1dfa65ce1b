/** Mails that wait, and what became of them. */
import { newRowId } from '../core/ids.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'
import { allRows, countRows } from '../db/rows.ts'
import { type Letter, MAIL_HOURS, type MailKind, type MailStatus } from './mail.ts'

const PURPOSE = 'mail'

export interface MailDraft {
  /** `invitation:…`, `act:…`: nobody gets two mails of one cause. */
  readonly cause: string
  readonly kind: MailKind
  /** Email addresses; none is nobody. */
  readonly to: readonly string[]
  readonly letter: Letter
  /** How long what it says is true; {@link MAIL_HOURS} is the most that it waits. */
  readonly hours?: number
}

const seal = (secrets: Secrets, id: string, letter: Letter): Buffer =>
  secrets.seal(PURPOSE, id, Buffer.from(JSON.stringify(letter)))

/** Writes mails within the transaction that causes them. */
export async function queueMails(
  db: Queryable,
  secrets: Secrets,
  drafts: readonly MailDraft[],
): Promise<void> {
  const rows = drafts.flatMap(({ to, cause, kind, letter, hours = MAIL_HOURS }) =>
    to.map((recipient) => {
      const id = newRowId()
      const content = seal(secrets, id, letter)
      return { id, cause, kind, recipient, content, hours: Math.min(hours, MAIL_HOURS) }
    }),
  )
  if (rows.length === 0) return
  await db.query(
    `insert into mails (id, cause, kind, recipient, content_sealed, expires_at)
     select d.id, d.cause, d.kind, d.recipient, d.content, now() + d.hours * interval '1 hour'
     from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::int[])
       as d (id, cause, kind, recipient, content, hours)
     on conflict (cause, recipient) do nothing`,
    arraysOf(rows, 'id', 'cause', 'kind', 'recipient', 'content', 'hours'),
  )
}

/**
 * One mail to a person who may or may not be there: the same statement for both, so that nobody can tell from the time it
 * takes who has a sign-in.
 */
export async function queueMailToUser(
  db: Queryable,
  secrets: Secrets,
  draft: Omit<MailDraft, 'to'> & { readonly email: string },
): Promise<void> {
  const id = newRowId()
  await db.query(
    `insert into mails (id, cause, kind, recipient, content_sealed, expires_at)
     select $1, $2, $3, u.email, $4, now() + ${MAIL_HOURS} * interval '1 hour'
     from users u where lower(u.email) = lower($5) and u.disabled_at is null
     on conflict (cause, recipient) do nothing`,
    [id, draft.cause, draft.kind, seal(secrets, id, draft.letter), draft.email],
  )
}

export interface ClaimedMail {
  readonly id: string
  readonly kind: MailKind
  readonly recipient: string
  readonly sealed: Buffer
  /** With this one. */
  readonly attempts: number
  readonly expiresAt: Date
}

/** A claim holds so long: a worker that died gives its mails back by then. */
const CLAIM_MINUTES = 5

/** Claims what is due, oldest first. Locks those rows alone; other workers pass them by. */
export const claimMails = (db: Queryable, limit: number): Promise<ClaimedMail[]> =>
  allRows(
    db,
    `update mails m set attempts = attempts + 1, next_attempt_at = now() + ${CLAIM_MINUTES} * interval '1 minute'
     from (select id from mails where status = 'queued' and next_attempt_at <= now()
           order by next_attempt_at limit $1 for update skip locked) due
     where m.id = due.id
     returning m.id, m.kind, m.recipient, m.content_sealed as sealed, m.attempts, m.expires_at as "expiresAt"`,
    [limit],
  )

/** @throws {InvariantBroken} when it was sealed with a key that Beck does not have. */
export const openLetter = (secrets: Secrets, { id, sealed }: Pick<ClaimedMail, 'id' | 'sealed'>): Letter =>
  JSON.parse(secrets.open(PURPOSE, id, sealed).toString('utf8'))

/** It came to an end: its text goes. */
export async function finishMail(
  db: Queryable,
  id: string,
  status: Exclude<MailStatus, 'queued'>,
  trouble: string | null,
): Promise<void> {
  await db.query(
    `update mails set status = $2, trouble = $3, content_sealed = null, finished_at = now()
     where id = $1 and status = 'queued'`,
    [id, status, trouble],
  )
}

/** It is tried again later. */
export async function postponeMail(
  db: Queryable,
  id: string,
  pauseMs: number,
  trouble: string,
): Promise<void> {
  await db.query(
    `update mails set next_attempt_at = now() + $2 * interval '1 millisecond', trouble = $3
     where id = $1 and status = 'queued'`,
    [id, pauseMs, trouble],
  )
}

/** It was cut off before the server said what it does with it: due again, and not counted. */
export async function releaseMail(db: Queryable, id: string): Promise<void> {
  await db.query(
    `update mails set next_attempt_at = now(), attempts = attempts - 1 where id = $1 and status = 'queued'`,
    [id],
  )
}

export interface SentMail {
  readonly cause: string
  readonly kind: MailKind
  readonly recipient: string
  readonly status: MailStatus
  readonly attempts: number
  readonly trouble: string | null
  readonly createdAt: Date
}

/** The latest mails, for who runs Beck: to whom, and what became of them; never what stood in them. */
export const listMails = (db: Queryable, limit: number): Promise<SentMail[]> =>
  allRows(
    db,
    `select cause, kind, recipient, status, attempts, trouble, created_at as "createdAt"
     from mails order by id desc limit $1`,
    [limit],
  )

/** What became of the mails of some causes. */
export async function mailsOfCauses(
  db: Queryable,
  causes: readonly string[],
): Promise<Map<string, MailStatus>> {
  const { rows } = await db.query<{ cause: string; status: MailStatus }>(
    'select cause, status from mails where cause = any($1::text[])',
    [causes],
  )
  return new Map(rows.map(({ cause, status }) => [cause, status]))
}

/** So many receipts were asked for to this address within a day, whoever asked. */
export async function countReceipts(db: Queryable, recipient: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::integer as count from mails
     where kind = 'receipt' and lower(recipient) = lower($1) and created_at > now() - interval '1 day'`,
    [recipient],
  )
  return rows[0]?.count ?? 0
}

/** Held until the transaction ends, by whoever counts what these were mailed about payments: always in the same order. */
export async function lockPaymentMails(tx: Tx, recipients: readonly string[]): Promise<void> {
  await tx.query(
    `select pg_advisory_xact_lock(each.key) from (
       select distinct hashtextextended('payment mails:' || lower(r.recipient), 0) as key
       from unnest($1::text[]) as r (recipient) order by 1) each`,
    [recipients],
  )
}

/** So many mails of each of these kinds were written to each of these within the hour, as `kind:recipient` in small letters. */
export async function countPaymentMails(
  db: Queryable,
  recipients: readonly string[],
  kinds: readonly MailKind[],
): Promise<Map<string, number>> {
  const { rows } = await db.query<{ counted: string; count: number }>(
    `select k.kind || ':' || lower(r.recipient) as counted, (select count(*)::integer from mails m
       where m.kind = k.kind and m.kind in ('receipt', 'decision', 'paid')
         and lower(m.recipient) = lower(r.recipient) and m.created_at > now() - interval '1 hour') as count
     from unnest($1::text[]) as r (recipient), unnest($2::text[]) as k (kind)`,
    [recipients, kinds],
  )
  return new Map(rows.map(({ counted, count }) => [counted, count]))
}

/** From when it ended. What is to be mailed once only must not be asked for later than so long after its beginning. */
export const MAILS_KEPT_DAYS = 30

/** Forgets mails that ended long ago. @returns How many, at most `limit`. */
export const pruneMails = (db: Queryable, limit: number): Promise<number> =>
  countRows(
    db,
    `delete from mails where ctid = any(array(select ctid from mails
       where status <> 'queued' and finished_at < now() - ${MAILS_KEPT_DAYS} * interval '1 day'
       order by finished_at limit $1 for update skip locked))`,
    [limit],
  )
