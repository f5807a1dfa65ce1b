/** Ids and times of payments go together: an id begins with the milliseconds of its making, by the clock of who made it. */

/** Milliseconds by which id and `created_at` differ, or one more. Of an id that tells no time, very many. */
export const idSkewMs = (alias: string): string =>
  `abs(('x' || left(replace(${alias}.id::text, '-', ''), 12))::bit(48)::bigint - ${msOf(`${alias}.created_at`)}) + 1`

/** No id is less that was made so many milliseconds, or fewer, before a time. */
export const leastIdAt = (time: string, earlierMs: string): string =>
  `(lpad(to_hex(greatest(0, ${msOf(time)} - ${earlierMs})), 12, '0') || repeat('0', 20))::uuid`

const msOf = (time: string): string => `floor(extract(epoch from ${time}) * 1000)::bigint`

/** With a clock that was further off, what is at the edges of a time would be most of what a list has. */
const SKEW_MAX_MS = 60_000
/** How far ids may be from the times of what is counted, as `skew`, and what that is, as `made_before`; no row where that is unknown. */
export const SKEW = `select made_before, id_skew_ms as skew from payment_ranks
  where account_id = $1::uuid and made_before > '-infinity' and id_skew_ms <= ${SKEW_MAX_MS}`
