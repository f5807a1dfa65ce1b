/** A connection of the pool for one piece of work, which ends with it only when it is of no more use. */
import type pg from 'pg'
import { isOfStatement } from './failures.ts'

/**
 * A statement that is refused leaves its connection as it was. The pool's own `query` would end it, and whoever comes next would wait
 * for another one, and for the statements to be prepared on it.
 */
export async function onConnection<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  let isLost = false
  try {
    return await work(client)
  } catch (cause) {
    isLost = !isOfStatement(cause)
    throw cause
  } finally {
    client.release(isLost)
  }
}
