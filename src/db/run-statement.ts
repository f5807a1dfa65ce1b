/** One statement, under its name where names hold: within what its caller began, or by itself. */
import type pg from 'pg'
import { onConnection } from './on-connection.ts'
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

/** Outside of any transaction. */
export const runAlone = <Row>(
  { names, pool }: Way,
  text: string,
  values?: readonly unknown[],
  hot?: 'prepared',
) => onConnection(pool, (client) => run<Row>({ names }, client, text, values, hot))
