/** Durations carry their unit in the name; instants are `Date` inside and ISO-8601 strings outside. */

export const SECOND_MS = 1_000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** How long a locked rate is valid. */
export const QUOTE_WINDOW_MS = 30 * MINUTE_MS

const DATE = /^\d{4}-\d{2}-\d{2}$/
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/

/**
 * Reads `YYYY-MM-DD` (midnight UTC) or a full ISO timestamp with an offset.
 *
 * @returns The instant, or null when the text is neither or names a day that does not exist.
 */
export function parseInstant(text: string): Date | null {
  if (!DATE.test(text) && !TIMESTAMP.test(text)) return null
  const day = text.slice(0, 10)
  const midnight = new Date(`${day}T00:00:00Z`)
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day) return null
  const instant = new Date(DATE.test(text) ? `${text}T00:00:00Z` : text)
  return Number.isNaN(instant.getTime()) ? null : instant
}

/** The UTC day of an instant as `YYYY-MM-DD`. */
export const utcDay = (instant: Date): string => instant.toISOString().slice(0, 10)

export const isoOrNull = (instant: Date | null): string | null => instant?.toISOString() ?? null
