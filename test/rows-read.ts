import type { Queryable } from '../src/db/database.ts'
import type { Statement } from './watched-database.ts'

const SCAN = /(?:(?<!Bitmap )Index|Only|Seq|Heap) Scan .*rows=([\d.]+)/
const REMOVED = /Rows Removed by (?:Filter|Index Recheck): (\d+)/

/** How many rows of tables and indexes PostgreSQL reads for it. */
export async function rowsRead(db: Queryable, [text, values]: Statement): Promise<number> {
  const { rows } = await db.query<{ 'QUERY PLAN': string }>(
    `explain (analyze, timing off, costs off) ${text}`,
    values,
  )
  let read = 0
  let loops = 1
  for (const { 'QUERY PLAN': line } of rows) {
    loops = Number(/loops=(\d+)/.exec(line)?.[1] ?? loops)
    read += loops * (Number(SCAN.exec(line)?.[1] ?? 0) + Number(REMOVED.exec(line)?.[1] ?? 0))
  }
  return read
}
