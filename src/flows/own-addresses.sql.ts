/** Which of the chain's outputs are ours: the one query that meets every output of every block. */
import type { ChainName, Fiat, Mode } from '../core/assets.ts'
import type { AccountId, PaymentId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'

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

/**
 * Our addresses among lookups, by the lookup in hex; null for those that no payment has: change, and the pool.
 *
 * One array against the primary key of `addresses` costs one index descent per distinct output, whatever the size of
 * the table; nothing is held in memory. bench/block-scan.ts has the figures.
 */
export async function matchOwnAddresses(
  db: Queryable,
  chain: ChainName,
  lookups: readonly Uint8Array[],
): Promise<Map<string, IssuedAddress | null>> {
  if (lookups.length === 0) return new Map()
  const { rows } = await db.query<
    { lookup: Buffer; address: string } & (
      | { payment_id: null }
      | {
          account_id: AccountId
          payment_id: PaymentId
          mode: Mode
          fiat_currency: Fiat
          required_confirmations: number
          expires_at: Date
          is_over: boolean
        }
    )
  >(
    `select a.lookup, a.address, p.account_id, p.id as payment_id, o.mode, p.fiat_currency, p.required_confirmations,
       p.expires_at, p.status in ('expired', 'failed') as is_over
     from addresses a
     left join payments p on p.account_id = a.account_id and p.id = a.payment_id
     left join accounts o on o.id = p.account_id
     where a.chain = $1 and a.lookup = any($2::bytea[])`,
    [chain, lookups.map((lookup) => Buffer.from(lookup.buffer, lookup.byteOffset, lookup.byteLength))],
  )
  return new Map(
    rows.map((row) => [
      row.lookup.toString('hex'),
      row.payment_id === null
        ? null
        : {
            address: row.address,
            accountId: row.account_id,
            paymentId: row.payment_id,
            mode: row.mode,
            fiatCurrency: row.fiat_currency,
            requiredConfirmations: row.required_confirmations,
            windowEndsAt: row.expires_at,
            paymentIsOver: row.is_over,
          },
    ]),
  )
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
 * Addresses whose ether is compared in every block: those issued within 30 days and a window's time, whatever coin they
 * were issued for, and the hot wallet, which exchanges and multisignature wallets fill by contracts. What contracts send
 * to older ones is found by the daily check.
 */
export async function listWatchedEtherAddresses(db: Queryable, chain: ChainName): Promise<string[]> {
  const { rows } = await db.query<{ address: string }>(
    `select address from addresses where chain = $1 and issued_at > now() - interval '31 days'
     union all
     select address from addresses where chain = $1 and branch = 1 and position = 0 and issued_at is null`,
    [chain],
  )
  return rows.map((row) => row.address)
}
