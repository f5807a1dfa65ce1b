/** Wrong passwords and codes, counted where all processes see them. */
import { createHash } from 'node:crypto'
import { hostOf, isThisMachine, siteOf } from '../core/networks.ts'
import type { Queryable } from '../db/database.ts'

/** Of one email within the window; then its password waits. A passkey never waits: it cannot be guessed. */
const EMAIL_FAILURES_MAX = 10
/** As many as wrong keys in a minute: each costs a tenth of a second of a processor. */
const ADDRESS_FAILURES_MAX = 50
const SITE_FAILURES_MAX = 200
const WINDOW_MINUTES = 15

/** How often a subject failed lately, as far as it matters. */
const RECENT = `(select count(*) from (select from sign_in_failures f
  where f.subject = b.subject and f.failed_at > clock_timestamp() - ${WINDOW_MINUTES} * interval '1 minute'
  limit ${SITE_FAILURES_MAX + 1}) as recent)`

const subjectOf = (kind: string, name: string): Buffer =>
  createHash('sha256').update(`${kind}:${name.toLowerCase()}`).digest()

/**
 * Counts an attempt as failed before it is looked at, so that many at once count as many. One that is refused writes
 * nothing: whoever goes on asking fills no table, and locks nobody out for longer.
 *
 * @returns Whether it may be looked at.
 */
export async function countAttempt(db: Queryable, email: string, address: string): Promise<boolean> {
  const bounds = boundsOf(email, address)
  const given = [bounds.map(({ subject }) => subject), bounds.map(({ max }) => max)]
  const { rowCount } = await db.query(
    `insert into sign_in_failures (subject)
     select subject from unnest($1::bytea[]) as subject
     where not exists (select from unnest($1::bytea[], $2::int[]) as b (subject, most) where ${RECENT} >= most)`,
    given,
  )
  if (rowCount === 0) return false
  // Others may have come between: they see each other now.
  const { rows } = await db.query(
    `select from unnest($1::bytea[], $2::int[]) as b (subject, most) where ${RECENT} > most`,
    given,
  )
  return rows.length === 0
}

/** Whoever has one address of IPv6 has all of its host, and may have all of its site. */
function boundsOf(email: string, address: string): readonly { subject: Buffer; max: number }[] {
  const host = hostOf(address)
  const site = siteOf(address)
  return [
    { subject: subjectOf('email', email), max: EMAIL_FAILURES_MAX },
    ...(isThisMachine(address) ? [] : [{ subject: subjectOf('address', host), max: ADDRESS_FAILURES_MAX }]),
    ...(site === host ? [] : [{ subject: subjectOf('site', site), max: SITE_FAILURES_MAX }]),
  ]
}

/** It succeeded: the person's count begins anew, address and site keep only their other failures. */
export async function forgetAttempts(db: Queryable, email: string, address: string): Promise<void> {
  const [person, ...places] = boundsOf(email, address).map(({ subject }) => subject)
  await db.query('delete from sign_in_failures where subject = $1', [person])
  await db.query(
    `delete from sign_in_failures where ctid = any (array(
       select (select f.ctid from sign_in_failures f where f.subject = s.subject order by f.failed_at desc limit 1)
       from unnest($1::bytea[]) as s (subject)))`,
    [places],
  )
}
