/**
 * The merchant API's contract as data, written down from its text and not from our code: every operation with its
 * scope, what it takes and refuses, and what it answers. `contract.test.ts` walks it.
 */

/** What a value of an answer must look like. `?` allows null. */
export type Shape = string | { readonly [field: string]: Shape } | readonly [Shape]

/** A field of a body: texts that say why it is refused stand beside the values. */
export interface Field {
  readonly required?: true
  readonly takes: readonly unknown[]
  /** Answered with 400, naming the field. */
  readonly refuses: readonly unknown[]
  /** Understood, and refused by the business with 422. */
  readonly declines?: readonly unknown[]
}

export interface Parameter {
  readonly takes: readonly string[]
  readonly refuses: readonly string[]
}

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly scope: string
  readonly status: 200 | 201
  readonly body?: Readonly<Record<string, Field>>
  readonly query?: Readonly<Record<string, Parameter>>
  /** `page` is the contract's pagination object around items of the shape. */
  readonly answers: 'one' | 'page' | 'list'
  readonly shape: Readonly<Record<string, Shape>>
  /** Additions of Beck, documented as such. */
  readonly ours?: Readonly<Record<string, Shape>>
}

export const SCOPES = [
  'payments:read',
  'payments:write',
  'customers:read',
  'customers:write',
  'balance:read',
  'withdrawals:read',
  'withdrawals:write',
  'payment_links:read',
  'payment_links:write',
  'webhooks:read',
  'webhooks:write',
]

const ASSETS = ['BTC', 'LTC', 'ETH', 'USDC', 'USDT']
const FIATS = ['USD', 'EUR', 'GBP']
const STATUSES = [
  'pending',
  'detected',
  'completed',
  'overpaid',
  'underpaid',
  'expired',
  'failed',
  'cancelled',
]
const EVENTS = [
  'payment.created',
  'payment.confirming',
  'payment.completed',
  'payment.expired',
  'payment.refunded',
  'payout.completed',
]

/** No text at all. */
const NO_TEXT = [null, 7, true, [], {}]
const NO_NUMBER = [null, '10', '', true, [], {}]
const long = (length: number) => 'ü'.repeat(length)
const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${i}`, i]))

const asset: Field = { required: true, takes: ASSETS, refuses: [...NO_TEXT, 'btc', 'DOGE', '', '__proto__'] }
const fiat: Field = { takes: FIATS, refuses: [...NO_TEXT, 'usd', 'CHF', ''] }
const amount = (required?: true): Field => ({
  ...(required ? { required } : {}),
  takes: [0.5, 1, 19.99, 1_000_000],
  refuses: [...NO_NUMBER, 0, -1, 1.001, 1e-7, 1e300],
  declines: [0.49, 0.01, 1_000_000.01, 9e12],
})
const reference: Field = {
  takes: ['', 'order-1', long(255), '𝒶'.repeat(255)],
  refuses: [...NO_TEXT, long(256)],
}
const email: Field = {
  takes: ['a@b.example', 'Ann+1@Shop.Example', `${'a'.repeat(244)}@b.example`],
  refuses: [...NO_TEXT, '', 'ann', '@', 'a@', '@b', 'a b@c.example', `${'a'.repeat(245)}@b.example`],
}
const redirect: Field = {
  takes: ['https://shop.example/thanks?o=7#x', 'http://localhost:3000/', `https://s.example/${'x'.repeat(2_030)}`],
  refuses: [...NO_TEXT, '', '/thanks', 'javascript:alert(1)', 'data:text/html,x', 'ftp://s.example', `https://s.example/${'x'.repeat(2_031)}`],
} // biome-ignore format: a table
const PAGING = {
  page: { takes: ['1', '2', '9007199254740991'], refuses: ['0', '-1', '1.5', 'one', '', '1e1', '99999999999999999999'] },
  limit: { takes: ['1', '25', '100'], refuses: ['0', '101', '-1', 'all', ''] },
  order: { takes: ['asc', 'desc'], refuses: ['ASC', 'up', ''] },
  start_date: { takes: ['2026-01-31', '2026-01-31T12:00:00Z', '2026-01-31T12:00:00.123+02:00'], refuses: ['', 'today', '2026-02-30', '31.01.2026', '1767225600'] },
  end_date: { takes: ['2026-01-31', '2026-01-31T12:00:00Z'], refuses: ['', 'today', '2026-13-01', '2026-01-31T25:00:00Z'] },
} // biome-ignore format: a table
const sort = (takes: readonly string[]): Parameter => ({
  takes,
  refuses: ['', 'name', 'ID', 'constructor', 'id;--'],
})
const words = (takes: readonly string[]): Parameter => ({
  takes: [...takes, takes.join(',')],
  refuses: ['', ',', `${takes[0]},`, 'nothing', `${takes[0]}, ${takes[1]}`, takes[0]?.toUpperCase() === takes[0] ? `${takes[0]}`.toLowerCase() : `${takes[0]}`.toUpperCase()],
}) // biome-ignore format: a table
const isOrNot: Parameter = { takes: ['is', 'is_not'], refuses: ['', 'not', 'IS'] }
const anyText: Parameter = { takes: ['x', '%', "' or 1=1 --", 'ü'], refuses: ['\0'] }
const bound: Parameter = {
  takes: ['0', '10', '10.5', '10.55'],
  refuses: ['', 'x', '-1', '1.001', '1e3', '0x10'],
}
const count: Parameter = { takes: ['0', '3'], refuses: ['', 'x', '-1', '1.5'] }

const LISTED_PAYMENT = {
  id: 'pay',
  status: 'payment status',
  asset: 'asset',
  net_fiat: 'fiat',
  fiat_currency: 'currency',
  reference: 'string?',
  created_at: 'time',
}
const CREATED_PAYMENT = {
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
    status: 'payment status',
    confirmations: 'integer',
    required_confirmations: 'integer',
    expires_at: 'time',
  },
  // Stored and returned as it is (contract, POST /payments).
  metadata: 'object',
}
const CUSTOMER = {
  id: 'cus',
  email: 'string',
  name: 'string?',
  order_count: 'integer',
  total_spent: 'fiat',
  created_at: 'time',
}
const LINK = {
  id: 'plink',
  label: 'string',
  amount: 'fiat',
  currency: 'currency',
  uses: 'integer',
  is_active: 'boolean',
  created_at: 'time',
}
const ENDPOINT = {
  id: 'whk',
  url: 'string',
  events: ['string'],
  is_active: 'boolean',
  created_at: 'time',
} as const
const WITHDRAWAL = {
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
const FIGURE = { value: 'fiat', previous: 'fiat', series: [{ date: 'date', value: 'fiat' }] } as const

/** Of the simulated Litecoin, the coin that `ORDER` names. */
const WALLET = 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0'
const order: Operation['body'] = {
  asset: { required: true, takes: ['LTC'], refuses: asset.refuses },
  amount: {
    required: true,
    takes: ['0.01', '0.00100001', '1', '1.0'],
    refuses: [null, 1, true, [], {}, '', '0', '-1', '+1', '1e-3', '1,5', ' 1', '.5', '1.', '01', '0.000000001', 'NaN', '9'.repeat(90)],
    declines: ['0.00000001', '100000'],
  },
  destination_address: {
    required: true,
    takes: [WALLET, 'tltc1pqypqxpq9qcrsszg2pvxq6rs0zqg3yyc5z5tpwxqergd3c8g7rusq2d8qj4'].slice(0, 1),
    refuses: [...NO_TEXT, '', 'wallet', WALLET.slice(0, -1), `${WALLET.slice(0, -1)}q`, WALLET.toUpperCase().replace('TLTC', 'tltc'), 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9', 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx', `0x${'1'.repeat(40)}`, 'x'.repeat(129)],
  },
} // biome-ignore format: a table

/** A body that is accepted, for each operation that takes one. */
export const ENOUGH: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'POST /payments': { asset: 'LTC', fiat_amount: 10 },
  'POST /checkout/sessions': {},
  'POST /payment-links': { label: 'Tea', amount: 5 },
  'PATCH /payment-links/{id}': { is_active: true },
  'POST /webhooks': { url: 'https://shop.example/hook', events: ['payment.completed'] },
  'POST /withdrawals': { asset: 'LTC', amount: '0.5', destination_address: WALLET },
  'POST /withdrawals/quote': { asset: 'LTC', amount: '0.5', destination_address: WALLET },
}

export const OPERATIONS: readonly Operation[] = [
  {
    method: 'POST',
    path: '/payments',
    scope: 'payments:write',
    status: 201,
    body: {
      asset,
      fiat_amount: amount(true),
      fiat_currency: fiat,
      reference,
      customer_email: email,
      metadata: {
        takes: [{}, { a: 1, b: 'x', c: true, d: null, e: [1, { f: 2 }] }, keys(50), { [long(40)]: long(500) }],
        refuses: [null, 'x', 7, true, [], keys(51), { [long(41)]: 1 }, { a: long(501) }, { a: Array(3_300).fill(12345) }],
      },
    },
    answers: 'one',
    shape: CREATED_PAYMENT,
  },
  {
    method: 'GET',
    path: '/payments',
    scope: 'payments:read',
    status: 200,
    query: {
      ...PAGING,
      sort: sort(['id', 'total', 'asset', 'status', 'created_at']),
      filter_id: anyText,
      filter_email: anyText,
      filter_asset: words(ASSETS),
      filter_asset_op: isOrNot,
      filter_status: words(STATUSES),
      filter_status_op: isOrNot,
      total_min: bound,
      total_max: bound,
    },
    answers: 'page',
    shape: LISTED_PAYMENT,
  },
  {
    method: 'GET',
    path: '/payments/{id}',
    scope: 'payments:read',
    status: 200,
    answers: 'one',
    shape: {
      ...CREATED_PAYMENT,
      customers: { id: 'cus', email: 'string' },
      detected_at: 'time?',
      completed_at: 'time?',
    },
    ours: { deposits: [{}] },
  },
  {
    method: 'POST',
    path: '/checkout/sessions',
    scope: 'payments:write',
    status: 201,
    body: {
      amount: amount(),
      currency: fiat,
      label: { takes: ['', 'Order <7>', long(255)], refuses: [...NO_TEXT, long(256)] },
      reference,
      customer_email: email,
      success_url: redirect,
      cancel_url: redirect,
    },
    answers: 'one',
    shape: { id: 'cs', url: 'string' },
  },
  {
    method: 'POST',
    path: '/payment-links',
    scope: 'payment_links:write',
    status: 201,
    body: {
      label: { required: true, takes: ['x', long(255)], refuses: [...NO_TEXT, '', long(256)] },
      amount: amount(true),
      currency: fiat,
    },
    answers: 'one',
    shape: LINK,
  },
  {
    method: 'GET',
    path: '/payment-links',
    scope: 'payment_links:read',
    status: 200,
    query: {
      ...PAGING,
      sort: sort(['id', 'label', 'amount', 'uses', 'status', 'created_at']),
      filter_id: anyText,
      filter_label: anyText,
      filter_status: words(['active', 'inactive']),
      amount_min: bound,
      amount_max: bound,
    },
    answers: 'page',
    shape: LINK,
  },
  {
    method: 'PATCH',
    path: '/payment-links/{id}',
    scope: 'payment_links:write',
    status: 200,
    body: {
      is_active: { required: true, takes: [false, true], refuses: [null, 'true', '', 1, 0, [], {}] },
    },
    answers: 'one',
    shape: LINK,
  },
  {
    method: 'POST',
    path: '/webhooks',
    scope: 'webhooks:write',
    status: 201,
    body: {
      url: {
        required: true,
        takes: ['https://shop.example/hook?a=1', 'https://shop.example:8443', `https://s.example/${'x'.repeat(2_030)}`],
        refuses: [...NO_TEXT, '', 'shop.example', '//shop.example', 'http://shop.example', 'ftp://shop.example', 'https://', 'https://a b.example', 'https://user:password@shop.example/', 'https://127.0.0.1/', 'https://[::1]/', 'https://169.254.169.254/', 'https://10.1.2.3/', 'https://localhost/', 'https://2130706433/', `https://s.example/${'x'.repeat(2_031)}`],
      },
      events: {
        required: true,
        takes: [...EVENTS.map((event) => [event]), EVENTS],
        refuses: [null, '', 'payment.completed', {}, [], ['payment.done'], ['payment.completed', 'x'], [7], [null]],
      },
    },
    answers: 'one',
    shape: { ...ENDPOINT, secret: 'whsec' },
  },
  {
    method: 'GET',
    path: '/webhooks',
    scope: 'webhooks:read',
    status: 200,
    query: {
      ...PAGING,
      sort: sort(['id', 'url', 'events', 'status', 'created_at']),
      filter_id: anyText,
      filter_url: anyText,
      filter_status: words(['active', 'inactive']),
    },
    answers: 'page',
    shape: ENDPOINT,
  },
  {
    method: 'DELETE',
    path: '/webhooks/{id}',
    scope: 'webhooks:write',
    status: 200,
    answers: 'one',
    shape: { id: 'whk', deleted: 'true' },
  },
  {
    method: 'GET',
    path: '/customers',
    scope: 'customers:read',
    status: 200,
    query: {
      ...PAGING,
      sort: sort(['id', 'email', 'order_count', 'total_spent', 'created_at']),
      filter_id: anyText,
      filter_email: anyText,
      order_count_min: count,
      order_count_max: count,
      total_spent_min: bound,
      total_spent_max: bound,
    },
    answers: 'page',
    shape: CUSTOMER,
  },
  {
    method: 'GET',
    path: '/customers/{id}',
    scope: 'customers:read',
    status: 200,
    answers: 'one',
    shape: {
      ...CUSTOMER,
      recent_payments: [
        {
          id: 'pay',
          status: 'payment status',
          asset: 'asset',
          net_fiat: 'fiat',
          fiat_currency: 'currency',
          created_at: 'time',
        },
      ],
    },
  },
  {
    method: 'GET',
    path: '/balance',
    scope: 'balance:read',
    status: 200,
    answers: 'one',
    shape: {
      currency: 'currency',
      total: FIGURE,
      available: FIGURE,
      pending: FIGURE,
      pending_count: 'integer',
      assets: [
        {
          asset: 'asset',
          available_atoms: 'atoms',
          available: 'decimal',
          available_fiat: 'fiat',
          pending_atoms: 'atoms',
          pending: 'decimal',
          pending_fiat: 'fiat',
          // Additions of Beck.
          unresolved_atoms: 'atoms',
          unresolved: 'decimal',
        },
      ],
    },
  },
  {
    method: 'POST',
    path: '/withdrawals',
    scope: 'withdrawals:write',
    status: 201,
    body: order,
    answers: 'one',
    shape: WITHDRAWAL,
  },
  {
    method: 'POST',
    path: '/withdrawals/quote',
    scope: 'withdrawals:read',
    status: 200,
    body: { ...order, amount: { ...order.amount, declines: ['0.00000001'] } as Field },
    answers: 'one',
    shape: { amount: 'decimal', payout_fee: 'decimal', network_fee: 'decimal', net: 'decimal' },
  },
  {
    method: 'GET',
    path: '/withdrawals',
    scope: 'withdrawals:read',
    status: 200,
    answers: 'list',
    shape: { ...WITHDRAWAL, completed_at: 'time?' },
    ours: { kind: 'string', payment_id: 'string?', failure_reason: 'string?' },
  },
] // biome-ignore format: a table

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
