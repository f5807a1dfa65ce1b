/** Wrong passwords and codes, counted where all processes see them. */
import { createHash } from 'node:crypto'
import { hostOf, isThisMachine } from '../core/networks.ts'
import type { Queryable } from '../db/database.ts'

/** Of one email within the window; then its password waits. A passkey never waits: it cannot be guessed. */
const EMAIL_FAILURES_MAX = 10
const ADDRESS_FAILURES_MAX = 100
const WINDOW_MINUTES = 15

const subjectOf = (kind: string, name: string): Buffer =>
  createHash('sha256').update(`${kind}:${name.toLowerCase()}`).digest()

/**
 * Counts an attempt as failed before it is looked at, so that many at once count as many.
 *
 * @returns Whether it may be looked at.
 */
export async function countAttempt(db: Queryable, email: string, address: string): Promise<boolean> {
  // Whoever has one address of IPv6 has all of its host.
  const subjects = [subjectOf('email', email), subjectOf('address', hostOf(address))]
  await db.query('insert into sign_in_failures (subject) select unnest($1::bytea[])', [subjects])
  const { rows } = await db.query<{ email: number; address: number }>(
    `select count(*) filter (where subject = $1)::int as email, count(*) filter (where subject = $2)::int as address
     from sign_in_failures
     where subject in ($1, $2) and failed_at > clock_timestamp() - ${WINDOW_MINUTES} * interval '1 minute'`,
    subjects,
  )
  const found = rows[0] ?? { email: 0, address: 0 }
  return (
    found.email <= EMAIL_FAILURES_MAX && (isThisMachine(address) || found.address <= ADDRESS_FAILURES_MAX)
  )
}

/** It succeeded: the person's count begins anew, the address keeps only its other failures. */
export async function forgetAttempts(db: Queryable, email: string, address: string): Promise<void> {
  await db.query('delete from sign_in_failures where subject = $1', [subjectOf('email', email)])
  await db.query(
    `delete from sign_in_failures where ctid = (select ctid from sign_in_failures where subject = $1
       order by failed_at desc limit 1)`,
    [subjectOf('address', hostOf(address))],
  )
}
