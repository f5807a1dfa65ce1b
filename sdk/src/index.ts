/**
 * The client of a Beck gateway. No dependency; runs wherever `fetch` and Web Crypto do: Node, Deno, Bun, edge runtimes.
 *
 * @example
 * const beck = new Beck({ apiKey: process.env.BECK_API_KEY, baseUrl: 'https://pay.example.com/v1' })
 * const payment = await beck.payments.create({ asset: 'LTC', fiat_amount: 49.99, reference: 'order-1001' })
 */
import { type Events, type List, openEvents, openList, type Page, type Replay } from './list.ts'
import { type BeckOptions, type CallOptions, openSend, type Send } from './request.ts'
import type * as api from './types.ts'
import { verify } from './webhooks.ts'

export * from './errors.ts'
export type { Events, List, Page, Replay } from './list.ts'
export type { BeckOptions, CallOptions } from './request.ts'
export type * from './types.ts'
export { type VerifyOptions, WebhookSecretError, WebhookVerificationError } from './webhooks.ts'

/** Checks webhooks; needs no key: `webhooks.verify(rawBody, headers, 'whsec_…')`. */
export const webhooks = { verify }

export class Beck {
  readonly #send: Send

  constructor(options: BeckOptions) {
    this.#send = openSend(options)
  }

  readonly payments = {
    create: (body: api.CreatePaymentBody, options?: CallOptions) =>
      this.#post<api.CreatedPayment>('/payments', body, options),
    retrieve: (id: string, options?: CallOptions) =>
      this.#get<api.Payment>(`/payments/${segment(id)}`, options),
    list: (query?: api.ListPaymentsQuery) => this.#list<api.ListedPayment>('/payments', query),
    /** Only while nothing was seen. */
    cancel: (id: string, options?: CallOptions) =>
      this.#post<api.Payment>(`/payments/${segment(id)}/cancel`, undefined, options),
    /** Credits the funds held for an underpaid, overpaid or late payment. */
    accept: (id: string, options?: CallOptions) =>
      this.#post<api.Payment>(`/payments/${segment(id)}/accept`, undefined, options),
    /** Sends held funds back to an address the buyer gives. */
    refund: (id: string, body: api.RefundPaymentBody, options?: CallOptions) =>
      this.#post<api.CreatedWithdrawal>(`/payments/${segment(id)}/refund`, body, options),
  }

  readonly checkoutSessions = {
    create: (body: api.CreateCheckoutSessionBody = {}, options?: CallOptions) =>
      this.#post<api.CreateCheckoutSessionData>('/checkout/sessions', body, options),
    /** Where it stands, and the payment that the buyer makes there. */
    retrieve: (id: string, options?: CallOptions) =>
      this.#get<api.RetrieveCheckoutSessionData>(`/checkout/sessions/${segment(id)}`, options),
  }

  readonly paymentLinks = {
    create: (body: api.CreatePaymentLinkBody, options?: CallOptions) =>
      this.#post<api.PaymentLink>('/payment-links', body, options),
    list: (query?: api.ListPaymentLinksQuery) => this.#list<api.PaymentLink>('/payment-links', query),
    update: (id: string, body: api.UpdatePaymentLinkBody, options?: CallOptions) =>
      this.#send<api.PaymentLink>({
        method: 'PATCH',
        path: `/payment-links/${segment(id)}`,
        body,
        ...options,
      }),
  }

  readonly pointsOfSale = {
    /** Its `url` is opened on the phone behind the counter. */
    create: (body: api.CreatePointOfSaleBody, options?: CallOptions) =>
      this.#post<api.PointOfSale>('/points-of-sale', body, options),
    /** The newest first, 200 at most. */
    list: (options?: CallOptions) => this.#get<api.ListPointsOfSaleData>('/points-of-sale', options),
    retrieve: (id: string, options?: CallOptions) =>
      this.#get<api.PointOfSale>(`/points-of-sale/${segment(id)}`, options),
    /** For good, as when its phone was lost. */
    disable: (id: string, options?: CallOptions) =>
      this.#post<api.PointOfSale>(`/points-of-sale/${segment(id)}/disable`, undefined, options),
  }

  readonly customers = {
    retrieve: (id: string, options?: CallOptions) =>
      this.#get<api.Customer>(`/customers/${segment(id)}`, options),
    list: (query?: api.ListCustomersQuery) => this.#list<api.ListedCustomer>('/customers', query),
  }

  readonly balance = {
    retrieve: (options?: CallOptions) => this.#get<api.RetrieveBalanceData>('/balance', options),
  }

  readonly withdrawals = {
    create: (body: api.CreateWithdrawalBody, options?: CallOptions) =>
      this.#post<api.CreatedWithdrawal>('/withdrawals', body, options),
    /** What a withdrawal would cost now; moves nothing. */
    quote: (body: api.QuoteWithdrawalBody, options?: CallOptions) =>
      this.#post<api.QuoteWithdrawalData>('/withdrawals/quote', body, options),
    /** The 100 newest. */
    list: (options?: CallOptions) => this.#get<api.ListWithdrawalsData>('/withdrawals', options),
    retrieve: (id: string, options?: CallOptions) =>
      this.#get<api.Withdrawal>(`/withdrawals/${segment(id)}`, options),
    /** Until it is signed. */
    cancel: (id: string, options?: CallOptions) =>
      this.#post<api.Withdrawal>(`/withdrawals/${segment(id)}/cancel`, undefined, options),
  }

  readonly webhooks = {
    create: (body: api.CreateWebhookBody, options?: CallOptions) =>
      this.#post<api.CreateWebhookData>('/webhooks', body, options),
    list: (query?: api.ListWebhooksQuery) => this.#list<api.ListedWebhookEndpoint>('/webhooks', query),
    delete: (id: string, options?: CallOptions) =>
      this.#send<api.DeleteWebhookData>({
        method: 'DELETE',
        path: `/webhooks/${segment(id)}`,
        ifGone: { id, deleted: true },
        ...options,
      }),
    retrieve: (id: string, options?: CallOptions) =>
      this.#get<api.WebhookEndpoint>(`/webhooks/${segment(id)}`, options),
    /** Sends to an endpoint again that Beck stopped sending to. */
    enable: (id: string, options?: CallOptions) =>
      this.#post<api.WebhookEndpoint>(`/webhooks/${segment(id)}/enable`, undefined, options),
    /** A new secret; for 24 hours events are signed with the old one too. */
    rotate: (id: string, options?: CallOptions) =>
      this.#post<api.RotateWebhookData>(`/webhooks/${segment(id)}/rotate`, undefined, options),
    /** What the endpoint was sent in the last 30 days, with each attempt. */
    deliveries: (id: string, query?: api.ListWebhookDeliveriesQuery) =>
      this.#list<api.WebhookDelivery>(`/webhooks/${segment(id)}/deliveries`, query),
    redeliver: (id: string, deliveryId: string, options?: CallOptions) =>
      this.#post<api.WebhookDelivery>(
        `/webhooks/${segment(id)}/deliveries/${segment(deliveryId)}/redeliver`,
        undefined,
        options,
      ),
    /** The same as the `webhooks.verify` that needs no client. */
    verify,
  }

  readonly events = {
    /** The events of the last 30 days, oldest first: those after an event's id, or all of them. */
    list: (query: api.ListEventsQuery = {}): Events<api.WebhookEvent> =>
      openEvents(query.after, (after) =>
        this.#send<Replay<api.WebhookEvent>>({ method: 'GET', path: '/events', query: { ...query, after } }),
      ),
  }

  /** Only for test accounts: makes things happen on the simulated chain. */
  readonly sandbox = {
    pay: (id: string, body: api.PaySandboxPaymentBody = {}, options?: CallOptions) =>
      this.#post<api.Payment>(`/sandbox/payments/${segment(id)}/pay`, body, options),
    expire: (id: string, options?: CallOptions) =>
      this.#post<api.Payment>(`/sandbox/payments/${segment(id)}/expire`, undefined, options),
    replace: (id: string, options?: CallOptions) =>
      this.#post<api.Payment>(`/sandbox/payments/${segment(id)}/replace`, undefined, options),
    mine: (body: api.CreateSandboxBlockBody, options?: CallOptions) =>
      this.#post<api.ChainTip>('/sandbox/blocks', body, options),
    reorganise: (body: api.ReorgSandboxBody, options?: CallOptions) =>
      this.#post<api.ChainTip>('/sandbox/reorg', body, options),
  }

  #get<Data>(path: string, options?: CallOptions): Promise<Data> {
    return this.#send<Data>({ method: 'GET', path, ...options })
  }

  #post<Data>(path: string, body: object | undefined, options?: CallOptions): Promise<Data> {
    return this.#send<Data>({ method: 'POST', path, ...(body && { body }), ...options })
  }

  #list<Item>(path: string, query?: { page?: number | undefined }): List<Item> {
    return openList(query?.page ?? 1, (page) =>
      this.#send<Page<Item>>({ method: 'GET', path, query: { ...query, page } }),
    )
  }
}

/** An id as part of a path; nothing in it can lead elsewhere. */
const segment = (id: string): string => encodeURIComponent(id)
