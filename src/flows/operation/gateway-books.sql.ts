/** The gateway's own side of the books: what its wallets hold, what it owes, earned, was given and lost. */
import type { Asset, ChainName } from '../../core/assets.ts'
import type { Queryable } from '../../db/database.ts'

export interface GatewayBooks {
  readonly sums: readonly {
    readonly chain: ChainName
    readonly asset: Asset
    readonly wallet: bigint
    readonly owed: bigint
    readonly fees: bigint
    readonly capital: bigint
    readonly networkFees: bigint
    readonly loss: bigint
  }[]
  readonly hotWallets: readonly { readonly chain: ChainName; readonly address: string }[]
  readonly freezes: readonly {
    readonly chain: ChainName
    readonly asset: Asset
    readonly reason: string
    readonly frozenAt: Date
  }[]
}

/** Sums every transfer: for a page that the operator opens now and then. */
export async function readGatewayBooks(db: Queryable): Promise<GatewayBooks> {
  const [sums, hotWallets, freezes] = await Promise.all([
    db.query<GatewayBooks['sums'][number]>(
      `with sides as (
         select chain, asset, debit as account, amount_atoms as atoms from transfers
         union all select chain, asset, credit, -amount_atoms from transfers
       )
       select chain, asset, coalesce(sum(atoms) filter (where account = 'wallet'), 0)::numeric as wallet,
         coalesce(-sum(atoms) filter (where account in ('available', 'held', 'unresolved')), 0)::numeric as owed,
         coalesce(-sum(atoms) filter (where account = 'fees'), 0)::numeric as fees,
         coalesce(-sum(atoms) filter (where account = 'capital'), 0)::numeric as capital,
         coalesce(sum(atoms) filter (where account = 'network_fees'), 0)::numeric as "networkFees",
         coalesce(sum(atoms) filter (where account = 'loss'), 0)::numeric as loss
       from sides group by chain, asset order by chain, asset`,
    ),
    db.query<GatewayBooks['hotWallets'][number]>(
      `select w.chain, a.address from wallets w join addresses a on a.chain = w.chain and a.series = w.series
       where w.retired_at is null and a.branch = 1 and a.position = 0 order by w.chain`,
    ),
    db.query<GatewayBooks['freezes'][number]>(
      'select chain, asset, reason, frozen_at as "frozenAt" from freezes order by chain, asset',
    ),
  ])
  return { sums: sums.rows, hotWallets: hotWallets.rows, freezes: freezes.rows }
}
