/** Chains with accounts: where our senders' nonces stand and what they hold, as the worker with a node saw it last. */
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'

/** Never goes back: what the chain has used is used, and what is signed is counted already. */
export async function raiseNonce(
  db: Queryable,
  chain: ChainName,
  sender: string,
  confirmed: bigint,
): Promise<void> {
  await db.query(
    `insert into nonces (chain, sender, next) values ($1, $2, $3)
     on conflict (chain, sender) do update set next = excluded.next where nonces.next < excluded.next`,
    [chain, sender, confirmed],
  )
}

/** @param seenHeight - The tip before the balances were asked for. */
export async function storeBalances(
  db: Queryable,
  chain: ChainName,
  address: string,
  holdings: Partial<Record<Asset, bigint>>,
  seenHeight: number,
): Promise<void> {
  const assets: readonly Asset[] = ['ETH', 'USDC', 'USDT']
  await db.query(
    `insert into account_balances (chain, address, asset, atoms, seen_height)
     select $1::text, $2::text, asset, atoms, $5::bigint from unnest($3::text[], $4::numeric[]) as held (asset, atoms)
     on conflict (chain, address, asset) do update set atoms = excluded.atoms, seen_height = excluded.seen_height`,
    [chain, address, assets, assets.map((asset) => holdings[asset] ?? 0n), seenHeight],
  )
}
