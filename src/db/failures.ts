/** What PostgreSQL, or the way to it, did to a statement: told apart by SQLSTATE, and by what Node says of sockets. */
import { OutcomeUnknown, OutsideFailure, Refusal, withoutCredentials } from '../core/errors.ts'
import { isOfNoConnection, verdictOf } from './no-connection.ts'
import {
  ADMIN_SHUTDOWN,
  CANNOT_CONNECT_NOW,
  CLASSES,
  CRASH_SHUTDOWN,
  DEADLOCK_DETECTED,
  DISK_FULL,
  IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
  INVALID_AUTHORIZATION_SPECIFICATION,
  INVALID_CATALOG_NAME,
  INVALID_PASSWORD,
  IO_ERROR,
  LOCK_NOT_AVAILABLE,
  READ_ONLY_SQL_TRANSACTION,
  SERIALIZATION_FAILURE,
} from './sqlstate.ts'

const CONFLICTS = new Set<string | null>([SERIALIZATION_FAILURE, DEADLOCK_DETECTED])
/** Beside connection exceptions. */
const CONNECTION_LOST = new Set([
  ADMIN_SHUTDOWN,
  CRASH_SHUTDOWN,
  CANNOT_CONNECT_NOW,
  IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
])
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
const LOCKED_OUT = new Set<string | null>([
  INVALID_PASSWORD,
  INVALID_AUTHORIZATION_SPECIFICATION,
  INVALID_CATALOG_NAME,
])

/** The SQLSTATE of a PostgreSQL error, null for everything else. */
export function sqlState(error: unknown): string | null {
  const code = error instanceof Error && 'severity' in error && 'code' in error ? error.code : null
  return typeof code === 'string' ? code : null
}

const NOT_WRITTEN = new Map<string | null, string>([
  [DISK_FULL, 'has no room on its disk'],
  [IO_ERROR, 'has a disk that fails'],
  [READ_ONLY_SQL_TRANSACTION, 'takes no writes, as a replica, or while another one takes over'],
])

/**
 * What keeps PostgreSQL from writing, and only that: one that does not answer is seen by whoever asks it.
 *
 * @returns What becomes a sentence behind the name of the database; null for any other error.
 */
export const whyNotWritten = (error: unknown): string | null => NOT_WRITTEN.get(sqlState(error)) ?? null

/**
 * Whether the session can not be used for what others want of it, though its connection stands: of a server that another one took over
 * from, or begun while the role was set so.
 */
export const isReadOnlySession = (cause: unknown): boolean => sqlState(cause) === READ_ONLY_SQL_TRANSACTION

/** Whether PostgreSQL refused a statement and no more: what is FATAL ends the connection, whatever it is. */
export const isOfStatement = (error: unknown): boolean =>
  error instanceof Error &&
  'severity' in error &&
  error.severity === 'ERROR' &&
  !isConnectionLoss(error) &&
  !isReadOnlySession(error)

export const isConflict = (cause: unknown): boolean => CONFLICTS.has(sqlState(cause))

export const isLockedOut = (cause: unknown): boolean => LOCKED_OUT.has(sqlState(cause))

/** PostgreSQL refused rows for what is in them or beside them (data exceptions, constraints): it refuses the same ones again, as a rule. */
export const isOfRows = (error: unknown): boolean => {
  const state = sqlState(error) ?? ''
  return state.startsWith(CLASSES.DATA_EXCEPTION) || state.startsWith(CLASSES.INTEGRITY_CONSTRAINT_VIOLATION)
}

export function isConnectionLoss(error: unknown): boolean {
  const state = sqlState(error)
  if (state) return state.startsWith(CLASSES.CONNECTION_EXCEPTION) || CONNECTION_LOST.has(state)
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
