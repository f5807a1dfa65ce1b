/**
 * One query for all pages that open at the same time. Hundreds may come at once, after an outage or because somebody means it, and
 * a query each would keep all connections to the database from everybody else.
 */
import type { SessionId } from '../../core/ids.ts'
import type { Moment } from './hub.ts'

/** Sessions per query, as the hub asks for them. */
const BATCH = 500

/** @returns The moment of a session; null when there is no such session. */
export type ReadMoment<One extends Moment> = (id: SessionId) => Promise<One | null>

type Answer<One> = Promise<ReadonlyMap<SessionId, One>>

/**
 * A first one is asked for at once. Those that come while it is answered wait for it, and are asked for together; so no
 * answer is older than its question.
 *
 * @param read - The moments of those sessions that there are.
 */
export function gatherMoments<One extends Moment>(
  read: (ids: readonly SessionId[]) => Promise<readonly One[]>,
): ReadMoment<One> {
  const readMany = async (ids: readonly SessionId[]) =>
    new Map((await read(ids)).map((moment) => [moment.sessionId, moment]))
  let running: Promise<unknown> | null = null
  let next: { readonly ids: Set<SessionId>; readonly answer: Answer<One> } | null = null

  /** The batch that is asked for once the query under way, and those that wait before it, are answered. */
  const openBatch = () => {
    const ids = new Set<SessionId>()
    const before = running ?? Promise.resolve()
    const answer = before.then(() => {
      if (next?.ids === ids) next = null
      return readMany([...ids])
    })
    const ended = answer.then(
      () => {},
      () => {},
    )
    running = ended
    ended.then(() => {
      if (running === ended) running = null
    })
    return { ids, answer }
  }

  return async (id) => {
    if (!next || (next.ids.size >= BATCH && !next.ids.has(id))) next = openBatch()
    next.ids.add(id)
    return (await next.answer).get(id) ?? null
  }
}
