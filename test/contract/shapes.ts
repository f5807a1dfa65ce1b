/** What the contract's answers look like, and where a value does not. */
import { STATUSES } from './fields.ts'

/** What a value of an answer must look like. `?` allows null. */
export type Shape = string | { readonly [field: string]: Shape } | readonly [Shape]

export const LISTED_PAYMENT = {
  id: 'pay',
  status: 'payment status',
  asset: 'asset',
  net_fiat: 'fiat',
  fiat_currency: 'currency',
  reference: 'string?',
  created_at: 'time',
}
export const CREATED_PAYMENT = {
  ...LISTED_PAYMENT,
  network: 'network',
  fiat_amount: 'fiat',
  fee_fiat: 'fiat',
  confirmations: 'integer',
  expires_at: 'time',
  deposit: {
    address: 'string',
    asset: 'asset',
    network: 'network',
    expected_amount: 'decimal',
    expected_amount_atoms: 'atoms',
    qr_data: 'string',
    // An addition of Beck.
    payment_uri: 'string?',
    status: 'payment status',
    confirmations: 'integer',
    required_confirmations: 'integer',
    expires_at: 'time',
  },
  // Stored and returned as it is (POST /payments).
  metadata: 'object',
}
export const CUSTOMER = {
  id: 'cus',
  email: 'string',
  name: 'string?',
  order_count: 'integer',
  total_spent: 'fiat',
  created_at: 'time',
}
export const LINK = {
  id: 'plink',
  label: 'string',
  amount: 'fiat',
  currency: 'currency',
  uses: 'integer',
  is_active: 'boolean',
  created_at: 'time',
}
export const ENDPOINT = {
  id: 'whk',
  url: 'string',
  events: ['string'],
  is_active: 'boolean',
  created_at: 'time',
} as const
export const WITHDRAWAL = {
  id: 'wd',
  status: 'withdrawal status',
  asset: 'asset',
  network: 'network',
  amount_atoms: 'atoms',
  fee_atoms: 'atoms',
  net_atoms: 'atoms',
  destination_address: 'string',
  tx_hash: 'string?',
  created_at: 'time',
}
export const FIGURE = { value: 'fiat', previous: 'fiat', series: [{ date: 'date', value: 'fiat' }] } as const

const PREFIXED = (prefix: string) => new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`)
const TEXTS: Readonly<Record<string, RegExp>> = {
  string: /^/,
  time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  date: /^\d{4}-\d\d-\d\d$/,
  atoms: /^(0|[1-9]\d*)$/,
  decimal: /^(0|[1-9]\d*)(\.\d*[1-9])?$/,
  asset: /^(BTC|LTC|ETH|USDC|USDT)$/,
  network: /^(bitcoin|litecoin|ethereum)$/,
  currency: /^(USD|EUR|GBP)$/,
  'payment status': new RegExp(`^(${STATUSES.join('|')})$`),
  'withdrawal status': /^(requested|broadcast|completed|failed)$/,
  whsec: /^whsec_[A-Za-z0-9+/]{43}=$/,
  ...Object.fromEntries(
    ['pay', 'cus', 'wd', 'whk', 'plink', 'cs'].map((prefix) => [prefix, PREFIXED(prefix)]),
  ),
}

/** Where a value is not of the shape; empty when it is. A shape of no fields allows any. */
export function misfits(value: unknown, shape: Shape, path = 'data'): string[] {
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return [`${path} is no array`]
    return value.flatMap((item, index) => misfits(item, shape[0], `${path}.${index}`))
  }
  if (typeof shape === 'object') {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path} is no object`]
    const fields = shape as Readonly<Record<string, Shape>>
    const wanted = Object.keys(fields)
    if (wanted.length === 0) return []
    return [
      ...Object.keys(value)
        .filter((name) => !wanted.includes(name))
        .map((name) => `${path}.${name} is not in the contract`),
      ...Object.entries(fields).flatMap(([name, inner]) =>
        name in value
          ? misfits((value as Record<string, unknown>)[name], inner, `${path}.${name}`)
          : [`${path}.${name} is missing`],
      ),
    ]
  }
  const kind = String(shape).replace('?', '')
  if (value === null && kind !== shape) return []
  const fits =
    kind === 'fiat' ? typeof value === 'number' && value >= 0 && Number(value.toFixed(2)) === value
    : kind === 'integer' ? Number.isSafeInteger(value) && Number(value) >= 0
    : kind === 'boolean' ? typeof value === 'boolean'
    : kind === 'true' ? value === true
    : kind === 'object' ? typeof value === 'object' && value !== null && !Array.isArray(value)
    : typeof value === 'string' && TEXTS[kind]?.test(value) === true // biome-ignore format: a table
  return fits ? [] : [`${path} is ${JSON.stringify(value)}, not ${shape}`]
}
