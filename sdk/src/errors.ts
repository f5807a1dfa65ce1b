/** What can go wrong, told apart by class and by a stable `reason`. */

export interface BeckErrorDetail {
  readonly field: string
  readonly message: string
}

/** The client was given settings it cannot work with: nothing was sent. Let it stop the program. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}

/** Beck answered with an error. */
export class BeckError extends Error {
  override readonly name: string = 'BeckError'
  /** HTTP status. */
  readonly status: number
  /** `HTTP_404`, `RATE_LIMIT_EXCEEDED`. */
  readonly code: string
  /** Stable snake_case word to switch on: `amount_below_minimum`. */
  readonly reason: string
  readonly details: readonly BeckErrorDetail[]
  /** Name this to support. */
  readonly requestId: string | null

  constructor(status: number, body: Partial<Omit<BeckError, 'requestId'>> & { request_id?: string }) {
    super(body.message ?? `Beck answered ${status}`)
    this.status = status
    this.code = body.code ?? `HTTP_${status}`
    this.reason = body.reason ?? 'unknown'
    this.details = body.details ?? []
    this.requestId = body.request_id ?? null
  }
}

/** 400 and 422: the request is wrong, or the business refuses it. `details` names the fields. */
export class InvalidRequestError extends BeckError {
  override readonly name = 'InvalidRequestError'
}
/** 401 and 403: the key is missing, wrong, revoked, or lacks the scope. */
export class AuthenticationError extends BeckError {
  override readonly name = 'AuthenticationError'
}
/** 404: no such object in this account. */
export class NotFoundError extends BeckError {
  override readonly name = 'NotFoundError'
}
/** 409: the object's state forbids it, or the idempotency key was used for something else. */
export class ConflictError extends BeckError {
  override readonly name = 'ConflictError'
}
/** 429, after the client's own retries. */
export class RateLimitError extends BeckError {
  override readonly name = 'RateLimitError'
}

/** No whole answer came: refused, cut off, timed out. The request may or may not have been carried out. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

export function errorOf(status: number, body: ConstructorParameters<typeof BeckError>[1]): BeckError {
  if (status === 400 || status === 422) return new InvalidRequestError(status, body)
  if (status === 401 || status === 403) return new AuthenticationError(status, body)
  if (status === 404) return new NotFoundError(status, body)
  if (status === 409) return new ConflictError(status, body)
  if (status === 429) return new RateLimitError(status, body)
  return new BeckError(status, body)
}
