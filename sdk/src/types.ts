// Written by `node sdk/generate-types.ts` from docs/openapi.json. Do not edit.

export interface Deposit {
  /** where to send the coins */
  address: string
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  network: 'bitcoin' | 'litecoin' | 'ethereum'
  /** decimal in the coin, rounded up to its payable precision */
  expected_amount: string
  /** the same amount in the smallest unit */
  expected_amount_atoms: string
  /** wallet URI, `<scheme>:<address>?amount=<decimal>`; for a token few wallets read it, and none takes it for ether: draw `payment_uri` where there is one */
  qr_data: string
  /** what wallets read, with coin, network and amount: BIP-21 or EIP-681; null on the simulated Ethereum (an addition of Beck) */
  payment_uri: string | null
  status: 'pending' | 'detected' | 'completed' | 'overpaid' | 'underpaid' | 'expired' | 'failed' | 'cancelled'
  confirmations: number
  /** needed before completion */
  required_confirmations: number
  expires_at: string
}

export interface CreatedPayment {
  /** `pay_` and 26 characters */
  id: string
  status: 'pending' | 'detected' | 'completed' | 'overpaid' | 'underpaid' | 'expired' | 'failed' | 'cancelled'
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  /** what is credited to the balance: `fiat_amount - fee_fiat`, or what was credited once another amount was settled or accepted */
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
  deposit: Deposit
}

export interface ListedPayment {
  /** `pay_` and 26 characters */
  id: string
  status: 'pending' | 'detected' | 'completed' | 'overpaid' | 'underpaid' | 'expired' | 'failed' | 'cancelled'
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  /** what is credited to the balance: `fiat_amount - fee_fiat`, or what was credited once another amount was settled or accepted */
  net_fiat: number
  fiat_currency: 'USD' | 'EUR' | 'GBP'
  /** your own reference, echoed back */
  reference: string | null
  created_at: string
}

export interface Payment {
  /** `pay_` and 26 characters */
  id: string
  status: 'pending' | 'detected' | 'completed' | 'overpaid' | 'underpaid' | 'expired' | 'failed' | 'cancelled'
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  /** what is credited to the balance: `fiat_amount - fee_fiat`, or what was credited once another amount was settled or accepted */
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
  deposit: Deposit
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
  /** where the buyer of a checkout wants back what is held, as he said on its page (an addition of Beck) */
  refund_address: string | null
  /** decimal in the coin: what an underpaid payment still lacks, with what was refunded of it (an addition of Beck) */
  missing: string | null
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

export interface PaymentLink {
  /** `plink_` and 26 characters */
  id: string
  /** shown at checkout */
  label: string
  /** fixed price */
  amount: number
  currency: 'USD' | 'EUR' | 'GBP'
  /** number of times the link was opened */
  uses: number
  /** whether it accepts payments */
  is_active: boolean
  created_at: string
}

export interface PointOfSale {
  /** `pos_` and 26 characters */
  id: string
  /** stands above the keypad */
  name: string
  currency: 'USD' | 'EUR' | 'GBP'
  /** to be opened on the phone behind the counter */
  url: string
  /** whether it sells */
  is_active: boolean
  created_at: string
}

export interface ListedWebhookEndpoint {
  /** `whk_` and 26 characters */
  id: string
  url: string
  events: ('payment.created' | 'payment.confirming' | 'payment.completed' | 'payment.expired' | 'payment.refunded' | 'payout.completed' | 'payout.failed')[]
  /** whether it receives events */
  is_active: boolean
  created_at: string
}

export interface WebhookEndpoint {
  /** `whk_` and 26 characters */
  id: string
  url: string
  events: ('payment.created' | 'payment.confirming' | 'payment.completed' | 'payment.expired' | 'payment.refunded' | 'payout.completed' | 'payout.failed')[]
  /** whether it receives events */
  is_active: boolean
  created_at: string
  /** why Beck stopped sending: the receiver answered 410, or attempts failed for five days, none succeeding in between */
  disabled_reason: 'gone' | 'failing' | null
  /** since when attempts have failed, with no success in between, nor 2 days without an attempt; after five days of it Beck stops sending */
  failing_since: string | null
}

export interface WebhookDelivery {
  /** `dlv_` and 26 characters */
  id: string
  /** `evt_` and 26 characters */
  event_id: string
  event_type: 'payment.created' | 'payment.confirming' | 'payment.completed' | 'payment.expired' | 'payment.refunded' | 'payout.completed' | 'payout.failed'
  status: 'pending' | 'delivered' | 'failed' | 'cancelled'
  attempts: {
    number: number
    started_at: string
    duration_ms: number
    response_status: number | null
    /** the first bytes of the answer */
    response_start: string | null
    /** why no complete answer came */
    error: string | null
  }[]
  next_attempt_at: string | null
  created_at: string
  finished_at: string | null
}

export interface ListedCustomer {
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
}

export interface Customer {
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
    status: 'pending' | 'detected' | 'completed' | 'overpaid' | 'underpaid' | 'expired' | 'failed' | 'cancelled'
    asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
    /** credited to the balance */
    net_fiat: number
    fiat_currency: 'USD' | 'EUR' | 'GBP'
    created_at: string
  }[]
}

export interface BalanceFigure {
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

export interface CreatedWithdrawal {
  /** `wd_` and 26 characters */
  id: string
  status: 'requested' | 'broadcast' | 'completed' | 'failed'
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  network: 'bitcoin' | 'litecoin' | 'ethereum'
  /** gross amount debited, in the smallest unit */
  amount_atoms: string
  /** service payout fee, in the smallest unit */
  fee_atoms: string
  /** amount sent on-chain: the amount minus payout fee and network fee, in the smallest unit */
  net_atoms: string
  destination_address: string
  /** once broadcast; a fee bump changes it */
  tx_hash: string | null
  /** request time */
  created_at: string
}

export interface Withdrawal {
  /** `wd_` and 26 characters */
  id: string
  status: 'requested' | 'broadcast' | 'completed' | 'failed'
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  network: 'bitcoin' | 'litecoin' | 'ethereum'
  /** gross amount debited, in the smallest unit */
  amount_atoms: string
  /** service payout fee, in the smallest unit */
  fee_atoms: string
  /** amount sent on-chain: the amount minus payout fee and network fee, in the smallest unit */
  net_atoms: string
  destination_address: string
  /** once broadcast; a fee bump changes it */
  tx_hash: string | null
  /** request time */
  created_at: string
  /** on-chain confirmation time */
  completed_at: string | null
  /** a refund returns held funds of a payment (an addition of Beck) */
  kind: 'payout' | 'refund'
  /** the payment that a refund belongs to (an addition of Beck) */
  payment_id: string | null
  /** why a failed one was not paid, or not at first (an addition of Beck); docs/payments.md says what each means, and there may be more in time */
  failure_reason: 'cancelled' | 'declined' | 'not_approved' | 'not_on_allowlist' | 'limit_per_tx' | 'limit_per_hour' | 'limit_per_day' | 'not_authentic' | 'not_consistent' | 'not_held' | 'invalid_address' | 'would_revert' | 'reverted' | 'nonce_used' | 'coins_spent' | 'paid_after_failure' | 'sandbox' | null
  /** what a withdrawal waits for (an addition of Beck): `signature` (the signer comes to it within a second), `approval` (other people of the merchant), `coins` or `confirmations` (of what will pay it), `network_fee` (until the network asks for less), `limit`, `allowlist` or `frozen` (the operator), `cancellation`, `block`; null at its end */
  waiting_for: 'signature' | 'coins' | 'confirmations' | 'network_fee' | 'limit' | 'allowlist' | 'frozen' | 'approval' | 'cancellation' | 'block' | null
  approval: {
    /** `open` waits for people; `approved`: the signer has taken it; the rest is over */
    status: 'open' | 'approved' | 'declined' | 'expired' | 'refused'
    /** approvals that it was asked for, 1 or 2 */
    needed: number
    given: number
    /** until then it can be approved; then it fails */
    valid_until: string
    /** the name of the person or the key */
    requested_by: string | null
    /** names of those whose approval counts */
    awaiting: string[]
  } | null
}

export interface ChainTip {
  network: 'bitcoin' | 'litecoin' | 'ethereum'
  /** the chain's newest block */
  height: number
}

export interface CreatePaymentBody {
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  /** more than 0, at most two decimals */
  fiat_amount: number
  /** default 'USD' */
  fiat_currency?: 'USD' | 'EUR' | 'GBP' | undefined
  /** your own reference, echoed back */
  reference?: string | undefined
  /** an email address */
  customer_email?: string | undefined
  /** at most 50 keys of 40 characters, texts of at most 500, 16 kB in all */
  metadata?: Record<string, unknown> | undefined
}

export interface ListPaymentsQuery {
  /** 1-based; default 1 */
  page?: number | undefined
  /** default 25 */
  limit?: number | undefined
  /** default 'created_at' */
  sort?: 'id' | 'total' | 'asset' | 'status' | 'created_at' | undefined
  /** default 'desc' */
  order?: 'asc' | 'desc' | undefined
  /** created on or after: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  start_date?: string | undefined
  /** created before: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  end_date?: string | undefined
  /** exact id */
  filter_id?: string | undefined
  /** part of the customer's email, in any case */
  filter_email?: string | undefined
  /** your reference, to the letter */
  filter_reference?: string | undefined
  /** comma-separated coins */
  filter_asset?: string | undefined
  /** default 'is' */
  filter_asset_op?: 'is' | 'is_not' | undefined
  /** comma-separated statuses */
  filter_status?: string | undefined
  /** default 'is' */
  filter_status_op?: 'is' | 'is_not' | undefined
  /** least net fiat amount */
  total_min?: number | undefined
  /** largest net fiat amount */
  total_max?: number | undefined
}

export interface CreateCheckoutSessionBody {
  /** more than 0, at most two decimals; when left out, the page asks the buyer */
  amount?: number | undefined
  /** the account's settlement currency when left out */
  currency?: 'USD' | 'EUR' | 'GBP' | undefined
  /** shown on the page */
  label?: string | undefined
  /** your own reference, echoed back */
  reference?: string | undefined
  /** an email address */
  customer_email?: string | undefined
  /** which the buyer may pick; all that the account offers when left out (an addition of Beck) */
  coins?: ('BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT')[] | undefined
  /** http(s); where the buyer goes after success */
  success_url?: string | undefined
  /** http(s); where the buyer goes when he cancels */
  cancel_url?: string | undefined
}

export interface CreateCheckoutSessionData {
  /** `cs_` and 26 characters */
  id: string
  /** the hosted page */
  url: string
}

export interface RetrieveCheckoutSessionData {
  /** `cs_` and 26 characters */
  id: string
  /** the hosted page */
  url: string
  /** complete once its payment is paid */
  status: 'open' | 'complete' | 'expired' | 'cancelled'
  /** null: the buyer is asked */
  amount: number | null
  currency: 'USD' | 'EUR' | 'GBP'
  label: string | null
  /** your own reference, echoed back */
  reference: string | null
  payment: Payment | null
  created_at: string
  /** when it ends unless a coin is picked */
  expires_at: string
}

export interface CreatePaymentLinkBody {
  /** shown at checkout */
  label: string
  /** more than 0, at most two decimals */
  amount: number
  /** default 'USD' */
  currency?: 'USD' | 'EUR' | 'GBP' | undefined
}

export interface ListPaymentLinksQuery {
  /** 1-based; default 1 */
  page?: number | undefined
  /** default 25 */
  limit?: number | undefined
  /** default 'created_at' */
  sort?: 'id' | 'label' | 'amount' | 'uses' | 'status' | 'created_at' | undefined
  /** default 'desc' */
  order?: 'asc' | 'desc' | undefined
  /** created on or after: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  start_date?: string | undefined
  /** created before: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  end_date?: string | undefined
  /** exact id */
  filter_id?: string | undefined
  /** part of the label, in any case */
  filter_label?: string | undefined
  /** comma-separated `active`, `inactive` */
  filter_status?: string | undefined
  amount_min?: number | undefined
  amount_max?: number | undefined
}

export interface UpdatePaymentLinkBody {
  is_active: boolean
}

export interface CreatePointOfSaleBody {
  /** stands above the keypad */
  name: string
  /** default 'USD' */
  currency?: 'USD' | 'EUR' | 'GBP' | undefined
}

export type ListPointsOfSaleData = PointOfSale[]

export interface CreateWebhookBody {
  /** an https URL on the public internet */
  url: string
  /** one or more event types */
  events: ('payment.created' | 'payment.confirming' | 'payment.completed' | 'payment.expired' | 'payment.refunded' | 'payout.completed' | 'payout.failed')[]
}

export interface CreateWebhookData {
  /** `whk_` and 26 characters */
  id: string
  url: string
  events: ('payment.created' | 'payment.confirming' | 'payment.completed' | 'payment.expired' | 'payment.refunded' | 'payout.completed' | 'payout.failed')[]
  /** whether it receives events */
  is_active: boolean
  created_at: string
  /** `whsec_` and base64: signs the events (Standard Webhooks) */
  secret: string
}

export interface ListWebhooksQuery {
  /** 1-based; default 1 */
  page?: number | undefined
  /** default 25 */
  limit?: number | undefined
  /** default 'created_at' */
  sort?: 'id' | 'url' | 'events' | 'status' | 'created_at' | undefined
  /** default 'desc' */
  order?: 'asc' | 'desc' | undefined
  /** created on or after: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  start_date?: string | undefined
  /** created before: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  end_date?: string | undefined
  /** exact id */
  filter_id?: string | undefined
  /** part of the URL, in any case */
  filter_url?: string | undefined
  /** comma-separated `active`, `inactive` */
  filter_status?: string | undefined
}

export interface DeleteWebhookData {
  /** `whk_` and 26 characters */
  id: string
  deleted: true
}

export interface RotateWebhookData {
  /** `whk_` and 26 characters */
  id: string
  url: string
  events: ('payment.created' | 'payment.confirming' | 'payment.completed' | 'payment.expired' | 'payment.refunded' | 'payout.completed' | 'payout.failed')[]
  /** whether it receives events */
  is_active: boolean
  created_at: string
  /** the new secret, `whsec_` and base64 */
  secret: string
  /** until when the old secret signs too */
  previous_secret_until: string
}

export interface ListWebhookDeliveriesQuery {
  /** 1-based; default 1 */
  page?: number | undefined
  /** default 25 */
  limit?: number | undefined
  /** default 'created_at' */
  sort?: 'id' | 'created_at' | undefined
  /** default 'desc' */
  order?: 'asc' | 'desc' | undefined
  /** created on or after: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  start_date?: string | undefined
  /** created before: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  end_date?: string | undefined
  /** comma-separated `pending`, `delivered`, `failed`, `cancelled` */
  filter_status?: string | undefined
}

export interface ListEventsQuery {
  /** an event's id; `latest` for the newest event's cursor alone; the oldest event when left out */
  after?: string | undefined
  /** default 25 */
  limit?: number | undefined
}

export interface ListEventsData {
  items: {
    /** `evt_` and 26 characters */
    id: string
    type: 'payment.created' | 'payment.confirming' | 'payment.completed' | 'payment.expired' | 'payment.refunded' | 'payout.completed' | 'payout.failed'
    created: string
    /** the whole payment or withdrawal as it was then */
    data: Record<string, unknown>
  }[]
  /** whether another page is there already */
  has_more: boolean
  /** what to give as `after` next; null while there is no event */
  cursor: string | null
}

export interface ListCustomersQuery {
  /** 1-based; default 1 */
  page?: number | undefined
  /** default 25 */
  limit?: number | undefined
  /** default 'created_at' */
  sort?: 'id' | 'email' | 'order_count' | 'total_spent' | 'created_at' | undefined
  /** default 'desc' */
  order?: 'asc' | 'desc' | undefined
  /** created on or after: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  start_date?: string | undefined
  /** created before: a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp */
  end_date?: string | undefined
  /** exact id */
  filter_id?: string | undefined
  /** part of the email, in any case */
  filter_email?: string | undefined
  order_count_min?: number | undefined
  order_count_max?: number | undefined
  total_spent_min?: number | undefined
  total_spent_max?: number | undefined
}

export interface RetrieveBalanceData {
  currency: 'USD' | 'EUR' | 'GBP'
  /** available and pending */
  total: BalanceFigure
  /** withdrawable */
  available: BalanceFigure
  /** deposits seen but not confirmed, before fees */
  pending: BalanceFigure
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
    /** held until support accepts or refunds it (an addition of Beck) */
    unresolved: string
  }[]
}

export interface CreateWithdrawalBody {
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  /** decimal of the coin, such as `"0.015"` */
  amount: string
  /** a wallet on the coin's network that is not this gateway's own */
  destination_address: string
}

export type ListWithdrawalsData = Withdrawal[]

export interface QuoteWithdrawalBody {
  asset: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'USDT'
  /** decimal of the coin, such as `"0.015"` */
  amount: string
  /** a wallet on the coin's network that is not this gateway's own */
  destination_address: string
}

export interface QuoteWithdrawalData {
  amount: string
  payout_fee: string
  network_fee: string
  net: string
}

export interface RefundPaymentBody {
  /** a wallet on the coin's network that is not this gateway's own */
  destination_address: string
  /** decimal of the coin, such as `"0.015"` */
  amount?: string | undefined
}

export interface PaySandboxPaymentBody {
  /** decimal in the coin; exactly what is due when left out */
  amount?: string | undefined
  /** blocks mined at once, the one that holds the payment included; none when left out */
  confirmations?: number | undefined
}

export interface CreateSandboxBlockBody {
  network: 'bitcoin' | 'litecoin' | 'ethereum'
  /** 1 when left out */
  count?: number | undefined
}

export interface ReorgSandboxBody {
  network: 'bitcoin' | 'litecoin' | 'ethereum'
  /** 1 when left out */
  depth?: number | undefined
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
  /** Sent from the dashboard to try the endpoint: nothing happened. */
  test?: true
  data: Data
}

export type WebhookEvent =
  | EventOf<PaymentEventType, Payment>
  | EventOf<'payout.completed' | 'payout.failed', Withdrawal>
