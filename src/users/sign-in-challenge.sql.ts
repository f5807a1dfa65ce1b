/**
 * Challenges for passkeys, before anybody is known. They carry their own time and MAC, so that strangers who ask for them
 * write nothing; what is kept is which of them let somebody in, until they are over.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { Secrets } from '../core/secrets.ts'
import { MINUTE_MS } from '../core/time.ts'
import type { Tx } from '../db/database.ts'

const PURPOSE = 'sign-in-challenge'
const LIFE_MS = 5 * MINUTE_MS
const TIME_BYTES = 6
const RANDOM_BYTES = 16
const MAC_BYTES = 32
export const SIGN_IN_CHALLENGE_BYTES = TIME_BYTES + RANDOM_BYTES + MAC_BYTES

export function newSignInChallenge(secrets: Secrets, nowMs = Date.now()): Buffer {
  const body = Buffer.concat([Buffer.alloc(TIME_BYTES), randomBytes(RANDOM_BYTES)])
  body.writeUIntBE(nowMs + LIFE_MS, 0, TIME_BYTES)
  return Buffer.concat([body, secrets.mac(PURPOSE, [body])])
}

/** Uses the challenge up. @returns Whether it was Beck's, in time and for the first time. */
export async function takeSignInChallenge(tx: Tx, secrets: Secrets, challenge: Uint8Array): Promise<boolean> {
  if (challenge.length !== SIGN_IN_CHALLENGE_BYTES) return false
  const body = Buffer.from(challenge.subarray(0, -MAC_BYTES))
  const untilMs = body.readUIntBE(0, TIME_BYTES)
  if (!secrets.isMac(challenge.subarray(-MAC_BYTES), PURPOSE, [body]) || untilMs <= Date.now()) return false
  const { rowCount } = await tx.query(
    `insert into sign_in_challenges (challenge, until) values ($1, to_timestamp($2::bigint / 1000.0))
     on conflict (challenge) do nothing`,
    [createHash('sha256').update(challenge).digest(), untilMs],
  )
  return rowCount === 1
}
