/** A reorganisation takes blocks away: every row that says in which block something was observed loses its block at once. */
import type { ChainName } from '../../core/assets.ts'
import type { AccountId, PaymentId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import type { PaymentKey } from '../../deposits/deposits.sql.ts'

export interface Undone {
  /** How many blocks were taken. */
  readonly blocks: number
  /** Whose deposits were in them. */
  readonly payments: readonly PaymentKey[]
}

/**
 * Takes back what the blocks above a fork showed. Deposits, UTXOs and unexpected deposits stay known: their transactions usually wait
 * again, and an unexpected deposit that comes back waits for a sweep again. What our own transactions brought is recorded anew with their new block. Ether without a transaction is compared
 * again, and the blocks that follow are searched for capital again. The payers follow `signed_transactions` by themselves.
 *
 * One statement, so that nothing keeps a block that the others lost; undo-blocks.test.ts goes through every column of the
 * schema that holds a height. The chain's row is locked already, by the fence.
 */
export async function undoBlocksAbove(tx: Tx, chain: ChainName, forkHeight: number): Promise<Undone> {
  const { rows } = await tx.query<{
    accountId: AccountId | null
    paymentId: PaymentId | null
    blocks: number
  }>(
    `with taken as (
       delete from chain_blocks where chain = $1 and height > $2 returning height
     ), deposited as (
       update deposits set
         status = case when block_height > $2 then 'reorganised' else status end,
         missing_since = case when block_height > $2 then null else missing_since end,
         block_hash = case when block_height > $2 then null else block_hash end,
         block_height = case when block_height > $2 then null else block_height end,
         replaced_height = case when replaced_height > $2 then null else replaced_height end
       where chain = $1 and (block_height > $2 or replaced_height > $2)
       returning account_id, payment_id, status
     ), given_and_spent as (
       update utxos set
         block_height = case when block_height > $2 then null else block_height end,
         spent_by = case when spent_height > $2 then null else spent_by end,
         spent_height = case when spent_height > $2 then null else spent_height end
       where chain = $1 and (block_height > $2 or spent_height > $2)
     ), received as (
       update unexpected_deposits set block_height = null, sweep = null where chain = $1 and block_height > $2
     ), funded as (
       delete from gas_funding where chain = $1 and block_height > $2
     ), spent as (
       delete from address_spends where chain = $1 and block_height > $2
     ), moved as (
       update chains c set tip_height = b.height, tip_hash = b.hash, tip_time = b.block_time,
         capital_height = least(c.capital_height, $2), ether_asked_at = clock_timestamp()
       from chain_blocks b where c.chain = $1 and b.chain = $1 and b.height = $2
     )
     select d.account_id as "accountId", d.payment_id as "paymentId", (select count(*) from taken)::integer as blocks
     from (values (1)) as once left join deposited d on d.status = 'reorganised'`,
    [chain, forkHeight],
  )
  return {
    blocks: rows[0]?.blocks ?? 0,
    payments: rows.flatMap(({ accountId, paymentId }) =>
      accountId && paymentId ? [{ accountId, paymentId }] : [],
    ),
  }
}
