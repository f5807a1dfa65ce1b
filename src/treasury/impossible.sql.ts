/** Replacement sets that can never enter the chain, or wait suspiciously long; and the UTXOs that such ones give back. */
import type { ChainName } from '../core/assets.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { allRows } from '../db/rows.ts'
import { isHotWalletSql } from './own-address.ts'
import { openSql } from './signed-transaction.ts'

/**
 * Sets that can never enter the chain: a UTXO that each of their transactions spends is gone. Somebody else spent it; or
 * a reorganisation ended with another transaction instead of the deposit or the payout of ours that made it. Each in
 * a block this deep. Chains with outputs only.
 */
export async function listImpossible(db: Queryable, chain: ChainName, depth: number): Promise<string[]> {
  const { rows } = await db.query<{ replacement_set: string }>(
    `select distinct c.reserved_by as replacement_set
     from utxos c
     join signed_transactions t on t.chain = c.chain and t.txid = c.reserved_by and ${openSql('t')},
     lateral (select v.tip_height - $2::bigint + 1 as height from chains v where v.chain = c.chain) as deep
     where c.chain = $1 and c.reserved_by = c.reserved_first_by and (
       c.spent_height <= deep.height and not exists (select from signed_transactions s where s.chain = c.chain
         and s.txid = c.spent_by and s.replacement_set = c.reserved_by)
       or c.block_height is null and exists (select from deposits d where d.chain = c.chain and d.tx_key = c.txid
         and d.output_index = c.output_index and d.replaced_height <= deep.height)
       or c.block_height is null and exists (select from signed_transactions s where s.chain = c.chain and s.txid = c.txid
         and (s.status = 'impossible' or s.status = 'displaced' and exists (select from signed_transactions m
           where m.chain = s.chain and m.replacement_set = s.replacement_set and m.status = 'confirmed' and m.block_height <= deep.height))))`,
    [chain, depth],
  )
  return rows.map((row) => row.replacement_set)
}

/** A replacement set that was sent, and what it spends that is in no block any more. */
export interface StrandedSet {
  readonly replacementSet: string
  readonly coins: readonly string[]
}

/**
 * Sets that may wait for ever: a reorganisation took a coin that they spend, and the node, which takes what spends a coin that waits,
 * refuses them for what is missing, this many blocks after they were sent first. Chains with outputs only.
 */
export const listStranded = (db: Queryable, chain: ChainName, depth: number): Promise<StrandedSet[]> =>
  allRows(
    db,
    `select t.replacement_set as "replacementSet", array_agg(distinct c.txid || ':' || c.output_index) as coins
     from signed_transactions t
     join chains v on v.chain = t.chain
     join utxos c on c.chain = t.chain and c.reserved_by = t.replacement_set and c.block_height is null
       and not exists (select from signed_transactions o where o.chain = c.chain and o.txid = c.txid and o.replacement_set = c.reserved_by)
     where t.chain = $1 and ${openSql('t')} and t.status = 'refused' and t.sent_at is not null and position('missing' in t.refusal) > 0
       and t.since_height <= v.tip_height - $2::bigint
     group by t.replacement_set order by t.replacement_set`,
    [chain, depth],
  )

/** A replacement set of a chain with accounts that no block took for long. */
export interface OverdueSet {
  readonly replacementSet: string
  readonly sender: string
  readonly nonce: bigint
}

/**
 * Those that wait for more than ten minutes, each sender's in the order of its nonces. Hot wallets come first: what they send pays
 * withdrawals, and hundreds of sweeps, each of an address of its own, may wait for lower fees.
 */
export const listOverdue = (db: Queryable, chain: ChainName): Promise<OverdueSet[]> =>
  allRows(
    db,
    `select replacement_set as "replacementSet", sender, nonce from signed_transactions t
     where chain = $1 and txid = replacement_set and ${openSql('t')} and nonce is not null
       and created_at < now() - interval '10 minutes'
       and not exists (select from signed_transactions m where m.chain = t.chain and m.replacement_set = t.replacement_set
         and m.block_height is not null)
     order by ${isHotWalletSql('t.chain', 't.sender')} desc, sender, nonce
     limit 200`,
    [chain],
  )

/** Whether something of ours that may still enter the chain uses a nonce of a sender: its own transaction, or an authorisation. */
export async function isNonceAwaited(
  db: Queryable,
  chain: ChainName,
  sender: string,
  nonce: bigint,
): Promise<boolean> {
  const { rows } = await db.query(
    `select from signed_transactions t where chain = $1 and sender = $2 and nonce = $3 and ${openSql('t')}
     union all
     select from sweeps w join signed_transactions t on t.chain = w.chain and t.replacement_set = w.replacement_set and ${openSql('t')}
     where w.chain = $1 and w.address = $2 and w.way = 'batch' and not w.delegates
     limit 1`,
    [chain, sender, nonce],
  )
  return rows.length > 0
}

/** Gives back the UTXOs of a set that can never spend them. */
export async function freeUtxos(tx: Tx, chain: ChainName, replacementSet: string): Promise<void> {
  await tx.query(
    'update utxos set reserved_by = null, reserved_first_by = null where chain = $1 and reserved_by = $2',
    [chain, replacementSet],
  )
}

/** Gives back the UTXOs that displaced replacements added to what the mined transaction of their set spends. */
export async function freeAddedUtxos(
  tx: Tx,
  chain: ChainName,
  mined: { replacementSet: string; txid: string },
): Promise<void> {
  await tx.query(
    `update utxos c set reserved_by = null, reserved_first_by = null
     from signed_transactions m
     join signed_transactions s on s.chain = m.chain and s.replacement_set = m.replacement_set and s.created_at > m.created_at
       and s.status = 'displaced'
     where m.chain = $1 and m.txid = $3 and c.chain = $1 and c.reserved_by = $2 and c.reserved_first_by = s.txid
       and c.spent_by is null`,
    [chain, mined.replacementSet, mined.txid],
  )
}
