/** `beck payments`: an account's payments, listed, shown and asked for. */
import { type Terminal, table } from '../../src/cli/terminal.ts'
import { invalid } from '../../src/core/errors.ts'
import { type ApiOptions, openApi, readCount } from './api-client.ts'

interface PaymentFilter extends ApiOptions {
  readonly status?: string
  readonly reference?: string
  readonly limit: string
}

interface PaymentDraft extends ApiOptions {
  readonly asset: string
  readonly amount: string
  readonly currency: string
  readonly reference?: string
  readonly email?: string
}

interface Payment {
  readonly id: string
  readonly status: string
  readonly asset: string
  /** Numbers keep the digits that they were written with: an object of JSON's own. */
  readonly fiat_amount: object
  readonly fiat_currency: string
  readonly reference: string | null
  readonly created_at: string
  readonly deposit: {
    readonly address: string
    readonly expected_amount: string
    readonly expires_at: string
  }
}

const LIMIT_MAX = 100

export async function listPayments(terminal: Terminal, options: PaymentFilter): Promise<void> {
  const query = new URLSearchParams({ limit: String(readCount('--limit', options.limit, LIMIT_MAX)) })
  if (options.status) query.set('filter_status', options.status)
  if (options.reference) query.set('filter_reference', options.reference)
  const page = await openApi(options).call<{ items: Payment[]; total: object }>('GET', `/payments?${query}`)
  terminal.answer(
    page,
    page.items.length === 0
      ? ['There is no such payment.']
      : [
          ...table(
            page.items.map((payment) => [
              payment.created_at,
              payment.status,
              `${JSON.stringify(payment.fiat_amount)} ${payment.fiat_currency}`,
              payment.asset,
              payment.id,
              payment.reference ?? '',
            ]),
          ),
          `${page.items.length} of ${JSON.stringify(page.total)}`,
        ],
  )
}

export async function showPayment(terminal: Terminal, id: string, options: ApiOptions): Promise<void> {
  const payment = await openApi(options).call<object>('GET', `/payments/${encodeURIComponent(id)}`)
  terminal.answer(payment, [JSON.stringify(payment, null, 2)])
}

export async function createPayment(terminal: Terminal, options: PaymentDraft): Promise<void> {
  if (!/^\d+(\.\d{1,2})?$/.test(options.amount))
    throw invalid('invalid_amount', `--amount is a price such as 49.99, got "${options.amount}"`)
  const payment = await openApi(options).call<Payment>('POST', '/payments', {
    asset: options.asset,
    fiat_amount: Number(options.amount),
    fiat_currency: options.currency,
    ...(options.reference ? { reference: options.reference } : {}),
    ...(options.email ? { customer_email: options.email } : {}),
  })
  const { address, expected_amount, expires_at } = payment.deposit
  terminal.answer(payment, [
    payment.id,
    `send exactly ${expected_amount} ${payment.asset} to ${address} before ${expires_at}`,
  ])
}
