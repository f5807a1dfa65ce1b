/** One statement, under its name where names hold: within what its caller began, or by itself. */
import type pg from 'pg'
import { isOfStatement } from './failures.ts'
import type { StatementNames } from './statement-names.ts'

interface Way {
  readonly pool: pg.Pool
  readonly names: StatementNames
}

/** On a connection that is the caller's. */
export async function run<Row>(
  { names }: Pick<Way, 'names'>,
  client: pg.PoolClient,
  text: string,
  values: readonly unknown[] = [],
  hot?: 'prepared',
) {
  const named = hot && names.of(text)
  const result = await client.query({ text, ...named, values: [...values] })
  return { rows: result.rows as Row[], rowCount: result.rowCount ?? 0 }
}

/**
 * Outside of any transaction. A statement that is refused leaves its connection as it was; the pool's own `query` would end it, and
 * whoever comes next would wait for another one, and for the statements to be prepared on it.
 */
export async function runAlone<Row>(
  { names, pool }: Way,
  text: string,
  values?: readonly unknown[],
  hot?: 'prepared',
) {
  const client = await pool.connect()
  let isLost = false
  try {
    return await run<Row>({ names }, client, text, values, hot)
  } catch (cause) {
    isLost = !isOfStatement(cause)
    throw cause
  } finally {
    client.release(isLost)
  }
}
