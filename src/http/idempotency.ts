/**
 * `Idempotency-Key`: a POST that is sent again is answered as the first time, byte for byte, for 24 hours.
 *
 * The key's row is the first thing its transaction writes and commits with the effect, so there is never an effect
 * without its answer, nor an answer without its effect. Requests that arrive meanwhile wait on the row. What is stored:
 * success, and refusals of a request that was understood (404, 409, 422). What is not: 400 (send it again corrected),
 * 401, 403, 413, 415, 429, 500 and 503 (nothing was done).
 *
 * @see docs/decisions/0010-idempotency.md
 */
import { createHash } from 'node:crypto'
import {
  claimIdempotencyKey,
  findAnswer,
  type KeyedAnswer,
  type StoredAnswer,
  settleAnswer,
  storeAnswer,
} from '../accounts/idempotency-keys.sql.ts'
import { conflict, invalidField, Refusal, type RefusalKind } from '../core/errors.ts'
import type { AccountId } from '../core/ids.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Database, Queryable, Tx } from '../db/database.ts'
import { isOfHeldLock } from '../db/failures.ts'
import { isRepeated, type SentHeaders } from './sent-once.ts'

const KEY_LENGTH_MAX = 255
/** How long a request waits for another one with the same key to be answered. */
const WAIT_MS = 5_000
const STORED_REFUSALS: readonly RefusalKind[] = ['not_found', 'conflict', 'unprocessable']

/** The bytes of an answer, as they are sent and stored. */
export interface Reply {
  readonly status: number
  readonly body: string
}

export interface KeyedReply extends Reply {
  /** Of an earlier request. */
  readonly replayed: boolean
}

export interface KeyedRequest {
  readonly accountId: AccountId
  readonly key: string
  /** Of method, path and body: what must be the same when the key is used again. */
  readonly requestHash: Buffer
}

/** @throws {Refusal} `invalid` when the header is empty, too long, not printable ASCII, or sent twice. */
export function readIdempotencyKey(request: SentHeaders): string | null {
  const header = request.headers['idempotency-key']?.toString()
  if (header === undefined) return null
  if (isRepeated(request, 'idempotency-key') || !/^[\x21-\x7e]+( +[\x21-\x7e]+)*$/.test(header)) {
    throw invalidField(
      'Idempotency-Key',
      'invalid_idempotency_key',
      'must be sent once, as one line of printable ASCII',
    )
  }
  if (header.length > KEY_LENGTH_MAX) {
    throw invalidField(
      'Idempotency-Key',
      'invalid_idempotency_key',
      `must have at most ${KEY_LENGTH_MAX} characters, got ${header.length}`,
    )
  }
  return header
}

export const hashRequest = (method: string, url: string, bodyText: string): Buffer =>
  createHash('sha256').update(`${method} ${url}\n`).update(bodyText).digest()

/**
 * Runs `work` in a transaction once per key.
 *
 * @param refused - Writes the answer to a refusal, for storing.
 * @param settle - Waits a little after the commit for what the answer becomes; null for an answer that is final.
 * @returns The answer, and whether it is an earlier one.
 * @throws {Refusal} `conflict`: the key belongs to another request, or its first request is still running.
 */
export async function answerOnce(
  db: Database,
  secrets: Secrets,
  request: KeyedRequest,
  work: (tx: Tx) => Promise<Reply>,
  refused: (refusal: Refusal) => Reply,
  settle: ((reply: Reply) => Promise<Reply>) | null = null,
): Promise<KeyedReply> {
  const { accountId, key, requestHash } = request
  const seal = ({ body }: Reply) => secrets.seal('idempotency', ownerOf(request), Buffer.from(body))
  const once = (produce: (tx: Tx) => Promise<Reply>, isFinal: boolean) =>
    db.transaction(
      async (tx) => {
        if (!(await claimIdempotencyKey(tx, { accountId, key, requestHash, waitMs: WAIT_MS }))) {
          const stored = await findAnswer(tx, accountId, key)
          if (!stored) throw inFlight()
          return { reply: replayOf(secrets, request, stored), isFinal: stored.isFinal }
        }
        const reply = await produce(tx)
        await storeAnswer(tx, accountId, key, { status: reply.status, sealedBody: seal(reply), isFinal })
        return { reply: { ...reply, replayed: false }, isFinal }
      },
      {
        ifCommitted: async (after) => {
          const stored = await findAnswer(after, accountId, key)
          if (!stored) return undefined
          const reply = { ...replayOf(secrets, request, stored), replayed: false }
          return { reply, isFinal: stored.isFinal }
        },
      },
    )
  let underway = false
  try {
    const { reply, isFinal } = await once((tx) => {
      underway = true
      return work(tx)
    }, settle === null)
    if (isFinal || settle === null) return reply
    // The first one, or whoever comes next when that one died: the last word is written once and is everybody's.
    const settled = await settle(reply)
    const isMine = await settleAnswer(db, accountId, key, seal(settled))
    const stored = isMine ? null : await findAnswer(db, accountId, key)
    const last = stored ? replayOf(secrets, request, stored) : settled
    return { ...last, replayed: reply.replayed }
  } catch (error) {
    if (!underway && isOfHeldLock(error)) throw inFlight()
    // A refusal left no effect: it rolled back together with the claim. It is stored in a transaction of its own; if
    // another request with this key got in between, that one's answer stands.
    if (underway && error instanceof Refusal && STORED_REFUSALS.includes(error.kind)) {
      return (await once(async () => refused(error), true)).reply
    }
    throw error
  }
}

/**
 * The same for an effect of one statement, which claims the key itself and brings its answer with it.
 *
 * @param work - Null when the statement found the key taken.
 */
export async function answerAtOnce(
  db: Database,
  secrets: Secrets,
  request: KeyedRequest,
  work: (tx: Tx, keyed: (reply: Reply) => KeyedAnswer) => Promise<Reply | null>,
  refused: (refusal: Refusal) => Reply,
): Promise<KeyedReply> {
  const { accountId, key, requestHash } = request
  const keyed = ({ status, body }: Reply): KeyedAnswer => ({
    accountId,
    key,
    requestHash,
    status,
    sealedBody: secrets.seal('idempotency', ownerOf(request), Buffer.from(body)),
    waitMs: WAIT_MS,
  })
  const stored = async (after: Queryable) => {
    const answer = await findAnswer(after, accountId, key)
    return answer && replayOf(secrets, request, answer)
  }
  try {
    const reply = await db.transaction<Reply | null>((tx) => work(tx, keyed), {
      oneStatement: true,
      group: accountId,
      ifCommitted: async (after) => (await stored(after)) ?? undefined,
    })
    if (reply) return { ...reply, replayed: false }
  } catch (error) {
    if (isOfHeldLock(error)) throw inFlight()
    if (!(error instanceof Refusal)) throw error
    if (STORED_REFUSALS.includes(error.kind)) {
      return await answerOnce(db, secrets, request, async () => refused(error), refused)
    }
    // What cannot be done now may have been done before.
    const earlier = await stored(db)
    if (earlier) return earlier
    throw error
  }
  const answer = await stored(db)
  if (!answer) throw inFlight()
  return answer
}

const ownerOf = ({ accountId, key }: KeyedRequest): string => `${accountId}:${key}`

function replayOf(secrets: Secrets, request: KeyedRequest, stored: StoredAnswer): KeyedReply {
  if (!stored.requestHash.equals(request.requestHash)) {
    throw conflict(
      'idempotency_key_reused',
      'this Idempotency-Key belongs to another request (method, path or body differ); use a new key',
    )
  }
  const body = secrets.open('idempotency', ownerOf(request), stored.sealedBody).toString('utf8')
  return { status: stored.status, body, replayed: true }
}

const inFlight = (): Refusal =>
  conflict(
    'idempotency_key_in_flight',
    'the first request with this Idempotency-Key is still being worked on; try again shortly',
  )
