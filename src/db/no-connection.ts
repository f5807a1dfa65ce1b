/** Connections that nobody may use, or that do not come in time: nothing was sent to anybody. */
import { OutsideFailure, Refusal } from '../core/errors.ts'
import { pause } from '../core/pause.ts'
import { CANNOT_CONNECT_NOW } from './sqlstate.ts'

/** Until it is there, and again until whoever looks at it before it is used has an answer. */
export const CONNECT_MS_MAX = 10_000

class FellSilent extends Error {
  override readonly name = 'FellSilent'
  override readonly message = 'the connection fell silent before it could be used'
}

/**
 * The pool tells those who wait that none came in time, but would itself wait for ever for one that falls silent while it is looked at,
 * and keep its place. It closes one that this throws about.
 */
export async function unlessSilent(looked: Promise<void>): Promise<void> {
  const done = new AbortController()
  const silent = pause(CONNECT_MS_MAX, done.signal).then(() => Promise.reject(new FellSilent()))
  try {
    await Promise.race([looked, silent])
  } catch (error) {
    if (error instanceof Refusal || error instanceof OutsideFailure) verdicts.add(error)
    throw error
  } finally {
    done.abort()
  }
}

/** Of those who looked at connections. */
const verdicts = new WeakSet<Error>()

const NOT_HAD =
  /timeout exceeded when trying to connect|terminated due to connection timeout|establishing an SSL connection|after calling end on the pool/i

/** None was free, none could be made, or none in time: nothing was sent. */
export function isOfNoConnection(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isOfNoConnection)
  if (error instanceof FellSilent) return true
  if (!(error instanceof Error)) return false
  const syscall = 'syscall' in error ? error.syscall : null
  // It lets nobody in while it starts or stops.
  const isRefused = 'severity' in error && 'code' in error && error.code === CANNOT_CONNECT_NOW
  return isRefused || syscall === 'connect' || syscall === 'getaddrinfo' || NOT_HAD.test(error.message)
}

/** Of who looked at the connection: it is there, and is not to be worked on. Null for any other error. */
export const verdictOf = (cause: unknown): string | null =>
  cause instanceof Error && verdicts.has(cause) ? cause.message : null
