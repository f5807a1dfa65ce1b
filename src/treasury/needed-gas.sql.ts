/** What is still to be paid to the networks out of what the gateway owns. */
import { type Asset, type ChainName, nativeAsset } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'
import { openSql } from './signed-transaction.ts'

/** What transactions under way may cost, of a chain's own coin; of a replacement set the dearest. */
export async function sumOpenFees(db: Queryable, chain: ChainName, asset: Asset): Promise<bigint> {
  if (asset !== nativeAsset(chain)) return 0n
  const { rows } = await db.query<{ atoms: bigint }>(
    `select coalesce(sum(fee), 0) as atoms from (
       select max(fee_atoms - booked_fee_atoms) as fee from signed_transactions t
       where chain = $1 and ${openSql('t')} group by replacement_set) sets`,
    [chain],
  )
  return rows[0]?.atoms ?? 0n
}

export interface GasNeeded {
  readonly sweeps: bigint
  readonly payouts: bigint
  readonly owesTokens: boolean
}

/** Deposits of tokens that no sweep has taken, withdrawals of tokens that nothing was signed for, and whether more may come. */
export async function countGasNeeded(db: Queryable, chain: ChainName): Promise<GasNeeded> {
  const { rows } = await db.query<GasNeeded>(
    `select (select count(*) from deposits
         where chain = $1 and booked and sweep is null and asset in ('USDC', 'USDT')) as sweeps,
       (select count(*) from withdrawals w where chain = $1 and asset in ('USDC', 'USDT') and status = 'requested'
         and not exists (select from signed_payouts s
           where s.account_id = w.account_id and s.withdrawal_id = w.id)) as payouts,
       exists (select from balances where chain = $1 and asset in ('USDC', 'USDT') and atoms > 0) as "owesTokens"`,
    [chain],
  )
  return rows[0] as GasNeeded
}
