/** Days that are over: what happened just now becomes what happened days ago. For a development database only. */
import type { AccountId } from '../src/core/ids.ts'
import type { Database, Tx } from '../src/db/database.ts'

/** Tables of one account, the column that says when a row was made, and all that move with it. */
const TABLES: readonly (readonly [table: string, made: string, ...columns: string[]])[] = [
  ['payments', 'created_at', 'created_at', 'expires_at', 'detected_at', 'completed_at', 'rate_at'],
  ['deposits', 'seen_at', 'seen_at'],
  ['customers', 'created_at', 'created_at'],
  ['payment_links', 'created_at', 'created_at'],
  ['events', 'created_at', 'created_at'],
  ['journal_entries', 'created_at', 'created_at'],
  ['transfers', 'created_at', 'created_at'],
  ['withdrawals', 'created_at', 'created_at', 'broadcast_at', 'completed_at', 'failed_at'],
]

/** Moves every row of the account that was made since `began` so many days into the past. */
export async function moveBack(
  db: Database,
  accountId: AccountId,
  began: Date,
  daysAgo: number,
): Promise<void> {
  await db.transaction(async (tx) => {
    for (const [table, made, ...columns] of TABLES) {
      const moved = columns.map((column) => `${column} = ${column} - $3::int * interval '1 day'`).join(', ')
      await tx.query(`update ${table} set ${moved} where account_id = $1 and ${made} >= $2`, [
        accountId,
        began,
        daysAgo,
      ])
    }
    await forgetCounts(tx)
  })
}

/** The account is as old as its first day, and what days ended with is summed up anew. */
export async function reopenDays(db: Database, accountId: AccountId, daysAgo: number): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query("update accounts set created_at = now() - $2::int * interval '1 day' where id = $1", [
      accountId,
      daysAgo,
    ])
    await tx.query('delete from daily_balances')
    await forgetCounts(tx)
    await tx.query('delete from closed_days')
  })
}

/** What was counted of payments was counted where they stood. */
async function forgetCounts(tx: Tx): Promise<void> {
  for (const table of [
    'daily_payments',
    'payment_grid_counts',
    'payment_grids',
    'payment_rungs',
    'payment_changes',
    'payment_ranks',
  ])
    await tx.query(`delete from ${table}`)
}
