/**
 * Three kinds of trouble, told apart by class. A `Refusal` is an answer to the caller: he can act on it.
 * An `OutsideFailure` is a node, an exchange, a receiver or a database that failed us. A broken invariant
 * stops the work. Only the HTTP layer turns any of them into status codes.
 */

/** What the caller did wrong or what stands in his way, told by kind; the HTTP layer maps kinds to statuses. */
export type RefusalKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'unprocessable'
  | 'unavailable'

export interface FieldProblem {
  readonly field: string
  readonly message: string
}

/** A request that Beck will not carry out, with a stable snake_case `reason` that programs may switch on. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly kind: RefusalKind
  readonly reason: string
  readonly details: readonly FieldProblem[]
  /** Of what is unavailable until then; null where nobody knows. */
  readonly retryAfterSeconds: number | null

  constructor(
    kind: RefusalKind,
    reason: string,
    message: string,
    details: readonly FieldProblem[] = [],
    retryAfterSeconds: number | null = null,
  ) {
    super(message)
    this.kind = kind
    this.reason = reason
    this.details = details
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** What an error says; whatever else was thrown, as text. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

type Reasoned = (
  reason: string,
  message: string,
  details?: readonly FieldProblem[],
  retryAfterSeconds?: number,
) => Refusal

const refusalOf =
  (kind: RefusalKind): Reasoned =>
  (...given) =>
    new Refusal(kind, ...given)

/** A refusal of each kind. */
export const invalid = refusalOf('invalid')
export const unauthenticated = refusalOf('unauthenticated')
export const forbidden = refusalOf('forbidden')
export const notFound = refusalOf('not_found')
export const conflict = refusalOf('conflict')
export const unprocessable = refusalOf('unprocessable')
export const unavailable = refusalOf('unavailable')

/** Of one field. */
export const invalidField = (field: string, reason: string, message: string): Refusal =>
  invalid(reason, message, [{ field, message }])

/** Something outside Beck failed. `retryable` says whether the same call may succeed later. */
export class OutsideFailure extends Error {
  override readonly name: string = 'OutsideFailure'
  readonly retryable: boolean

  constructor(message: string, options: { cause?: unknown; retryable: boolean }) {
    super(message, { cause: options.cause })
    this.retryable = options.retryable
  }
}

/** It broke off at the end: what was asked for may have been done. Asked again without a look, it is done twice. */
export class OutcomeUnknown extends OutsideFailure {
  override readonly name = 'OutcomeUnknown'
}

/**
 * Stops the work when something that must never be is.
 *
 * @param message - As a function where many payments pass and it takes time to say, as public ids do: a few µs each.
 */
export function invariant(condition: unknown, message: string | (() => string)): asserts condition {
  if (!condition) throw new InvariantBroken(typeof message === 'string' ? message : message())
}

export class InvariantBroken extends Error {
  override readonly name = 'InvariantBroken'
}

/** A row's MAC does not hold: somebody wrote the database who should not. Nothing is done with it, and the operator is told. */
export class TamperedRow extends InvariantBroken {}

/** A URL fit for a message or a log line: user and password replaced, a raw `@` in the password included. */
export function withoutCredentials(url: string): string {
  return url.replace(/\/\/[^/\s]*@/g, '//***@')
}
