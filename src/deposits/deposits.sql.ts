/** Deposits as rows: recorded when the chain shows them, moved when it changes its mind, never deleted. */
import type { ChainName } from '../core/assets.ts'
import { SENT_BY_CONTRACT } from '../core/ether-outputs.ts'
import type { AccountId, PaymentId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { arraysOf, overRows } from '../db/row-statements.ts'
import { allRows } from '../db/rows.ts'
import { runRows } from '../db/together.ts'
import type { Deposit, DepositStatus } from './deposit.ts'
import { presentSql } from './received.ts'

const COLUMNS = `account_id as "accountId", id, payment_id as "paymentId", chain, asset, tx_key as "txKey", tx_hash as "txHash",
  output_index as "outputIndex", address, amount_atoms as "amountAtoms", status, block_height::float8 as "blockHeight",
  block_hash as "blockHash", required_confirmations as "requiredConfirmations", seen_at as "seenAt", late,
  sighted_minor as "sightedMinor", dust, mac, bookings, booked`

/** Whose deposits changed: its decision is due. */
export interface PaymentKey {
  readonly accountId: AccountId
  readonly paymentId: PaymentId
}

export const listDeposits = (db: Queryable, accountId: AccountId, paymentId: PaymentId): Promise<Deposit[]> =>
  runRows(db, LIST, [{ of_account: accountId, of_payment: paymentId }])

const LIST = overRows(
  { of_account: 'uuid', of_payment: 'uuid' },
  (rows) => `select place, ${COLUMNS} from ${rows}
    join deposits on account_id = of_account and payment_id = of_payment order by seen_at, id`,
)

/** Remembers what the transactions of unconfirmed deposits spend. */
export async function recordInputs(
  tx: Tx,
  chain: ChainName,
  spends: readonly { txKey: string; spentTx: string; spentIndex: number }[],
): Promise<void> {
  if (spends.length === 0) return
  await tx.query(
    `insert into deposit_inputs (chain, tx_key, spent_tx, spent_index)
     select $1, * from unnest($2::text[], $3::text[], $4::bigint[]) on conflict do nothing`,
    [chain, ...arraysOf(spends, 'txKey', 'spentTx', 'spentIndex')],
  )
}

/**
 * Deposits that no block holds and whose inputs another transaction spends are replaced by it. One indexed join over
 * the inputs of unconfirmed deposits, few at any time, whatever the size of the block.
 *
 * @param blockHeight - Of the block that holds the other transactions; null for the mempool.
 */
export async function markReplaced(
  tx: Tx,
  chain: ChainName,
  spends: readonly { txKey: string; spentTx: string; spentIndex: number }[],
  blockHeight: number | null,
): Promise<PaymentKey[]> {
  if (spends.length === 0) return []
  const { rows } = await tx.query<PaymentKey>(
    `update deposits d set status = 'replaced', replaced_by = s.tx_key, replaced_height = $5
     from unnest($2::text[], $3::text[], $4::bigint[]) as s (tx_key, spent_tx, spent_index)
     join deposit_inputs i on i.chain = $1 and i.spent_tx = s.spent_tx and i.spent_index = s.spent_index and i.tx_key <> s.tx_key
     where d.chain = $1 and d.tx_key = i.tx_key and d.block_height is null
       and (d.status <> 'replaced' or d.replaced_height is distinct from $5 and $5::bigint is not null)
     returning d.account_id as "accountId", d.payment_id as "paymentId"`,
    [chain, ...arraysOf(spends, 'txKey', 'spentTx', 'spentIndex'), blockHeight],
  )
  return rows
}

/**
 * Gas that a transaction of our own brought to deposit addresses, and that was taken for deposits: they are replaced by
 * what they are.
 */
export const markOwn = (
  tx: Tx,
  chain: ChainName,
  txKey: string,
  blockHeight: number,
): Promise<(PaymentKey & { readonly address: string; readonly atoms: bigint })[]> =>
  allRows(
    tx,
    `update deposits set status = 'replaced', replaced_by = tx_key, replaced_height = $3, block_height = null, block_hash = null
     where chain = $1 and tx_key = $2 and status <> 'replaced'
     returning account_id as "accountId", payment_id as "paymentId", address, amount_atoms as atoms`,
    [chain, txKey, blockHeight],
  )

/**
 * Ether that contracts sent is named after its block, so after a reorganisation it comes back under another name:
 * the new deposit at an address stands in for the old one.
 */
export async function markRenamedByBlock(
  tx: Tx,
  chain: ChainName,
  address: string,
  txKey: string,
): Promise<void> {
  await tx.query(
    `update deposits set status = 'replaced', replaced_by = $3
     where chain = $1 and address = $2 and output_index = ${SENT_BY_CONTRACT} and tx_key <> $3 and block_height is null and status = 'reorganised'`,
    [chain, address, txKey],
  )
}

/** Deposits that only the mempool can show now. */
export const listDepositsInNoBlock = (
  db: Queryable,
  chain: ChainName,
): Promise<{ txKey: string; status: DepositStatus }[]> =>
  allRows(
    db,
    `select distinct tx_key as "txKey", status from deposits
     where chain = $1 and block_height is null and status in ('seen', 'reorganised', 'dropped')`,
    [chain],
  )

/**
 * Follows what the mempool holds: present ones are seen, of several at one place the newest, absent ones are missed, and what was missed for an hour without
 * anything replacing it is dropped until it shows again.
 */
export async function markMempoolPresence(
  tx: Tx,
  chain: ChainName,
  present: readonly string[],
  absent: readonly string[],
): Promise<PaymentKey[]> {
  const { rows: back } = await tx.query<PaymentKey>(
    `update deposits d set status = 'seen', missing_since = null
     where chain = $1 and tx_key = any($2) and block_height is null
       and (missing_since is not null or status in ('reorganised', 'dropped'))
       and not exists (select from deposits o where o.chain = d.chain and o.tx_key = d.tx_key and o.output_index = d.output_index
         and o.id <> d.id and (${presentSql('o')} or o.id > d.id) offset 0)
     returning account_id as "accountId", payment_id as "paymentId"`,
    [chain, present],
  )
  await tx.query(
    `update deposits set missing_since = now()
     where chain = $1 and tx_key = any($2) and block_height is null and missing_since is null and status in ('seen', 'reorganised')`,
    [chain, absent],
  )
  const { rows: dropped } = await tx.query<PaymentKey>(
    `update deposits set status = 'dropped'
     where chain = $1 and block_height is null and status in ('seen', 'reorganised') and missing_since < now() - interval '1 hour'
     returning account_id as "accountId", payment_id as "paymentId"`,
    [chain],
  )
  return [...back, ...dropped]
}

/** Payments with a deposit that reached its confirmations at this tip. */
export const listPaymentsReachingConfirmations = (
  tx: Tx,
  chain: ChainName,
  tipHeight: number,
): Promise<PaymentKey[]> =>
  allRows(
    tx,
    `select distinct account_id as "accountId", payment_id as "paymentId" from deposits
     where chain = $1 and status = 'seen' and block_height <= $2::bigint - required_confirmations + 1`,
    [chain, tipHeight],
  )

/** Inputs of deposits that are buried, or were replaced by what is, deeper than any reorganisation that is followed. */
export async function forgetBuriedInputs(tx: Tx, chain: ChainName, height: number): Promise<void> {
  await tx.query(
    `delete from deposit_inputs i using deposits d
     where i.chain = $1 and d.chain = $1 and d.tx_key = i.tx_key
       and (d.block_height = $2 or d.replaced_height = $2)`,
    [chain, height],
  )
}

export async function markConfirmed(tx: Tx, of: Pick<Deposit, 'accountId' | 'id'>): Promise<void> {
  await runRows(tx, MARK_CONFIRMED, [{ account_id: of.accountId, id: of.id }])
}

const MARK_CONFIRMED = overRows(
  { account_id: 'uuid', id: 'uuid' },
  (rows) =>
    `update deposits d set status = 'confirmed' from ${rows} where d.account_id = r.account_id and d.id = r.id`,
)

/**
 * The ledger took it in (with the number of this booking), and it is confirmed; or gave it back: then no sweep takes it any more, for
 * it may come to its address again after the sweep. One update says both: a row that a transaction changes twice has its foreign keys
 * looked up again.
 */
export async function markBooked(
  tx: Tx,
  of: Pick<Deposit, 'accountId' | 'id'>,
  booked: boolean,
): Promise<void> {
  await runRows(tx, MARK_BOOKED, [{ account_id: of.accountId, id: of.id, booked }])
}

const MARK_BOOKED = overRows(
  { account_id: 'uuid', id: 'uuid', booked: 'boolean' },
  (
    rows,
  ) => `update deposits d set booked = r.booked, bookings = bookings + case when r.booked then 1 else 0 end,
      status = case when r.booked then 'confirmed' else d.status end, sweep = case when r.booked then d.sweep end
    from ${rows} where d.account_id = r.account_id and d.id = r.id`,
)
