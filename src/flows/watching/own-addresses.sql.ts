/** Which of the chain's outputs and inputs are ours: the queries that meet every one of every block. */
import type { ChainTransaction } from '../../chains/chain.ts'
import type { ChainName, Fiat, Mode } from '../../core/assets.ts'
import { TamperedRow } from '../../core/errors.ts'
import type { AccountId, PaymentId } from '../../core/ids.ts'
import type { Database, Queryable } from '../../db/database.ts'
import { isLookupOf } from '../../wallets/derivation.ts'

/** An address with the payment it was issued for. */
export interface IssuedAddress {
  readonly address: string
  readonly accountId: AccountId
  readonly paymentId: PaymentId
  readonly mode: Mode
  readonly fiatCurrency: Fiat
  readonly requiredConfirmations: number
  readonly windowEndsAt: Date
  readonly paymentIsOver: boolean
}

export interface OwnAddresses {
  /** Undefined for what is not ours; null for what is ours and no payment has: change, and the pool. */
  find(lookup: Uint8Array): IssuedAddress | null | undefined
}

type AddressRow = { lookup: Buffer; address: string } & ({ paymentId: null } | IssuedAddress)

/** More lookups than these, of a large block, are searched by two queries at once: one alone took 40 ms longer. */
const LOOKUPS_PER_QUERY = 12_000

/**
 * Our addresses among what transactions pay. To be asked before the transaction that writes what was found: an address
 * was issued before anybody could pay to it, and a large block is searched over two connections. Of the payments it tells
 * what they were then, a moment before; that decides what is shown of a deposit at most, never what it is worth.
 *
 * One array against the primary key of `addresses` costs one index descent per distinct output, whatever the size of
 * the table; nothing is held in memory. The lookups travel packed, those of one size together: as an array of their
 * own, each quoted and parsed, they took longer than the search. bench/block-scan.ts has the figures.
 *
 * @throws {TamperedRow} when a row stands under another lookup than its address has: what comes there is not ours.
 */
export async function matchOwnAddresses(
  db: Database,
  chain: ChainName,
  transactions: readonly ChainTransaction[],
): Promise<OwnAddresses> {
  const lookups = transactions.flatMap(({ outputs }) => outputs.map(({ lookup }) => lookup))
  const queries = lookups.length > LOOKUPS_PER_QUERY ? 2 : 1
  const size = Math.ceil(lookups.length / queries)
  const found = await Promise.all(
    Array.from({ length: queries }, (_, n) => search(db, chain, lookups.slice(n * size, (n + 1) * size))),
  )
  const rows = found.flat()
  for (const { address, lookup } of rows)
    if (!isLookupOf(chain, address, lookup))
      throw new TamperedRow(
        `what is paid to the script ${lookup.toString('hex')} of ${chain} is not paid to ${address}: its row in addresses was tampered with`,
      )
  return ownAddresses(
    new Map(
      rows.map(({ lookup, ...issued }) => [
        lookup.toString('hex'),
        issued.paymentId === null ? null : issued,
      ]),
    ),
  )
}

async function search(db: Database, chain: ChainName, lookups: readonly Uint8Array[]): Promise<AddressRow[]> {
  const groups = groupsOfOneSize(lookups)
  if (groups.length === 0) return []
  const { rows } = await db.query<AddressRow>(
    `select a.lookup, a.address, p.account_id as "accountId", p.id as "paymentId", o.mode, p.fiat_currency as "fiatCurrency",
       p.required_confirmations as "requiredConfirmations", p.expires_at as "windowEndsAt",
       p.status in ('expired', 'failed') as "paymentIsOver"
     from addresses a
     left join payments p on p.account_id = a.account_id and p.id = a.payment_id
     left join accounts o on o.id = p.account_id
     where a.chain = $1 and a.lookup = any(array(
       select substr(g.packed, n * g.size + 1, g.size)
       from unnest($2::bytea[], $3::integer[]) as g (packed, size), generate_series(0, length(g.packed) / g.size - 1) as n))`,
    [chain, groups.map((group) => Buffer.concat(group)), groups.map((group) => group[0]?.length ?? 0)],
  )
  return rows
}

/** Looks at the last bytes first: of a block's thousands of outputs hardly one is turned into hex in vain. */
function ownAddresses(byHex: ReadonlyMap<string, IssuedAddress | null>): OwnAddresses {
  const endings = new Set([...byHex.keys()].map((key) => endingOf(Buffer.from(key, 'hex'))))
  return {
    find: (lookup) =>
      endings.has(endingOf(lookup))
        ? byHex.get(Buffer.from(lookup.buffer, lookup.byteOffset, lookup.byteLength).toString('hex'))
        : undefined,
  }
}

/** The last four bytes as a number. */
function endingOf(bytes: Uint8Array): number {
  const end = bytes.length
  return (
    ((bytes[end - 1] ?? 0) << 24) |
    ((bytes[end - 2] ?? 0) << 16) |
    ((bytes[end - 3] ?? 0) << 8) |
    (bytes[end - 4] ?? 0)
  )
}

const groupsOfOneSize = (lookups: readonly Uint8Array[]): Uint8Array[][] => [
  ...Map.groupBy(
    lookups.filter(({ length }) => length > 0),
    ({ length }) => length,
  ).values(),
]

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
 * What the transactions spend, less what concerns nobody here: the few that spend from a transaction of which we have a
 * UTXO, or which an unconfirmed deposit spends from as well. To be called when the UTXOs of the same block are recorded.
 *
 * The ids travel as one value, as their hexadecimal digits: from digits to bytes takes longer here than to send them.
 */
export async function matchOwnSpends(
  db: Queryable,
  chain: ChainName,
  transactions: readonly ChainTransaction[],
): Promise<Spend[]> {
  const spent = transactions.flatMap(({ inputs }) => inputs.map(({ txid }) => txid))
  if (spent.length === 0) return []
  const { rows } = await db.query<{ txid: string }>(
    `with spent as materialized (
       select encode(substr($2::bytea, n * 64 + 1, 64), 'escape') as txid
       from generate_series(0, length($2::bytea) / 64 - 1) as n
     )
     select txid from spent join utxos using (txid) where utxos.chain = $1
     union
     select txid from spent join deposit_inputs on spent_tx = txid where deposit_inputs.chain = $1`,
    [chain, Buffer.from(spent.join(''), 'latin1')],
  )
  const known = new Set(rows.map((row) => row.txid))
  return transactions
    .filter(({ inputs }) => inputs.some(({ txid }) => known.has(txid)))
    .flatMap(spendsOf)
    .filter(({ spentTx }) => known.has(spentTx))
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
