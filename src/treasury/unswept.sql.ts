/** What lies at addresses for deposits on chains with accounts until it is swept. */
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'
import { allRows } from '../db/rows.ts'
import { ETHER_OF_ADDRESS } from './sweeps.sql.ts'
import { UNSWEPT_CAPITAL } from './unexpected-deposits.sql.ts'

export interface Unswept {
  readonly asset: Asset
  readonly addresses: bigint
  readonly atoms: bigint
}

/** Booked deposits, unexpected ones among them, that still lie at their own addresses: too small to be worth their gas, refused, or not taken yet. */
export const sumUnswept = (db: Queryable, chain: ChainName): Promise<Unswept[]> =>
  allRows(
    db,
    `select asset, count(distinct address) as addresses, sum(atoms) as atoms from (
       select asset, address, amount_atoms as atoms from deposits
       where chain = $1 and booked and sweep is null and asset in ('ETH', 'USDC', 'USDT')
       union all
       select asset, address, atoms from unexpected_deposits where chain = $1 and ${UNSWEPT_CAPITAL}
     ) unswept group by asset order by asset`,
    [chain],
  )

/** What sweeps of tokens left of the gas that their addresses were given, until it is worth a sweep of its own. */
export async function sumGasLeft(
  db: Queryable,
  chain: ChainName,
): Promise<{ readonly addresses: bigint; readonly atoms: bigint }> {
  const { rows } = await db.query<{ addresses: bigint; atoms: bigint }>(
    `select count(*) as addresses, coalesce(sum(atoms), 0) as atoms from (
       select ${ETHER_OF_ADDRESS} - coalesce((select sum(amount_atoms) from deposits d where d.chain = $1
         and d.address = x.address and d.asset = 'ETH' and d.booked and d.sweep is null), 0)
         - coalesce((select sum(u.atoms) from unexpected_deposits u where u.chain = $1
         and u.address = x.address and u.asset = 'ETH' and ${UNSWEPT_CAPITAL}), 0) as atoms
       from (select distinct address from gas_funding where chain = $1 and sweep is null) x
       where not exists (select from sweeps s where s.chain = $1 and s.address = x.address
         and s.status not in ('done', 'failed'))
     ) gas where atoms > 0`,
    [chain],
  )
  return rows[0] ?? { addresses: 0n, atoms: 0n }
}
