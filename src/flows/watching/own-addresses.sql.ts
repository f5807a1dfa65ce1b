/** Which of the chain's outputs and inputs are ours: the queries that meet every one of every block. */
import type { ChainTransaction, Pieces, TransactionPieces } from '../../chains/chain.ts'
import type { ChainName, Fiat, Mode } from '../../core/assets.ts'
import { TamperedRow } from '../../core/errors.ts'
import type { AccountId, PaymentId } from '../../core/ids.ts'
import { AT_ONCE, type SpareTime } from '../../core/spare-time.ts'
import type { Database, Queryable } from '../../db/database.ts'
import { DEPOSIT_BRANCH, isLookupOf } from '../../wallets/derivation.ts'
import { arrayOf, countPieces, headsOf, keyOf, lookupsOf, spentBy, transactionsWith } from './pieces.ts'

/** An address with the payment it was issued for. */
export interface IssuedAddress {
  readonly address: string
  readonly accountId: AccountId
  readonly paymentId: PaymentId
  readonly mode: Mode
  readonly fiatCurrency: Fiat
  readonly requiredConfirmations: number
  readonly windowEndsAt: Date
}

export interface OwnAddresses {
  /** Those of the transactions that pay to addresses of ours. */
  readonly paying: readonly ChainTransaction[]
  /** Undefined for what is not ours; null for what is ours and no payment has: change, and the pool. */
  find(lookup: Uint8Array): IssuedAddress | null | undefined
  /** What buyers are told, or may have been: an address of a payment, or of the pool. Null for others. */
  depositAddress(lookup: Uint8Array): string | null
}

type AddressRow = { lookup: Buffer; address: string; branch: number } & ({ paymentId: null } | IssuedAddress)

export interface Own extends OwnAddresses {
  /**
   * What the transactions spend, less what concerns nobody here: left are those that spend from a transaction of which we have a
   * UTXO or a deposit, or which an unconfirmed deposit spends from as well, and some more beside these.
   */
  readonly spends: readonly Spend[]
}

interface MatchOptions {
  readonly spareTime?: SpareTime
  /** Of the transactions, where their adapter gives them. */
  readonly pieces?: TransactionPieces | undefined
}

/** More pieces than these, of a large block, are searched by two queries at once: one alone took 40 ms longer. */
const PIECES_PER_QUERY = 12_000

/**
 * What of a block, or of a part of the mempool, is ours. To be asked before the transaction that writes what was found, for a large
 * block is searched over several connections, and with rests where the machine is busy.
 *
 * What was ours then is all that is ours when it is written under the same lease ({@link takeLease}): an address was issued before
 * anybody could pay to it; UTXOs and inputs of deposits are written by whoever has the lease, and by a search of the chain, which
 * ends it. The signer's own change, which it writes before any block, is a UTXO as soon as a block pays it. Of a
 * payment it tells what it was made with; what it is by now is read where its deposit is written (`record-sightings.sql.ts`).
 */
export async function matchOwn(
  db: Database,
  chain: ChainName,
  transactions: readonly ChainTransaction[],
  { pieces, spareTime = AT_ONCE }: MatchOptions = {},
): Promise<Own> {
  const spent = pieces?.spent ?? spentBy(transactions)
  const both = [
    matchOwnAddresses(db, chain, transactions, { pieces, spareTime }),
    listKnownSpent(db, chain, spent, spareTime),
  ] as const
  // Where one fails, the other does not go on behind the caller's back.
  await Promise.allSettled(both)
  const [own, known] = await Promise.all(both)
  // What the transactions themselves bring may be spent by others of them, and be displaced.
  for (const { key, inputs } of own.paying)
    for (const txid of [key, ...inputs.map((input) => input.txid)]) known.add(txid)
  const spends = transactionsWith(transactions, spent, known).flatMap(spendsOf)
  return { ...own, spends: spends.filter(({ spentTx }) => known.has(spentTx)) }
}

/**
 * Our addresses among what transactions pay.
 *
 * One array against the primary key of `addresses` costs one index descent per distinct output at most, whatever the size of
 * the table; nothing is held in memory. bench/block-scan.ts has the figures.
 *
 * @throws {TamperedRow} when a row stands under another lookup than its address has: what comes there is not ours.
 */
export async function matchOwnAddresses(
  db: Database,
  chain: ChainName,
  transactions: readonly ChainTransaction[],
  { pieces, spareTime = AT_ONCE }: MatchOptions = {},
): Promise<OwnAddresses> {
  const lookups = pieces?.lookups ?? lookupsOf(transactions)
  const count = countPieces(lookups)
  const found = await spareTime.spend(count, count > PIECES_PER_QUERY ? 2 : 1, (first, end) =>
    search(db, chain, arrayOf('bytea', lookups, first, end)),
  )
  const rows = found.flat()
  for (const { address, lookup } of rows)
    if (!isLookupOf(chain, address, lookup))
      throw new TamperedRow(
        `what is paid to the script ${lookup.toString('hex')} of ${chain} is not paid to ${address}: its row in addresses was tampered with`,
      )
  const byKey = new Map(
    rows.map(({ lookup, branch, ...issued }) => [
      keyOf(lookup),
      {
        issued: issued.paymentId === null ? null : issued,
        depositAddress: branch === DEPOSIT_BRANCH ? issued.address : null,
      },
    ]),
  )
  return {
    paying: transactionsWith(transactions, lookups, byKey),
    find: (lookup) => byKey.get(keyOf(lookup))?.issued,
    depositAddress: (lookup) => byKey.get(keyOf(lookup))?.depositAddress ?? null,
  }
}

async function search(db: Database, chain: ChainName, lookups: Buffer): Promise<AddressRow[]> {
  // PostgreSQL expects each of thousands of lookups to find an address, and would read all payments for them; a few do.
  const { rows } = await db.query<AddressRow>(
    `with own as materialized (
       select lookup, address, branch, account_id, payment_id from addresses where chain = $1 and lookup = any($2::bytea[]))
     select own.lookup, own.address, own.branch, p.* from own left join lateral (
       select p.account_id as "accountId", p.id as "paymentId", o.mode, p.fiat_currency as "fiatCurrency",
         p.required_confirmations as "requiredConfirmations", p.expires_at as "windowEndsAt"
       from payments p join accounts o on o.id = p.account_id
       where p.account_id = own.account_id and p.id = own.payment_id limit 1) p on true`,
    [chain, lookups],
  )
  return rows
}

/** An output that a transaction spends. */
export interface Spend {
  /** The transaction that spends. */
  readonly txKey: string
  readonly spentTx: string
  readonly spentIndex: number
}

export const spendsOf = ({ key, inputs }: ChainTransaction): Spend[] =>
  inputs.map(({ txid, index }) => ({ txKey: key, spentTx: txid, spentIndex: index }))

/**
 * The transactions among those spent from of which we have a UTXO, or which an unconfirmed deposit spends from as well; and others whose
 * ids begin like one of those.
 *
 * Of UTXOs there may be any number: an array that PostgreSQL sees finds them by an index, and numbers are compared and told apart in less
 * time than ids. Inputs of deposits that wait are few, and a join with them is quicker.
 */
async function listKnownSpent(
  db: Database,
  chain: ChainName,
  spent: Pieces,
  spareTime: SpareTime,
): Promise<Set<string>> {
  const found = await spareTime.spend(countPieces(spent), 1, (first, end) =>
    db.query<{ txid: string }>(
      // By the chain, PostgreSQL would look at each of the chain's UTXOs until it has counted them.
      `with own as materialized (select chain, txid from utxos where txid_head = any($2::bigint[]))
       select txid from own where chain = $1
       union
       select i.spent_tx from unnest($3::text[]) as spent (txid) join deposit_inputs i on i.chain = $1 and i.spent_tx = spent.txid`,
      [chain, headsOf(spent, first, end), arrayOf('text', spent, first, end)],
    ),
  )
  return new Set(found.flatMap(({ rows }) => rows.map(({ txid }) => txid)))
}

/** Transactions that the gateway signed itself: change and sweeps, never deposits. */
export async function listOwnTransactions(
  db: Queryable,
  chain: ChainName,
  txids: readonly string[],
): Promise<Set<string>> {
  if (txids.length === 0) return new Set()
  const { rows } = await db.query<{ txid: string }>(
    'select txid from signed_transactions where chain = $1 and txid = any($2)',
    [chain, txids],
  )
  return new Set(rows.map((row) => row.txid))
}

/**
 * Addresses whose ether is compared in every block: the hot wallet, which exchanges and multisignature wallets fill by
 * contracts, and those issued within 30 days and a window's time, whatever coin they were issued for. The newest come first:
 * a slow node leaves out the last. What contracts send to those and to older ones is found by the comparison beside the polls.
 */
export async function listWatchedEtherAddresses(db: Queryable, chain: ChainName): Promise<string[]> {
  const { rows } = await db.query<{ address: string }>(
    `select address from addresses where chain = $1 and branch = 1 and position = 0 and issued_at is null
     union all
     (select address from addresses where chain = $1 and issued_at > now() - interval '31 days' order by issued_at desc)`,
    [chain],
  )
  return rows.map((row) => row.address)
}
