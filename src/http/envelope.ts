/** The one shape of every answer: `{ data, error }`, and what stands in `error`. */
import type { FieldProblem } from '../core/errors.ts'

export interface ErrorBody {
  /** `HTTP_<status>`, or `RATE_LIMIT_EXCEEDED` for 429. */
  readonly code: string
  /** What was got, what is expected, what to do; for people. */
  readonly message: string
  /** A stable snake_case word; for programs. */
  readonly reason: string
  readonly details: readonly FieldProblem[]
  /** Also in the header `X-Request-Id`, and beside the cause in the operator's log. */
  readonly request_id: string
}

export interface Success<Data> {
  readonly data: Data
  readonly error: null
}

export interface Failure {
  readonly data: null
  readonly error: ErrorBody
}

export const success = <Data>(data: Data): Success<Data> => ({ data, error: null })

export function failure(
  status: number,
  error: { reason: string; message: string; details?: readonly FieldProblem[]; requestId: string },
): Failure {
  return {
    data: null,
    error: {
      code: status === 429 ? 'RATE_LIMIT_EXCEEDED' : `HTTP_${status}`,
      message: error.message,
      reason: error.reason,
      details: error.details ?? [],
      request_id: error.requestId,
    },
  }
}
