// Written by `node sdk/generate-types.ts` from docs/openapi.json. Do not edit.

export interface CreatePaymentBody {
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  /** more than 0, at most two decimals */
  fiat_amount: number
  /** `USD` when left out */
  fiat_currency?: 'USD' | 'EUR' | 'GBP'
  /** your own reference, echoed back */
  reference?: string
  /** at most 254 characters */
  customer_email?: string
  /** at most 50 keys of 40 characters, texts of at most 500, 16 kB in all */
  metadata?: Record<string, unknown>
}

export interface CreatePaymentData {
  /** `pay_` and 26 characters */
  id: string
  status: 'pending' | 'detected' | 'completed' | 'overpaid' | 'underpaid' | 'expired' | 'failed' | 'cancelled'
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  /** what is credited to the balance: `fiat_amount - fee_fiat` */
  net_fiat: number
  fiat_currency: 'USD' | 'EUR' | 'GBP'
  /** your own reference, echoed back */
  reference: string | null
  created_at: string
  network: 'bitcoin' | 'litecoin' | 'ethereum'
  /** gross amount charged */
  fiat_amount: number
  /** service fee */
  fee_fiat: number
  /** seen so far; 0 on creation */
  confirmations: number
  /** your key/value pairs, exactly as given */
  metadata: Record<string, unknown>
  /** when the locked rate ends: 30 minutes after creation */
  expires_at: string
  deposit: {
    /** where to send the coins */
    address: string
    asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
    network: 'bitcoin' | 'litecoin' | 'ethereum'
    /** decimal in the coin, rounded up to its payable precision */
    expected_amount: string
    /** the same amount in the smallest unit */
    expected_amount_atoms: string
    /** wallet URI, `<scheme>:<address>?amount=<decimal>` */
    qr_data: string
    status:
      | 'pending'
      | 'detected'
      | 'completed'
      | 'overpaid'
      | 'underpaid'
      | 'expired'
      | 'failed'
      | 'cancelled'
    confirmations: number
    /** needed before completion */
    required_confirmations: number
    expires_at: string
  }
}

export interface ListPaymentsQuery {
  /** 1-based */
  page?: number
  limit?: number
  sort?: 'id' | 'total' | 'asset' | 'status' | 'created_at'
  order?: 'asc' | 'desc'
  /** created on or after: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  start_date?: string
  /** created before: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  end_date?: string
  /** exact id */
  filter_id?: string
  /** part of the customer's email, in any case */
  filter_email?: string
  /** comma-separated coins */
  filter_asset?: string
  /** `is` when left out */
  filter_asset_op?: 'is' | 'is_not'
  /** comma-separated statuses */
  filter_status?: string
  /** `is` when left out */
  filter_status_op?: 'is' | 'is_not'
  /** least net fiat amount */
  total_min?: number
  /** largest net fiat amount */
  total_max?: number
}

export interface ListPaymentsData {
  items: {
    /** `pay_` and 26 characters */
    id: string
    status:
      | 'pending'
      | 'detected'
      | 'completed'
      | 'overpaid'
      | 'underpaid'
      | 'expired'
      | 'failed'
      | 'cancelled'
    asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
    /** what is credited to the balance: `fiat_amount - fee_fiat` */
    net_fiat: number
    fiat_currency: 'USD' | 'EUR' | 'GBP'
    /** your own reference, echoed back */
    reference: string | null
    created_at: string
  }[]
  /** count of all matches, exact */
  total: number
  page: number
  limit: number
  total_pages: number
}

export interface RetrievePaymentData {
  /** `pay_` and 26 characters */
  id: string
  status: 'pending' | 'detected' | 'completed' | 'overpaid' | 'underpaid' | 'expired' | 'failed' | 'cancelled'
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  /** what is credited to the balance: `fiat_amount - fee_fiat` */
  net_fiat: number
  fiat_currency: 'USD' | 'EUR' | 'GBP'
  /** your own reference, echoed back */
  reference: string | null
  created_at: string
  network: 'bitcoin' | 'litecoin' | 'ethereum'
  /** gross amount charged */
  fiat_amount: number
  /** service fee */
  fee_fiat: number
  /** seen so far; 0 on creation */
  confirmations: number
  /** your key/value pairs, exactly as given */
  metadata: Record<string, unknown>
  /** when the locked rate ends: 30 minutes after creation */
  expires_at: string
  deposit: {
    /** where to send the coins */
    address: string
    asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
    network: 'bitcoin' | 'litecoin' | 'ethereum'
    /** decimal in the coin, rounded up to its payable precision */
    expected_amount: string
    /** the same amount in the smallest unit */
    expected_amount_atoms: string
    /** wallet URI, `<scheme>:<address>?amount=<decimal>` */
    qr_data: string
    status:
      | 'pending'
      | 'detected'
      | 'completed'
      | 'overpaid'
      | 'underpaid'
      | 'expired'
      | 'failed'
      | 'cancelled'
    confirmations: number
    /** needed before completion */
    required_confirmations: number
    expires_at: string
  }
  /** the customer of the email that the payment names */
  customers: {
    /** `cus_` and 26 characters */
    id: string
    email: string
  } | null
  /** when funds were first seen */
  detected_at: string | null
  /** when the payment was confirmed */
  completed_at: string | null
  /** what the chain showed at the address, late and further ones included (an addition of Beck) */
  deposits: {
    tx_hash: string | null
    asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
    /** decimal in the coin */
    amount: string
    amount_atoms: string
    confirmations: number
    status: 'seen' | 'confirmed' | 'replaced' | 'reorganised' | 'dropped'
    /** seen after the window */
    late: boolean
    seen_at: string
  }[]
}

export interface CancelPaymentData {
  /** `pay_` and 26 characters */
  id: string
  status: 'pending' | 'detected' | 'completed' | 'overpaid' | 'underpaid' | 'expired' | 'failed' | 'cancelled'
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  /** what is credited to the balance: `fiat_amount - fee_fiat` */
  net_fiat: number
  fiat_currency: 'USD' | 'EUR' | 'GBP'
  /** your own reference, echoed back */
  reference: string | null
  created_at: string
  network: 'bitcoin' | 'litecoin' | 'ethereum'
  /** gross amount charged */
  fiat_amount: number
  /** service fee */
  fee_fiat: number
  /** seen so far; 0 on creation */
  confirmations: number
  /** your key/value pairs, exactly as given */
  metadata: Record<string, unknown>
  /** when the locked rate ends: 30 minutes after creation */
  expires_at: string
  deposit: {
    /** where to send the coins */
    address: string
    asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
    network: 'bitcoin' | 'litecoin' | 'ethereum'
    /** decimal in the coin, rounded up to its payable precision */
    expected_amount: string
    /** the same amount in the smallest unit */
    expected_amount_atoms: string
    /** wallet URI, `<scheme>:<address>?amount=<decimal>` */
    qr_data: string
    status:
      | 'pending'
      | 'detected'
      | 'completed'
      | 'overpaid'
      | 'underpaid'
      | 'expired'
      | 'failed'
      | 'cancelled'
    confirmations: number
    /** needed before completion */
    required_confirmations: number
    expires_at: string
  }
  /** the customer of the email that the payment names */
  customers: {
    /** `cus_` and 26 characters */
    id: string
    email: string
  } | null
  /** when funds were first seen */
  detected_at: string | null
  /** when the payment was confirmed */
  completed_at: string | null
  /** what the chain showed at the address, late and further ones included (an addition of Beck) */
  deposits: {
    tx_hash: string | null
    asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
    /** decimal in the coin */
    amount: string
    amount_atoms: string
    confirmations: number
    status: 'seen' | 'confirmed' | 'replaced' | 'reorganised' | 'dropped'
    /** seen after the window */
    late: boolean
    seen_at: string
  }[]
}

export interface AcceptPaymentData {
  /** `pay_` and 26 characters */
  id: string
  status: 'pending' | 'detected' | 'completed' | 'overpaid' | 'underpaid' | 'expired' | 'failed' | 'cancelled'
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  /** what is credited to the balance: `fiat_amount - fee_fiat` */
  net_fiat: number
  fiat_currency: 'USD' | 'EUR' | 'GBP'
  /** your own reference, echoed back */
  reference: string | null
  created_at: string
  network: 'bitcoin' | 'litecoin' | 'ethereum'
  /** gross amount charged */
  fiat_amount: number
  /** service fee */
  fee_fiat: number
  /** seen so far; 0 on creation */
  confirmations: number
  /** your key/value pairs, exactly as given */
  metadata: Record<string, unknown>
  /** when the locked rate ends: 30 minutes after creation */
  expires_at: string
  deposit: {
    /** where to send the coins */
    address: string
    asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
    network: 'bitcoin' | 'litecoin' | 'ethereum'
    /** decimal in the coin, rounded up to its payable precision */
    expected_amount: string
    /** the same amount in the smallest unit */
    expected_amount_atoms: string
    /** wallet URI, `<scheme>:<address>?amount=<decimal>` */
    qr_data: string
    status:
      | 'pending'
      | 'detected'
      | 'completed'
      | 'overpaid'
      | 'underpaid'
      | 'expired'
      | 'failed'
      | 'cancelled'
    confirmations: number
    /** needed before completion */
    required_confirmations: number
    expires_at: string
  }
  /** the customer of the email that the payment names */
  customers: {
    /** `cus_` and 26 characters */
    id: string
    email: string
  } | null
  /** when funds were first seen */
  detected_at: string | null
  /** when the payment was confirmed */
  completed_at: string | null
  /** what the chain showed at the address, late and further ones included (an addition of Beck) */
  deposits: {
    tx_hash: string | null
    asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
    /** decimal in the coin */
    amount: string
    amount_atoms: string
    confirmations: number
    status: 'seen' | 'confirmed' | 'replaced' | 'reorganised' | 'dropped'
    /** seen after the window */
    late: boolean
    seen_at: string
  }[]
}

export interface CreateWebhookBody {
  /** an https URL on the public internet */
  url: string
  /** one or more event types */
  events: (
    | 'payment.created'
    | 'payment.confirming'
    | 'payment.completed'
    | 'payment.expired'
    | 'payment.refunded'
    | 'payout.completed'
  )[]
}

export interface CreateWebhookData {
  /** `whk_` and 26 characters */
  id: string
  url: string
  events: (
    | 'payment.created'
    | 'payment.confirming'
    | 'payment.completed'
    | 'payment.expired'
    | 'payment.refunded'
    | 'payout.completed'
  )[]
  /** whether it receives events */
  is_active: boolean
  created_at: string
  /** `whsec_` and base64: signs the events (Standard Webhooks) */
  secret: string
}

export interface ListWebhooksQuery {
  /** 1-based */
  page?: number
  limit?: number
  sort?: 'id' | 'url' | 'events' | 'status' | 'created_at'
  order?: 'asc' | 'desc'
  /** created on or after: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  start_date?: string
  /** created before: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  end_date?: string
  /** exact id */
  filter_id?: string
  /** part of the URL, in any case */
  filter_url?: string
  /** comma-separated `active`, `inactive` */
  filter_status?: string
}

export interface ListWebhooksData {
  items: {
    /** `whk_` and 26 characters */
    id: string
    url: string
    events: (
      | 'payment.created'
      | 'payment.confirming'
      | 'payment.completed'
      | 'payment.expired'
      | 'payment.refunded'
      | 'payout.completed'
    )[]
    /** whether it receives events */
    is_active: boolean
    created_at: string
  }[]
  /** count of all matches, exact */
  total: number
  page: number
  limit: number
  total_pages: number
}

export interface DeleteWebhookData {
  /** `whk_` and 26 characters */
  id: string
  deleted: true
}

export interface ListCustomersQuery {
  /** 1-based */
  page?: number
  limit?: number
  sort?: 'id' | 'email' | 'order_count' | 'total_spent' | 'created_at'
  order?: 'asc' | 'desc'
  /** created on or after: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  start_date?: string
  /** created before: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  end_date?: string
  /** exact id */
  filter_id?: string
  /** part of the email, in any case */
  filter_email?: string
  order_count_min?: number
  order_count_max?: number
  total_spent_min?: number
  total_spent_max?: number
}

export interface ListCustomersData {
  items: {
    /** `cus_` and 26 characters */
    id: string
    email: string
    name: string | null
    /** number of settled payments */
    order_count: number
    /** lifetime net received, in the account’s settlement currency */
    total_spent: number
    /** when first seen */
    created_at: string
  }[]
  /** count of all matches, exact */
  total: number
  page: number
  limit: number
  total_pages: number
}

export interface RetrieveCustomerData {
  /** `cus_` and 26 characters */
  id: string
  email: string
  name: string | null
  /** number of settled payments */
  order_count: number
  /** lifetime net received, in the account’s settlement currency */
  total_spent: number
  /** when first seen */
  created_at: string
  /** newest first */
  recent_payments: {
    /** `pay_` and 26 characters */
    id: string
    status:
      | 'pending'
      | 'detected'
      | 'completed'
      | 'overpaid'
      | 'underpaid'
      | 'expired'
      | 'failed'
      | 'cancelled'
    asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
    /** credited to the balance */
    net_fiat: number
    fiat_currency: 'USD' | 'EUR' | 'GBP'
    created_at: string
  }[]
}

export interface RetrieveBalanceData {
  currency: 'USD' | 'EUR' | 'GBP'
  /** available and pending */
  total: {
    /** now */
    value: number
    /** 30 days ago */
    previous: number
    /** 30 days, oldest first, today last */
    series: {
      date: string
      /** at the end of the day, of today now */
      value: number
    }[]
  }
  /** withdrawable */
  available: {
    /** now */
    value: number
    /** 30 days ago */
    previous: number
    /** 30 days, oldest first, today last */
    series: {
      date: string
      /** at the end of the day, of today now */
      value: number
    }[]
  }
  /** deposits seen but not confirmed, before fees */
  pending: {
    /** now */
    value: number
    /** 30 days ago */
    previous: number
    /** 30 days, oldest first, today last */
    series: {
      date: string
      /** at the end of the day, of today now */
      value: number
    }[]
  }
  /** deposits awaiting confirmation */
  pending_count: number
  assets: {
    asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
    /** in the smallest unit */
    available_atoms: string
    /** decimal in the coin */
    available: string
    /** estimate at the live rate */
    available_fiat: number
    /** in the smallest unit */
    pending_atoms: string
    /** decimal in the coin */
    pending: string
    /** estimate at the live rate */
    pending_fiat: number
    /** in the smallest unit */
    unresolved_atoms: string
    /** held until support accepts or refunds it (ours) */
    unresolved: string
  }[]
}

export type PaymentEventType =
  | 'payment.created'
  | 'payment.confirming'
  | 'payment.completed'
  | 'payment.expired'
  | 'payment.refunded'

interface EventOf<Type extends string, Data> {
  id: string
  type: Type
  /** ISO-8601. */
  created: string
  data: Data
}

export type WebhookEvent =
  | EventOf<PaymentEventType, RetrievePaymentData>
  | EventOf<'payout.completed', Record<string, unknown>>
