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

/** What is to be moved of ether, or of tokens, and nothing was signed for. */
export interface ToMove {
  /** Deposits that no sweep has taken, and sweeps that are planned. The operator's own capital at such addresses keeps nothing of his back. */
  readonly sweeps: bigint
  /** Withdrawals that were requested. */
  readonly payouts: bigint
  /** Somebody has some, and may ask for it. */
  readonly isOwed: boolean
}

export interface GasNeeded {
  readonly ether: ToMove
  readonly tokens: ToMove
  /** Contracts for sweeps that are wanted. */
  readonly deployments: bigint
}

/** What the gateway has to pay gas for on a chain with accounts. */
export async function countGasNeeded(db: Queryable, chain: ChainName): Promise<GasNeeded> {
  const { rows } = await db.query<ToMove & { isEther: boolean }>(
    `select asset = 'ETH' as "isEther", sum(sweeps) as sweeps, sum(payouts) as payouts, sum(owed) > 0 as "isOwed"
     from (
       select asset, count(*) as sweeps, 0 as payouts, 0 as owed from deposits
         where chain = $1 and booked and sweep is null and asset in ('ETH', 'USDC', 'USDT') group by asset
       union all
       select asset, count(*), 0, 0 from sweeps
         where chain = $1 and status in ('planned', 'funding', 'funded') group by asset
       union all
       select asset, 0, count(*), 0 from withdrawals w where chain = $1 and status = 'requested'
         and not exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id) group by asset
       union all
       select asset, 0, 0, count(*) from balances where chain = $1 and atoms > 0 group by asset
     ) moves group by 1`,
    [chain],
  )
  const { rowCount } = await db.query(
    'select from sweep_delegates where chain = $1 and replacement_set is null and wanted_since is not null',
    [chain],
  )
  const of = (isEther: boolean): ToMove => rows.find((row) => row.isEther === isEther) ?? NOTHING
  return { ether: of(true), tokens: of(false), deployments: BigInt(rowCount) }
}

const NOTHING: ToMove = { sweeps: 0n, payouts: 0n, isOwed: false }
