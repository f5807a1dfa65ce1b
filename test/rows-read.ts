import type { Queryable } from '../src/db/database.ts'
import type { Statement } from './watched-database.ts'

const READ = /(?:Removed by Filter: |(?:(?<!Bitmap )Index|Only|Seq|Heap) Scan .*rows=)(\d+)/g

/** How many rows of tables and indexes PostgreSQL reads for it, as often as it comes by each node of the plan first. */
export async function rowsRead(db: Queryable, [text, values]: Statement): Promise<number> {
  const { rows } = await db.query<{ 'QUERY PLAN': string }>(
    `explain (analyze, timing off, costs off) ${text}`,
    values,
  )
  return rows
    .flatMap((line) => [...line['QUERY PLAN'].matchAll(READ)])
    .reduce((sum, [, n]) => sum + Number(n), 0)
}
