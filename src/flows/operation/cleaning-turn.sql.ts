/** Whose turn it is to remove what is older than its age. */
import type { Tx } from '../../db/database.ts'
import { anyRow } from '../../db/rows.ts'

/** Until the transaction ends. @returns False while another process removes something. */
export const takeCleaningTurn = (tx: Tx): Promise<boolean> =>
  anyRow(
    tx,
    `select from (select pg_try_advisory_xact_lock(hashtextextended('cleaning', 0)) as mine) turn where mine`,
  )
