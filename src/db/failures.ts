/** What PostgreSQL, or the way to it, did to a statement: told apart by SQLSTATE, and by what Node says of sockets. */
import { OutcomeUnknown, OutsideFailure, Refusal, withoutCredentials } from '../core/errors.ts'
import { isOfNoConnection, verdictOf } from './no-connection.ts'

/** A lock was not had within `lock_timeout`. */
export const LOCK_NOT_AVAILABLE = '55P03'
const RETRYABLE_SQLSTATES = new Set(['40001', '40P01'])
/** Connection exceptions, admin shutdown, crash shutdown, cannot connect now, a transaction that stood idle too long. */
const CONNECTION_LOST = /^(08...|57P0[123]|25P03)$/
/** As Node says it of a connection that breaks, or can not be made. */
const SOCKET_LOST = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
])
/** Wrong password, no such user, none of its addresses, no such database. */
const LOCKED_OUT = new Set(['28P01', '28000', '3D000'])

/** The SQLSTATE of a PostgreSQL error, null for everything else. */
export function sqlState(error: unknown): string | null {
  const code = error instanceof Error && 'severity' in error && 'code' in error ? error.code : null
  return typeof code === 'string' ? code : null
}

/** A session that may not write: of a server that another one took over from, or begun while the role was set so. */
const READ_ONLY = '25006'

/** Whether the session can not be used for what others want of it, though its connection stands. */
export const isReadOnlySession = (cause: unknown): boolean => sqlState(cause) === READ_ONLY

/** Whether PostgreSQL refused a statement and no more: what is FATAL ends the connection, whatever it is. */
export const isOfStatement = (error: unknown): boolean =>
  error instanceof Error &&
  'severity' in error &&
  error.severity === 'ERROR' &&
  !isConnectionLoss(error) &&
  !isReadOnlySession(error)

export const isConflict = (cause: unknown): boolean => RETRYABLE_SQLSTATES.has(sqlState(cause) ?? '')

export const isLockedOut = (cause: unknown): boolean => LOCKED_OUT.has(sqlState(cause) ?? '')

/** PostgreSQL refused rows for what is in them or beside them (data exceptions, constraints): it refuses the same ones again, as a rule. */
export const isOfRows = (error: unknown): boolean => /^2[23]/.test(sqlState(error) ?? '')

export function isConnectionLoss(error: unknown): boolean {
  const state = sqlState(error)
  if (state) return CONNECTION_LOST.test(state)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return (
    SOCKET_LOST.has(code) ||
    isOfNoConnection(error) ||
    (error instanceof Error && /Connection terminated|not queryable/i.test(error.message))
  )
}

/** It does not answer (it starts again, moves to another machine, or the network is down), or nobody may work on it now. */
export class Unreachable extends OutsideFailure {
  override readonly name = 'Unreachable'
}

/** A connection was had, and broke: another one may stand, and a read can be sent to it. */
export const isOfBrokenConnection = (error: unknown): boolean =>
  error instanceof Unreachable && !isOfNoConnection(error.cause)

/** Where a connection string leads, for people: the folder of a socket, or an address. */
const placeOf = (url: string): string => {
  const [, folder] = /[?&]host=(%2f[^&]*|\/[^&]*)/i.exec(url) ?? []
  return folder ? `its socket in ${decodeURIComponent(folder)}` : withoutCredentials(url)
}

const unreachable = (url: string, cause: unknown): Unreachable =>
  new Unreachable(verdictOf(cause) ?? `PostgreSQL at ${placeOf(url)} is not reachable`, {
    cause,
    retryable: true,
  })

/** What a connection that could not be had, or broke, means for the caller; any other error is itself. */
export function failureOf(url: string, cause: unknown): unknown {
  if (isConnectionLoss(cause)) return unreachable(url, cause)
  if (!isLockedOut(cause)) return cause
  const why = cause instanceof Error ? cause.message : ''
  return new OutsideFailure(
    `PostgreSQL at ${placeOf(url)} does not let Beck in (${why}); correct DATABASE_URL`,
    { cause, retryable: false },
  )
}

/** The same for a transaction that was tried as often as it may. */
export function failureOfTransaction(url: string, cause: unknown, attempts: number): unknown {
  if (isConflict(cause))
    return new OutsideFailure(
      `others were in the way of a transaction ${attempts} times over; it left nothing behind, try again`,
      { cause, retryable: true },
    )
  return sqlState(cause) ? failureOf(url, cause) : unreachable(url, cause)
}

export const outcomeUnknown = (cause: unknown): OutcomeUnknown =>
  new OutcomeUnknown(
    'the connection to PostgreSQL broke before it answered whether something was committed, and that stayed unknown',
    { cause, retryable: true },
  )

/**
 * Whether a failure leaves open what became of an earlier attempt, which PostgreSQL may still be at: everything does but what the work
 * itself refuses and what PostgreSQL finds of its rows. A lock that is not had may be that attempt's.
 */
export const leavesInDoubt = (cause: unknown): boolean =>
  !isOfRows(cause) && (!(cause instanceof Refusal) || verdictOf(cause) !== null)

/** The lock was not had, or not by what was sent again behind an attempt that may hold it. */
export const isOfHeldLock = (error: unknown): boolean =>
  sqlState(error instanceof OutcomeUnknown ? error.cause : error) === LOCK_NOT_AVAILABLE
