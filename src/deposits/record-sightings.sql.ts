/** What the chain shows becomes deposits: seen first, or seen again elsewhere. */
import type { ChainName } from '../core/assets.ts'
import { SENT_BY_CONTRACT } from '../core/ether-outputs.ts'
import { newId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'
import type { Deposit } from './deposit.ts'
import type { PaymentKey } from './deposits.sql.ts'
import { presentSql } from './received.ts'

/** One output at an address of ours, with what its payment says about it. */
export interface Sighting
  extends Pick<
    Deposit,
    | 'accountId'
    | 'paymentId'
    | 'asset'
    | 'txKey'
    | 'txHash'
    | 'outputIndex'
    | 'address'
    | 'amountAtoms'
    | 'requiredConfirmations'
    | 'seenAt'
    | 'sightedMinor'
    | 'dust'
    | 'mac'
  > {
  /** Null in the mempool. */
  readonly block: { readonly height: number; readonly hash: string } | null
}

/**
 * Records what the chain shows, a block or a batch at a time. A block's word beats the mempool's; seeing the same again
 * changes nothing. A deposit that was replaced, dropped or reorganised and is shown again is `seen` again.
 *
 * The same is what says the same: a contract's call that a reorganisation puts into another block may pay something else there,
 * under its old name, as a swap does. That is another deposit, and replaces the old one. Of one that is shown, the place decides:
 * who changed its row is told by its MAC.
 *
 * A transaction that spends all that another one spent, and pays the payment no more than it did, is the same with another fee; ether
 * of contracts that a reorganisation named anew is the deposit of before. Either was seen when that one was, and so is in time when
 * that one was. What pays more was not seen before: a crumb in time would keep the quote for whoever waits where the rate goes. Two
 * that spend all that one spent exclude each other, so no more counts in time than was seen in time. To be
 * called when what the transactions spend, and which names are replaced, is recorded.
 *
 * What is seen after the window is late. So is all that is shown of a payment that is over, whatever the clocks of miners say: its
 * merchant was told so. Whether it is over is read here, under the lock that the foreign key of deposits takes in any case, so
 * that nobody ends it who has not seen what is recorded. Locks the payments in the order of their keys.
 *
 * In one piece: one statement, for every answer of it must be about the same moment.
 *
 * @returns The payments of which anything changed.
 */
export async function recordSightings(
  tx: Tx,
  chain: ChainName,
  sightings: readonly Sighting[],
): Promise<PaymentKey[]> {
  if (sightings.length === 0) return []
  const observed = sightings.map((sighting) => ({
    account_id: sighting.accountId,
    id: newId('dep'),
    payment_id: sighting.paymentId,
    asset: sighting.asset,
    tx_key: sighting.txKey,
    tx_hash: sighting.txHash,
    output_index: sighting.outputIndex,
    address: sighting.address,
    amount_atoms: String(sighting.amountAtoms),
    block_height: sighting.block?.height ?? null,
    block_hash: sighting.block?.hash ?? null,
    required_confirmations: sighting.requiredConfirmations,
    sighted_at: sighting.seenAt,
    sighted_minor: sighting.sightedMinor === null ? null : String(sighting.sightedMinor),
    dust: sighting.dust,
    mac: Buffer.from(sighting.mac).toString('hex'),
  }))
  const { rows } = await tx.query<PaymentKey>(
    `with sighted as (
       select *, sum(amount_atoms) over (partition by tx_key, account_id, payment_id, asset) as paid_atoms
       from jsonb_to_recordset($2::jsonb) as s (account_id uuid, id uuid, payment_id uuid, asset text, tx_key text,
         tx_hash text, output_index integer, address text, amount_atoms numeric, block_height bigint, block_hash text,
         required_confirmations integer, sighted_at timestamptz,
         sighted_minor bigint, dust boolean, mac text)
     ), awaited as (
       select s.*, p.* from (select * from sighted order by account_id, payment_id) s cross join lateral (
         select expires_at as window_ends_at, status in ('expired', 'failed') as is_over from payments
         where account_id = s.account_id and id = s.payment_id limit 1 for key share) p
     ), observed as (
       select s.*, least(s.sighted_at, bumped.seen_at, renamed.seen_at) as seen_at from awaited s left join lateral (
         select min(seen_at) as seen_at from (
           select min(seen_at) as seen_at, sum(atoms) as paid_atoms from (
             select d.tx_key, min(d.seen_at) as seen_at, max(d.amount_atoms) as atoms from (
               select distinct other.tx_key from deposit_inputs own
               join deposit_inputs other on other.chain = $1 and other.spent_tx = own.spent_tx
                 and other.spent_index = own.spent_index
               where own.chain = $1 and own.tx_key = s.tx_key) conflicting
             join deposits d on d.chain = $1 and d.tx_key = conflicting.tx_key
             where d.account_id = s.account_id and d.payment_id = s.payment_id and d.asset = s.asset and not d.late and not d.dust
               and not exists (select from deposit_inputs theirs where theirs.chain = $1 and theirs.tx_key = d.tx_key
                 and not exists (select from deposit_inputs own where own.chain = $1 and own.tx_key = s.tx_key
                   and own.spent_tx = theirs.spent_tx and own.spent_index = theirs.spent_index))
             group by d.tx_key, d.output_index) outputs
           group by tx_key) replaced
         where replaced.paid_atoms >= s.paid_atoms
       ) bumped on not s.is_over left join lateral (
         select min(d.seen_at) as seen_at from deposits d
         where s.output_index = ${SENT_BY_CONTRACT} and d.account_id = s.account_id and d.payment_id = s.payment_id and d.chain = $1
           and d.output_index = s.output_index and d.replaced_by = s.tx_key and d.asset = s.asset and not d.late and not d.dust
       ) renamed on not s.is_over
     ), observed_again as (
       update deposits d set
         status = 'seen',
         block_height = s.block_height,
         block_hash = s.block_hash,
         seen_at = least(d.seen_at, s.seen_at),
         late = d.late and (least(d.seen_at, s.seen_at) > s.window_ends_at or s.is_over),
         replaced_by = null,
         replaced_height = null,
         missing_since = null
       from observed s
       where d.chain = $1 and d.tx_key = s.tx_key and d.output_index = s.output_index
         and (${presentSql('d')} or (d.address, d.asset, d.amount_atoms) = (s.address, s.asset, s.amount_atoms))
         and case when s.block_height is null
           then d.block_height is null and d.status in ('reorganised', 'dropped', 'replaced')
           else d.block_hash is distinct from s.block_hash end
       returning d.account_id, d.payment_id
     ), observed_first as (
       insert into deposits (account_id, id, payment_id, chain, asset, tx_key, tx_hash, output_index, address, amount_atoms,
         status, block_height, block_hash, required_confirmations, seen_at, late, sighted_minor, dust, mac)
       select account_id, id, payment_id, $1, asset, tx_key, tx_hash, output_index, address, amount_atoms,
         'seen', block_height, block_hash, required_confirmations, seen_at, seen_at > window_ends_at or is_over,
         case when seen_at > window_ends_at or is_over then sighted_minor end, dust, decode(mac, 'hex')
       from observed
       on conflict do nothing
       returning account_id, payment_id
     ), superseded as (
       update deposits d set status = 'replaced', replaced_by = s.tx_key
       from observed s
       where s.block_height is not null and d.chain = $1 and d.tx_key = s.tx_key and d.block_height is null
         and d.status in ('reorganised', 'dropped') and not exists (
           select from observed o where o.tx_key = d.tx_key and o.output_index = d.output_index
             and (o.address, o.asset, o.amount_atoms) = (d.address, d.asset, d.amount_atoms))
       returning d.account_id, d.payment_id
     )
     select account_id as "accountId", payment_id as "paymentId"
     from (table observed_again union all table observed_first union all table superseded) changed`,
    [chain, JSON.stringify(observed)],
  )
  return rows
}
