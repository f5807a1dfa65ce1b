/** A withdrawal as it was asked for; of many that are asked for together, all in one statement. */
import type { Tx } from '../db/database.ts'
import { overRows } from '../db/row-statements.ts'
import { runRows } from '../db/together.ts'
import type { Withdrawal, WithdrawalRequest } from './withdrawal.ts'
import { WITHDRAWAL_COLUMNS } from './withdrawals.sql.ts'

export async function insertWithdrawal(
  tx: Tx,
  request: WithdrawalRequest,
  mac: Uint8Array,
): Promise<Withdrawal> {
  const [row] = await runRows<Withdrawal>(tx, INSERT_WITHDRAWAL, [
    {
      account_id: request.accountId,
      id: request.id,
      kind: request.kind,
      payment_id: request.paymentId,
      chain: request.chain,
      asset: request.asset,
      amount_atoms: request.amountAtoms,
      fee_atoms: request.feeAtoms,
      network_fee_atoms: request.networkFeeAtoms,
      net_atoms: request.netAtoms,
      destination: request.destination,
      asked_by: request.askedBy,
      mac,
    },
  ])
  if (!row) throw new Error('insert returns its row')
  return row
}

const REQUESTED = {
  account_id: 'uuid',
  id: 'uuid',
  kind: 'text',
  payment_id: 'uuid',
  chain: 'text',
  asset: 'text',
  amount_atoms: 'numeric',
  fee_atoms: 'numeric',
  network_fee_atoms: 'numeric',
  net_atoms: 'numeric',
  destination: 'text',
  asked_by: 'text',
  mac: 'bytea',
} as const
const REQUESTED_COLUMNS = Object.keys(REQUESTED).join(', ')

const INSERT_WITHDRAWAL = overRows(
  REQUESTED,
  (rows) => `with draft as (
      select * from ${rows}
    ), made as (
      insert into withdrawals as w (${REQUESTED_COLUMNS}, status, created_at)
      select ${REQUESTED_COLUMNS}, 'requested', date_trunc('milliseconds', now()) from draft order by place
      returning ${WITHDRAWAL_COLUMNS}
    )
    select draft.place, made.* from made join draft on account_id = "accountId" and draft.id = made.id order by place`,
)
