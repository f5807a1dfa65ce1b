/** Which of the chain's outputs are ours: the one query that meets every output of every block. */
import type { ChainName, Fiat, Mode } from '../core/assets.ts'
import type { AccountId, PaymentId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'

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
 * Issued addresses among lookups, by the lookup in hex.
 *
 * One array against the primary key of `addresses` costs one index descent per distinct output, whatever the size of
 * the table; nothing is held in memory. bench/block-scan.ts has the figures.
 */
export async function matchIssuedAddresses(
  db: Queryable,
  chain: ChainName,
  lookups: readonly Uint8Array[],
): Promise<Map<string, IssuedAddress>> {
  if (lookups.length === 0) return new Map()
  const { rows } = await db.query<{
    lookup: Buffer
    address: string
    account_id: AccountId
    payment_id: PaymentId
    mode: Mode
    fiat_currency: Fiat
    required_confirmations: number
    expires_at: Date
    is_over: boolean
  }>(
    `select a.lookup, a.address, a.account_id, a.payment_id, o.mode, p.fiat_currency, p.required_confirmations, p.expires_at,
       p.status in ('expired', 'failed') as is_over
     from addresses a
     join payments p on p.account_id = a.account_id and p.id = a.payment_id
     join accounts o on o.id = a.account_id
     where a.chain = $1 and a.lookup = any($2::bytea[]) and a.issued_at is not null`,
    [chain, lookups.map((lookup) => Buffer.from(lookup.buffer, lookup.byteOffset, lookup.byteLength))],
  )
  return new Map(
    rows.map((row) => [
      row.lookup.toString('hex'),
      {
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

/** Addresses whose ether is compared in every block: unsettled payments in ether, and all others for 30 days. */
export async function listWatchedEtherAddresses(db: Queryable, chain: ChainName): Promise<string[]> {
  const { rows } = await db.query<{ address: string }>(
    `select address from payments
     where chain = $1 and asset = 'ETH'
       and (status in ('pending', 'detected', 'underpaid') or created_at > now() - interval '30 days')`,
    [chain],
  )
  return rows.map((row) => row.address)
}
