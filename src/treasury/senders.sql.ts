/** Chains with accounts: where our senders' nonces stand and what they hold, as the worker with a node saw it last. */
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { openSql } from './signed-transaction.ts'

/**
 * Never goes back: what the chain has used is used, and what is signed is counted already, also where nothing but the
 * signed transactions is left of it.
 */
export async function raiseNonce(
  db: Queryable,
  chain: ChainName,
  sender: string,
  confirmed: bigint,
): Promise<void> {
  await db.query(
    `insert into nonces (chain, sender, next)
     select $1::text, $2::text, greatest($3::bigint, max(nonce) + 1) from signed_transactions
     where chain = $1 and sender = $2 and txid = replacement_set
     on conflict (chain, sender) do update set next = excluded.next where nonces.next < excluded.next`,
    [chain, sender, confirmed],
  )
}

/**
 * Where a deposit address stands that nothing is under way from: a batch that never entered the chain has used none of the
 * nonces that it was signed with. One whose block a reorganisation took, after its sweeps were done, will use them again.
 */
export async function setNonce(tx: Tx, chain: ChainName, address: string, confirmed: bigint): Promise<void> {
  await tx.query(
    `insert into nonces (chain, sender, next) values ($1, $2, $3)
     on conflict (chain, sender) do update set next = excluded.next where not exists (select from signed_transactions s
       where s.chain = $1 and s.sender = $2 and ${openSql('s')})
       and not exists (select from sweeps w
         join signed_transactions s on s.chain = w.chain and s.replacement_set = w.replacement_set and ${openSql('s')}
         where w.chain = $1 and w.address = $2)`,
    [chain, address, confirmed],
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
     select $1::text, $2::text, asset, atoms, $5::bigint from unnest($3::text[], $4::numeric[]) as balances (asset, atoms)
     on conflict (chain, address, asset) do update set atoms = excluded.atoms, seen_height = excluded.seen_height`,
    [chain, address, assets, assets.map((asset) => holdings[asset] ?? 0n), seenHeight],
  )
}

/**
 * A restored database tells of a past: nothing is signed from these senders until the worker has asked the chain where they
 * stand, and what they hold.
 */
export async function forgetSenders(db: Queryable, chains: readonly ChainName[]): Promise<void> {
  await db.query(
    `with balances as (delete from account_balances where chain = any($1))
     delete from nonces where chain = any($1)`,
    [chains],
  )
}
