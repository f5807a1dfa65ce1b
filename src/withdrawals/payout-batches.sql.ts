/** Many payouts that were asked for as one. */
import type { ChainName } from '../core/assets.ts'
import type { AccountId, PayoutBatchId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { allRows, firstRow } from '../db/rows.ts'
import type { Withdrawal } from './withdrawal.ts'
import { WITHDRAWAL_COLUMNS } from './withdrawals.sql.ts'

export interface PayoutBatch {
  readonly accountId: AccountId
  readonly id: PayoutBatchId
  readonly chain: ChainName
  readonly size: number
  readonly name: string
  readonly askedBy: string
  readonly createdAt: Date
}

const COLUMNS = `account_id as "accountId", id, chain, size, name, asked_by as "askedBy", created_at as "createdAt"`

export async function insertBatch(tx: Tx, batch: Omit<PayoutBatch, 'createdAt'>): Promise<void> {
  await tx.query(
    'insert into payout_batches (account_id, id, chain, size, name, asked_by) values ($1, $2, $3, $4, $5, $6)',
    [batch.accountId, batch.id, batch.chain, batch.size, batch.name, batch.askedBy],
  )
}

/** Puts withdrawals of this transaction into their batch, each with the note of its line. */
export async function joinBatch(
  tx: Tx,
  { accountId, id }: Pick<PayoutBatch, 'accountId' | 'id'>,
  lines: readonly { readonly withdrawal: Pick<Withdrawal, 'id'>; readonly note: string }[],
): Promise<void> {
  await tx.query(
    `update withdrawals w set batch_id = $2, batch_note = nullif(l.note, '')
     from unnest($3::uuid[], $4::text[]) as l (id, note) where w.account_id = $1 and w.id = l.id`,
    [accountId, id, lines.map(({ withdrawal }) => withdrawal.id), lines.map(({ note }) => note)],
  )
}

export const findBatch = (
  db: Queryable,
  accountId: AccountId,
  id: PayoutBatchId,
): Promise<PayoutBatch | null> =>
  firstRow(db, `select ${COLUMNS} from payout_batches where account_id = $1 and id = $2`, [accountId, id])

export const listBatches = (db: Queryable, accountId: AccountId, limit: number): Promise<PayoutBatch[]> =>
  allRows(
    db,
    `select ${COLUMNS} from payout_batches where account_id = $1 order by created_at desc, id desc limit $2`,
    [accountId, limit],
  )

export type BatchLine = Withdrawal & { readonly note: string | null }

/** In the order of the file. */
export const listBatch = (db: Queryable, accountId: AccountId, id: PayoutBatchId): Promise<BatchLine[]> =>
  allRows(
    db,
    `select ${WITHDRAWAL_COLUMNS}, batch_note as note from withdrawals w where account_id = $1 and batch_id = $2 order by id`,
    [accountId, id],
  )

/** The batch that a withdrawal was asked for in; null for one that was asked for alone. */
export const findBatchOf = (db: Queryable, { accountId, id }: Withdrawal): Promise<PayoutBatch | null> =>
  firstRow(
    db,
    `select ${COLUMNS} from payout_batches b where account_id = $1
       and id = (select w.batch_id from withdrawals w where w.account_id = $1 and w.id = $2)`,
    [accountId, id],
  )
