import { randomFillSync } from 'node:crypto'

const BYTES = 12
/** Drawn for many at once, as Node draws for its UUIDs: for each by itself it takes some microseconds. */
const drawn = Buffer.allocUnsafe(256 * BYTES)
let at = drawn.length

/** Names a request in its answer and in the log. */
export function newRequestId(): string {
  if (at === drawn.length) {
    randomFillSync(drawn)
    at = 0
  }
  const from = at
  at += BYTES
  return `req_${drawn.toString('base64url', from, at)}`
}
