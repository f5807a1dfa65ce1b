/** Statements whose whole answer is their rows, by how many there are. */
import { invariant } from '../core/errors.ts'
import type { Queryable } from './database.ts'

/** As {@link Queryable.query} takes it. */
type Statement = Parameters<Queryable['query']>

/** Of a statement's text, which holds no values. */
const SHOWN = 80

export async function allRows<Row>(db: Queryable, ...statement: Statement): Promise<Row[]> {
  const { rows } = await db.query<Row>(...statement)
  return rows
}

/** Null without one. */
export async function firstRow<Row>(db: Queryable, ...statement: Statement): Promise<Row | null> {
  const { rows } = await db.query<Row>(...statement)
  return rows[0] ?? null
}

/** Of a statement that cannot answer without one, as `insert … returning` and sums. */
export async function oneRow<Row>(db: Queryable, ...statement: Statement): Promise<Row> {
  const { rows } = await db.query<Row>(...statement)
  invariant(rows[0], `a row answers ${statement[0].trim().slice(0, SHOWN)}`)
  return rows[0]
}

/** Whether it found, or changed, any. */
export const anyRow = async (db: Queryable, ...statement: Statement): Promise<boolean> =>
  (await countRows(db, ...statement)) > 0

/** How many it found, or changed. */
export async function countRows(db: Queryable, ...statement: Statement): Promise<number> {
  const { rowCount } = await db.query(...statement)
  return rowCount
}
