/** Every column that is sealed or authenticated with BECK_SECRET_KEY: how it is read page by page, and replaced. */
import { refundAddressMacParts } from '../../checkout/refund-address.ts'
import type { Secrets } from '../../core/secrets.ts'
import type { Database, Queryable } from '../../db/database.ts'
import { arraysOf } from '../../db/row-statements.ts'
import { depositMacParts } from '../../deposits/deposit-mac.ts'
import { type Terms, termsMacParts } from '../../payments/terms.ts'
import { addressMacParts } from '../../wallets/address-pool.sql.ts'
import { type WalletRow, walletMacParts } from '../../wallets/wallets.sql.ts'
import { requestMacParts } from '../../withdrawals/withdrawal.ts'

/** Rows as SQL gives them, under the names that `columns` says. */
type Row = Readonly<Record<string, unknown>>

export interface Column {
  readonly table: string
  readonly column: string
  /** The primary key with its types, in its order: pages follow it. */
  readonly key: Readonly<Record<string, string>>
  /** What is read beside the key, as SQL. */
  readonly columns: string
  /** Whether the value is of these secrets. */
  isOf(secrets: Secrets, row: Row, value: Buffer): boolean
  /** The same anew. */
  renew(from: Secrets, to: Secrets, row: Row, value: Buffer): Buffer
}

const authenticated = <Read extends object>(
  table: string,
  column: string,
  key: Column['key'],
  columns: string,
  purpose: string,
  parts: (row: Read) => string[],
): Column => ({
  table,
  column,
  key,
  columns,
  isOf: (secrets, row, value) => secrets.isMac(value, purpose, parts(row as Read & Row)),
  renew: (_from, to, row) => to.mac(purpose, parts(row as Read & Row)),
})

const sealed = (
  table: string,
  column: string,
  key: Column['key'],
  purpose: string,
  owner: (row: Row) => string,
): Column => ({
  table,
  column,
  key,
  columns: '1 as one',
  isOf(secrets, row, value) {
    try {
      secrets.open(purpose, owner(row), value)
      return true
    } catch {
      return false
    }
  },
  renew: (from, to, row, value) => to.seal(purpose, owner(row), from.open(purpose, owner(row), value)),
})

const OF_ACCOUNT = { account_id: 'uuid', id: 'uuid' }
type Ratios = Readonly<Record<`${'rate' | 'settlement'}_${'numerator' | 'denominator'}`, bigint>>
const ratio = (numerator: bigint, denominator: bigint) => ({ numerator, denominator })

export const COLUMNS: readonly Column[] = [
  sealed('totp', 'secret_sealed', { user_id: 'uuid' }, 'totp', (row) => String(row.user_id)),
  sealed('mails', 'content_sealed', { id: 'uuid' }, 'mail', (row) => String(row.id)),
  authenticated(
    'wallets',
    'mac',
    { chain: 'text', series: 'text' },
    'network, xpub, retired_at is not null as is_retired',
    'wallet',
    (row: WalletRow & { is_retired: boolean }) =>
      walletMacParts(row.chain, row.series, row.network, row.xpub, row.is_retired ? 'retired' : 'current'),
  ),
  authenticated(
    'addresses',
    'mac',
    { lookup: 'bytea', chain: 'text' },
    'series, branch, position, address',
    'address',
    addressMacParts,
  ),
  authenticated(
    'payments',
    'terms_mac',
    OF_ACCOUNT,
    `account_id as "accountId", chain, asset, address, due_atoms as "dueAtoms", fiat_currency as "fiatCurrency",
     fiat_minor as "fiatMinor", quoted_fee_minor as "quotedFeeMinor", fee_bps as "feeBps", rate_numerator, rate_denominator,
     settlement_numerator, settlement_denominator, tolerated_atoms as "toleratedAtoms", required_confirmations as "requiredConfirmations", checkout_session_id as "checkoutSessionId"`,
    'payment-terms',
    (row: Terms & Ratios) =>
      termsMacParts({
        ...row,
        rate: ratio(row.rate_numerator, row.rate_denominator),
        settlementRate: ratio(row.settlement_numerator, row.settlement_denominator),
      }),
  ),
  authenticated(
    'deposits',
    'mac',
    OF_ACCOUNT,
    `account_id as "accountId", payment_id as "paymentId", chain, asset, tx_key as "txKey", output_index as "outputIndex",
     address, amount_atoms as "amountAtoms", required_confirmations as "requiredConfirmations"`,
    'deposit',
    depositMacParts,
  ),
  authenticated(
    'withdrawals',
    'mac',
    OF_ACCOUNT,
    `account_id as "accountId", kind, payment_id as "paymentId", chain, asset, amount_atoms as "amountAtoms",
     fee_atoms as "feeAtoms", network_fee_atoms as "networkFeeAtoms", net_atoms as "netAtoms", destination, asked_by as "askedBy"`,
    'withdrawal',
    requestMacParts,
  ),
  authenticated(
    'checkout_sessions',
    'refund_address_mac',
    OF_ACCOUNT,
    'payment_id as "paymentId", refund_address as "refundAddress"',
    'refund-address',
    refundAddressMacParts,
  ),
  sealed('webhook_endpoints', 'secret_sealed', OF_ACCOUNT, 'webhook-secret', (row) => String(row.id)),
  sealed('webhook_endpoints', 'previous_secret_sealed', OF_ACCOUNT, 'webhook-secret', (row) =>
    String(row.id),
  ),
  sealed(
    'idempotency_keys',
    'response_body',
    { account_id: 'uuid', key: 'text' },
    'idempotency',
    (row) => `${row.account_id}:${row.key}`,
  ),
  sealed('sandbox_seed', 'sealed', { singleton: 'boolean' }, 'sandbox-seed', () => 'sandbox'),
]

const ROWS_PER_PAGE = 1_000

/** All rows of a column, page by page, in the order of their key. */
export async function* readColumn(
  db: Queryable,
  { table, column, key, columns }: Column,
): AsyncGenerator<(Row & { readonly value: Buffer })[]> {
  const names = Object.keys(key)
  const parameters = Object.values(key).map((type, index) => `$${index + 1}::${type}`)
  let after: unknown[] | null = null
  for (;;) {
    const { rows }: { rows: (Row & { readonly value: Buffer })[] } = await db.query(
      `select ${names.join(', ')}, ${columns}, ${column} as value from ${table}
       where ${column} is not null ${after ? `and (${names.join(', ')}) > (${parameters.join(', ')})` : ''}
       order by ${names.join(', ')} limit ${ROWS_PER_PAGE}`,
      after ?? [],
    )
    if (rows.length === 0) return
    yield rows
    const last = rows.at(-1)
    after = names.map((name) => last?.[name])
  }
}

/** Replaces values that are still what was read; what changed meanwhile was made with the new key. @returns How many. */
export async function replaceValues(
  db: Database,
  { table, column, key }: Column,
  renewed: readonly { readonly row: Row; readonly from: Buffer; readonly to: Buffer }[],
): Promise<number> {
  const names = Object.keys(key)
  const types = Object.values(key)
  const arrays = [...types.map((type, index) => `$${index + 3}::${type}[]`), '$1::bytea[]', '$2::bytea[]']
  const { rowCount } = await db.query(
    `update ${table} t set ${column} = n.renewed
     from unnest(${arrays.join(', ')}) as n (${[...names, 'before', 'renewed'].join(', ')})
     where ${names.map((name) => `t.${name} = n.${name}`).join(' and ')} and t.${column} = n.before`,
    [...arraysOf(renewed, 'from', 'to'), ...names.map((name) => renewed.map(({ row }) => row[name]))],
  )
  return rowCount
}
