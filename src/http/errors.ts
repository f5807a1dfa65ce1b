/** What each kind of trouble is answered with. Nothing of what happened inside ever shows in an answer. */
import {
  type FieldProblem,
  OutcomeUnknown,
  OutsideFailure,
  Refusal,
  type RefusalKind,
} from '../core/errors.ts'
import { sqlState, Unreachable, whyNotWritten } from '../db/failures.ts'
import {
  CONFIGURATION_LIMIT_EXCEEDED,
  DEADLOCK_DETECTED,
  INSUFFICIENT_RESOURCES,
  LOCK_NOT_AVAILABLE,
  OUT_OF_MEMORY,
  QUERY_CANCELED,
  SERIALIZATION_FAILURE,
  TOO_MANY_CONNECTIONS,
} from '../db/sqlstate.ts'
import { type SchemaProblem, schemaProblems } from './schema-problems.ts'

const STATUS_OF: Readonly<Record<RefusalKind, number>> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  unprocessable: 422,
  unavailable: 503,
}

const statusOf = (refusal: Refusal): number => STATUS_OF[refusal.kind]

/** The client went away while his request waited: nobody is there to be told. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** Too many requests: from a key, or failed attempts to authenticate from an address. */
export class RateLimited extends Error {
  override readonly name = 'RateLimited'
  readonly retryAfterSeconds: number

  constructor(message: string, retryAfterSeconds: number) {
    super(message)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** A body that says of itself what Beck does not read. */
export class UnsupportedBody extends Error {
  override readonly name = 'UnsupportedBody'
}

export interface Answer {
  readonly status: number
  readonly reason: string
  readonly message: string
  readonly details: readonly FieldProblem[]
  readonly retryAfterSeconds?: number
  /** The operator must see the cause: it is ours, or the outside's. */
  readonly logged: boolean
}

const answer = (status: number, reason: string, message: string, details: readonly FieldProblem[] = []) => ({
  status,
  reason,
  message,
  details,
  logged: false,
})

/** Words for what Fastify itself refuses before a route sees the request. */
const FASTIFY_REFUSALS: Readonly<Record<string, Answer>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: answer(
    413,
    'body_too_large',
    'the body is larger than 64 KiB; send a smaller one',
  ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: answer(
    415,
    'unsupported_media_type',
    'the body must be JSON; send it with the header Content-Type: application/json',
  ),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: answer(
    400,
    'malformed_request',
    'the body is not as long as Content-Length says',
  ),
  FST_ERR_MAX_PARAM_LENGTH: answer(404, 'unknown_route', 'there is nothing at so long a path'),
  FST_ERR_BAD_URL: answer(400, 'malformed_url', 'the path holds an escape that is not valid UTF-8'),
}

/** What else Fastify refuses; and a body that its client broke off, which it marks as refused, too. */
const isUnreadable = (error: Error & { code: unknown }): boolean =>
  /^(FST_\w+|ECONNRESET)$/.test(String(error.code)) &&
  'statusCode' in error &&
  Math.floor(Number(error.statusCode) / 100) === 4

/** What is away comes back by itself, and mostly nobody knows when: often enough to be quick, too seldom to be a burden. */
const UNAVAILABLE_RETRY_SECONDS = 5

/** What PostgreSQL says when it is too busy for one more: conflicts five times over, its memory full. */
const BUSY = new Set<string | null>([
  LOCK_NOT_AVAILABLE,
  QUERY_CANCELED,
  SERIALIZATION_FAILURE,
  DEADLOCK_DETECTED,
  INSUFFICIENT_RESOURCES,
  OUT_OF_MEMORY,
  TOO_MANY_CONNECTIONS,
  CONFIGURATION_LIMIT_EXCEEDED,
])

/** What a caller may know of it: that it is not his request, and that the same one may be sent again. */
function whatIsAway(error: unknown): string {
  const again = 'try again shortly, with the same Idempotency-Key'
  if (error instanceof Unreachable)
    return `the database behind this API does not answer, as while it starts again; ${again}`
  const why = whyNotWritten(error)
  if (why !== null) return `the database behind this API ${why}: nothing can be written; ${again}`
  if (sqlState(error) !== null) return `the database behind this API is too busy for this request; ${again}`
  return 'something Beck depends on did not answer; try again shortly'
}

const MAY_BE_DONE =
  'the database behind this API broke off while this was written, so it may have been done: look for it before you ask again. With an Idempotency-Key the same request can be sent again without a look'

/** Turns whatever was thrown into an answer. */
export function answerTo(error: unknown): Answer {
  if (error instanceof Refusal) {
    return {
      ...answer(statusOf(error), error.reason, error.message, error.details),
      ...(error.kind === 'unavailable'
        ? { retryAfterSeconds: error.retryAfterSeconds ?? UNAVAILABLE_RETRY_SECONDS, logged: true }
        : {}),
    }
  }
  if (error instanceof RateLimited) {
    return {
      ...answer(429, 'rate_limit_exceeded', error.message),
      retryAfterSeconds: error.retryAfterSeconds,
    }
  }
  if (error instanceof UnsupportedBody) return answer(415, 'unsupported_media_type', error.message)
  // No `Retry-After`: a client that obeys it would ask for the same thing twice.
  if (error instanceof OutcomeUnknown)
    return { ...answer(503, 'temporarily_unavailable', MAY_BE_DONE), logged: true }
  if (error instanceof ClientGone) return answer(503, 'temporarily_unavailable', error.message)
  if (error instanceof OutsideFailure || BUSY.has(sqlState(error)) || whyNotWritten(error) !== null) {
    return {
      ...answer(503, 'temporarily_unavailable', whatIsAway(error)),
      retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS,
      logged: true,
    }
  }
  if (error instanceof Error && 'validation' in error && Array.isArray(error.validation)) {
    const part = 'validationContext' in error ? String(error.validationContext) : 'body'
    const details = schemaProblems(part, error.validation as SchemaProblem[])
    const message = details.map((problem) => `${problem.field}: ${problem.message}`).join('; ')
    return answer(400, 'invalid_request', message, details)
  }
  if (error instanceof Error && 'code' in error) {
    const known = FASTIFY_REFUSALS[String(error.code)]
    if (known) return known
    if (isUnreadable(error))
      return answer(400, 'malformed_request', 'the request cannot be read, or it broke off before its end')
  }
  return {
    ...answer(
      500,
      'internal_error',
      'Beck made a mistake; the operator finds the cause under this request_id',
    ),
    logged: true,
  }
}
