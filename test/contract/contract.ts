/**
 * The merchant API's contract as data, written beside our code and not derived from it: every operation with its
 * scope, what it takes and refuses ({@link Field}), and what it answers ({@link Shape}). `contract.test.ts` walks it.
 */
import {
  ASSETS,
  amount,
  anyText,
  asset,
  bound,
  count,
  EVENTS,
  email,
  type Field,
  fiat,
  isOrNot,
  keys,
  long,
  NO_TEXT,
  order,
  PAGING,
  type Parameter,
  redirect,
  reference,
  STATUSES,
  sort,
  WALLET,
  words,
} from './fields.ts'
import {
  CREATED_PAYMENT,
  CUSTOMER,
  ENDPOINT,
  FIGURE,
  LINK,
  LISTED_PAYMENT,
  type Shape,
  WITHDRAWAL,
} from './shapes.ts'

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
    ours: { missing: 'string?', refund_address: 'string?', deposits: [{}] },
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
    ours: { kind: 'string', payment_id: 'string?', failure_reason: 'string?', waiting_for: 'string?', approval: 'object?' },
  },
] // biome-ignore format: a table
