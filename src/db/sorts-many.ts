/** What PostgreSQL would do for a statement, asked before it is sent. */
import type { Queryable } from './database.ts'
import { oneRow } from './rows.ts'

/** So many rows and more are no page any more. */
const MANY = 1_000

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Plan Rows': number
  readonly Plans?: readonly PlanNode[]
}

/**
 * Whether more rows would be sorted than a page has: no index holds the order, or PostgreSQL expects all that match to stand so near to each
 * other that to sort them is less than to walk past the others. It takes a millisecond.
 */
export async function sortsMany(db: Queryable, text: string, values: readonly unknown[]): Promise<boolean> {
  const { 'QUERY PLAN': plans } = await oneRow<{ 'QUERY PLAN': readonly { readonly Plan: PlanNode }[] }>(
    db,
    `explain (format json) ${text}`,
    values,
  )
  return plans.some(({ Plan }) => sorts(Plan))
}

const sorts = ({ 'Node Type': type, 'Plan Rows': rows, Plans = [] }: PlanNode): boolean =>
  (type === 'Sort' && rows >= MANY) || Plans.some(sorts)
