/** Chains with accounts: deposit addresses that blocks showed something to leave, whoever sent it. The proof looks there first. */
import type { Block } from '../chains/chain.ts'
import type { ChainName } from '../core/assets.ts'
import type { Tx } from '../db/database.ts'

/** Deeper than any reorganisation that is followed; what no proof looked at by then, the walk over all addresses finds. */
const KEPT_BLOCKS = 200

/**
 * To be called in the transaction that moves the cursor past the block. One index descent of `addresses` for each account that
 * something left in the block: some hundreds on the main network.
 */
export async function recordAddressSpends(
  tx: Tx,
  chain: ChainName,
  { height, transactions }: Pick<Block, 'height' | 'transactions'>,
): Promise<void> {
  const senders = new Set(
    transactions.flatMap(({ senders = [] }) => senders.map((lookup) => Buffer.from(lookup).toString('hex'))),
  )
  if (senders.size === 0) return
  await tx.query(
    `with old as (delete from address_spends where chain = $1 and block_height < $2::bigint - $4::bigint)
     insert into address_spends (chain, address, block_height)
     select $1, a.address, $2 from unnest($3::text[]) as sent (lookup)
     join addresses a on a.lookup = decode(sent.lookup, 'hex') and a.chain = $1
     where a.branch = 0 on conflict do nothing`,
    [chain, height, [...senders], KEPT_BLOCKS],
  )
}
