/**
 * The client of a Beck gateway. No dependency; runs wherever `fetch` and Web Crypto do: Node, Deno, Bun, edge runtimes.
 *
 * @example
 * const beck = new Beck({ apiKey: process.env.BECK_API_KEY, baseUrl: 'https://pay.example.com/v1' })
 * const payment = await beck.payments.create({ asset: 'LTC', fiat_amount: 49.99, reference: 'order-1001' })
 */
import { type List, openList, type Page } from './list.ts'
import { type BeckOptions, type CallOptions, openSend, type Send } from './request.ts'
import type * as api from './types.ts'
import { verify } from './webhooks.ts'

export * from './errors.ts'
export type { List, Page } from './list.ts'
export type { BeckOptions, CallOptions } from './request.ts'
export type * from './types.ts'
export { type VerifyOptions, WebhookVerificationError } from './webhooks.ts'

/** Checks webhooks; needs no key: `webhooks.verify(rawBody, headers, 'whsec_…')`. */
export const webhooks = { verify }

type Paged<Item> = { items: Item[]; total: number; page: number; limit: number; total_pages: number }

export class Beck {
  readonly #send: Send

  constructor(options: BeckOptions) {
    this.#send = openSend(options)
  }

  readonly payments = {
    create: (body: api.CreatePaymentBody, options?: CallOptions) =>
      this.#post<api.CreatePaymentData>('/payments', body, options),
    retrieve: (id: string, options?: CallOptions) =>
      this.#get<api.RetrievePaymentData>(`/payments/${segment(id)}`, options),
    list: (query?: api.ListPaymentsQuery) => this.#list<api.ListPaymentsData>('/payments', query),
    cancel: (id: string, options?: CallOptions) =>
      this.#post<api.CancelPaymentData>(`/payments/${segment(id)}/cancel`, undefined, options),
    accept: (id: string, options?: CallOptions) =>
      this.#post<api.AcceptPaymentData>(`/payments/${segment(id)}/accept`, undefined, options),
  }

  readonly customers = {
    retrieve: (id: string, options?: CallOptions) =>
      this.#get<api.RetrieveCustomerData>(`/customers/${segment(id)}`, options),
    list: (query?: api.ListCustomersQuery) => this.#list<api.ListCustomersData>('/customers', query),
  }

  readonly balance = {
    retrieve: (options?: CallOptions) => this.#get<api.RetrieveBalanceData>('/balance', options),
  }

  readonly webhooks = {
    create: (body: api.CreateWebhookBody, options?: CallOptions) =>
      this.#post<api.CreateWebhookData>('/webhooks', body, options),
    list: (query?: api.ListWebhooksQuery) => this.#list<api.ListWebhooksData>('/webhooks', query),
    delete: (id: string, options?: CallOptions) =>
      this.#send<api.DeleteWebhookData>({ method: 'DELETE', path: `/webhooks/${segment(id)}`, ...options }),
    /** The same as the `webhooks.verify` that needs no client. */
    verify,
  }

  #get<Data>(path: string, options?: CallOptions): Promise<Data> {
    return this.#send<Data>({ method: 'GET', path, ...options })
  }

  #post<Data>(path: string, body: object | undefined, options?: CallOptions): Promise<Data> {
    return this.#send<Data>({ method: 'POST', path, ...(body && { body }), ...options })
  }

  #list<Data extends Paged<unknown>>(path: string, query?: { page?: number }): List<Data['items'][number]> {
    return openList(query?.page ?? 1, (page) =>
      this.#send<Page<Data['items'][number]>>({ method: 'GET', path, query: { ...query, page } }),
    )
  }
}

/** An id as part of a path; nothing in it can lead elsewhere. */
const segment = (id: string): string => encodeURIComponent(id)
