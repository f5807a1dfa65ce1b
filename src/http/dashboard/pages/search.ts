/** One box for everything: an id, a reference, an email, an address, a transaction, an amount, or a page's name. */
import { chainFor, NETWORKS } from '../../../core/assets.ts'
import { readId, showId } from '../../../core/ids.ts'
import {
  type FoundPayment,
  findByAddress,
  findByAmount,
  findByReference,
  findByTransaction,
  findCustomers,
  findWithdrawals,
} from '../../../flows/people/search.sql.ts'
import { currentWallets } from '../../../wallets/wallets.sql.ts'
import { readDestination } from '../../../withdrawals/destination.ts'
import { html, type Part } from '../../hosted/html.ts'
import { card, empty } from '../parts.ts'
import { type DashboardRow, type Move, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { badge, fiat, time } from '../words.ts'

const NATIVE = { bitcoin: 'BTC', litecoin: 'LTC', ethereum: 'ETH' } as const

/** What outputs to an address are matched by, on each network of this mode where it is one. */
async function lookupsOf(call: PlaceCall, text: string): Promise<Uint8Array[]> {
  if (!/^[0-9A-Za-z]{20,100}$/.test(text)) return []
  const wallets = await currentWallets(call.gateway.db, call.gateway.secrets)
  return NETWORKS.flatMap((network) => {
    const wallet = wallets.find(({ chain }) => chain === chainFor(call.place.account.mode, network))
    try {
      return wallet ? [readDestination(NATIVE[network], wallet.mode, text).lookup] : []
    } catch {
      return []
    }
  })
}

/** Whatever has a public id leads straight to its page. */
function pageOfId(call: PlaceCall, text: string): string | null {
  const pages = {
    pay: 'payments',
    cus: 'customers',
    wd: 'withdrawals',
    whk: 'webhooks',
    plink: 'links',
  } as const
  for (const prefix of Object.keys(pages) as (keyof typeof pages)[]) {
    if (readId(prefix, text)) return `${call.here}/${pages[prefix]}/${text}`
  }
  if (readId('evt', text)) return `${call.here}/events?filter_id=${text}`
  return readId('key', text) ? `${call.here}/keys` : null
}

async function searchPage(call: PlaceCall): Promise<Sheet | Move> {
  const { gateway, place, here } = call
  const text = (call.query.q ?? '').slice(0, 200)
  const direct = pageOfId(call, text)
  if (direct) return { to: direct }
  const { db } = gateway
  const { id, mode } = place.account
  const amount = /^[^\d-]?\d{1,12}([.,]\d{1,2})?$/.test(text)
    ? Number(text.replace(/^[^\d]/, '').replace(',', '.'))
    : null
  const isHash = /^(0x)?[0-9a-fA-F]{64}$/.test(text)
  const lookups = await lookupsOf(call, text)
  const [byReference, byAddress, byTransaction, byAmount, customers, withdrawals] = text
    ? await Promise.all([
        findByReference(db, id, text),
        lookups.length > 0 ? findByAddress(db, id, lookups) : [],
        isHash ? findByTransaction(db, id, mode, text) : [],
        amount !== null ? findByAmount(db, id, amount) : [],
        call.may('customers:read') && !isHash ? findCustomers(db, id, text) : [],
        call.may('withdrawals:read') && (isHash || text.length >= 20) ? findWithdrawals(db, id, text) : [],
      ])
    : [[], [], [], [], [], []]
  const payments = [...byReference, ...byAddress, ...byTransaction, ...byAmount]
  const [only] = payments
  if (only && payments.length === 1 && customers.length + withdrawals.length === 0)
    return { to: `${here}/payments/${showId('pay', only.id)}` }
  const isNothing = payments.length + customers.length + withdrawals.length === 0
  return {
    title: text ? `Search: ${text}` : 'Search',
    content: html`<h1>${text ? html`Found for “${text}”` : 'Search'}</h1>
${payments.length > 0 && card('Payments', rows(payments.map((payment) => paymentRow(call, payment))))}
${customers.length > 0 && card('Customers', rows(customers.map((each) => html`<div><a href="${here}/customers/${showId('cus', each.id)}">${each.email}</a><span>${each.name}</span></div>`)))}
${withdrawals.length > 0 && card('Withdrawals', rows(withdrawals.map((each) => html`<div><a href="${here}/withdrawals/${showId('wd', each.id)}">${each.destination}</a><span>${badge(each.status)} ${time(each.createdAt, place.membership.timeZone)}</span></div>`)))}
${isNothing && empty(text ? 'Nothing found' : 'What are you looking for?', 'Search takes an id, your own reference, an email, an address, a transaction’s hash, or an amount such as 49.99.')}`,
  }
}

const rows = (items: readonly Part[]): Part =>
  html`<ul class="rows">${items.map((item) => html`<li>${item}</li>`)}</ul>`

const paymentRow = (call: PlaceCall, payment: FoundPayment): Part =>
  html`<div><a href="${call.here}/payments/${showId('pay', payment.id)}">${fiat(payment.fiatMinor, payment.fiatCurrency)}</a> ${badge(payment.status)}<span>by its ${payment.by}${payment.reference && html`, ${payment.reference}`} · ${time(payment.createdAt, call.place.membership.timeZone)}</span></div>`

export const searchRows: readonly DashboardRow[] = [
  placeRow('payments:read', { method: 'GET', path: '/:account/search', handle: searchPage }),
]
