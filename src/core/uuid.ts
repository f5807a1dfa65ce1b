/**
 * UUIDv7 that one process makes in order, also within a millisecond: what is written in one transaction has one time, and its ids
 * say what came first. Node's own are in no order within a millisecond; a library's draw random bytes for each, which takes some
 * microseconds.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9562.html#section-6.2, method 1
 */
import { randomUUID } from 'node:crypto'

/** A clock that was set back is followed only when it is as far behind: an id is believed to be this near to its row's time. */
const BEHIND_MS_MAX = 10_000
/** Twelve bits. */
const PER_MS = 4_096
/** Where the variant begins in a UUID's text, and 62 random bits with it. */
const VARIANT_AT = 19

/** @param now - Milliseconds since 1970. */
export function openUuids(now: () => number = Date.now): () => string {
  let [ms, count] = [0, 0]
  return () => {
    const nowMs = now()
    count += 1
    if (nowMs > ms || nowMs < ms - BEHIND_MS_MAX) [ms, count] = [nowMs, 0]
    else if (count === PER_MS) [ms, count] = [ms + 1, 0]
    const time = ms.toString(16).padStart(12, '0')
    const counter = count.toString(16).padStart(3, '0')
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${randomUUID().slice(VARIANT_AT)}`
  }
}
