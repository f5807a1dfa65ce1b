/** One box for everything: an id, a reference, an email, an address, a transaction, an amount, or a page's name. */
import { type ApiKey, listApiKeys } from '../../../accounts/api-keys.sql.ts'
import { chainFor, NETWORKS } from '../../../core/assets.ts'
import { readId, showId } from '../../../core/ids.ts'
import {
  type Found,
  type FoundPayment,
  findByAddress,
  findByAmount,
  findByReference,
  findByTransaction,
  findCustomers,
  findLinks,
  findWithdrawals,
  firstOf,
  NEWEST,
  NOTHING_FOUND,
} from '../../../flows/people/search.sql.ts'
import { soundWallets } from '../../../wallets/wallets.sql.ts'
import { readDestination } from '../../../withdrawals/destination.ts'
import { html, type Part } from '../../hosted/html.ts'
import { findPages } from '../layout.ts'
import { card, empty } from '../parts.ts'
import { type DashboardRow, type Move, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { readTypedNumber } from '../typed-price.ts'
import { badge, count, fiat, time } from '../words.ts'

const NATIVE = { bitcoin: 'BTC', litecoin: 'LTC', ethereum: 'ETH' } as const

/** What outputs to an address are matched by, on each network of this mode where it is one. */
async function lookupsOf(call: PlaceCall, text: string): Promise<Uint8Array[]> {
  if (!/^[0-9A-Za-z]{20,100}$/.test(text)) return []
  const { wallets } = await soundWallets(call.gateway.db, call.gateway.secrets)
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

/** All that the text may stand for, as far as he may see it. */
async function look(call: PlaceCall, text: string) {
  const { db } = call.gateway
  const { id, mode } = call.place.account
  const amount = readTypedNumber(text)
  const isHash = /^(0x)?[0-9a-fA-F]{64}$/.test(text)
  const isName = !isHash && text.length >= 3
  const lookups = await lookupsOf(call, text)
  const [byReference, byAddress, byTransaction, byAmount, customers, withdrawals, links, keys] =
    await Promise.all([
      findByReference(db, id, text),
      lookups.length > 0 ? findByAddress(db, id, lookups) : NOTHING_FOUND,
      isHash ? findByTransaction(db, id, mode, text) : NOTHING_FOUND,
      amount !== null ? findByAmount(db, id, amount) : NOTHING_FOUND,
      call.may('customers:read') && !isHash ? findCustomers(db, id, text) : NOTHING_FOUND,
      call.may('withdrawals:read') && (isHash || text.length >= 20)
        ? findWithdrawals(db, id, text)
        : NOTHING_FOUND,
      call.may('payment_links:read') && isName ? findLinks(db, id, text) : NOTHING_FOUND,
      call.may('api_keys:read') && isName ? keysCalled(call, text) : NOTHING_FOUND,
    ])
  const payments = [byReference, byAddress, byTransaction, byAmount]
  return { payments, amount, customers, withdrawals, links, keys, pages: findPages(call, text) }
}

async function searchPage(call: PlaceCall): Promise<Sheet | Move> {
  const { place, here } = call
  const text = (call.query.q ?? '').slice(0, 200)
  const direct = pageOfId(call, text)
  if (direct) return { to: direct }
  if (text === '')
    return { title: 'Search', content: html`<h1>Search</h1>${empty('What are you looking for?', TAKEN)}` }
  const { customers, withdrawals, links, keys, pages, ...paid } = await look(call, text)
  const payments = paid.payments.flatMap(({ items }) => items)
  const [only] = payments
  const others = [customers, withdrawals, links, keys].flatMap(({ items }): readonly unknown[] => items)
  if (only && payments.length === 1 && others.length + pages.length === 0)
    return { to: `${here}/payments/${showId('pay', only.id)}` }
  const isNothing = payments.length + others.length + pages.length === 0
  const all = (list: string, query: Readonly<Record<string, string>>, label: string) =>
    html`<a href="${here}/${list}?${String(new URLSearchParams(query))}">${label}</a>`
  return {
    title: `Search: ${text}`,
    content: html`<h1>Found for “${text}”</h1>
${payments.length > 0 && card('Payments', html`${rows(payments.map((payment) => paymentRow(call, payment)))}${morePayments(paid, text, all)}`)}
${found('Customers', customers, (each) => html`<a href="${here}/customers/${showId('cus', each.id)}">${each.email}</a><span>${each.name}</span>`, html`${all('customers', { filter_email: text }, 'All with it in their email')}, ${all('customers', { filter_name: text }, 'all with it in their name')}`)}
${found('Withdrawals', withdrawals, (each) => html`<a href="${here}/withdrawals/${showId('wd', each.id)}">${each.destination}</a><span>${badge(each.status)} ${time(each.createdAt, place.membership.timeZone)}</span>`, all('withdrawals', { filter_to: text }, 'All of them'))}
${found('Payment links', links, (each) => html`<a href="${here}/links/${showId('plink', each.id)}">${each.label}</a><span>${fiat(each.amountMinor, each.currency)}</span>`, all('links', { filter_label: text }, 'All with it in their label'))}
${found('API keys', keys, (each) => html`<a href="${here}/keys">${each.name}</a><span>…${each.tail}</span>`, all('keys', { filter_name: text }, 'All with it in their name'))}
${pages.length > 0 && card('Pages', rows(pages.map((each) => html`<a href="${here}${each.path}">${each.label}</a>`)))}
${isNothing && empty('Nothing found', TAKEN)}`,
  }
}

const TAKEN =
  'Search takes an id, your own reference, an email, an address, a transaction’s hash, an amount such as 49.99, or the name of a link, a key or a page.'

/** One kind of what was found, and the list that has what is not shown of it. */
const found = <Item>(
  title: string,
  { items, rest }: Found<Item>,
  row: (item: Item) => Part,
  list: Part,
): Part =>
  (items.length > 0 || rest !== 'none') &&
  card(
    title,
    html`${items.length > 0 && rows(items.map(row))}${rest === 'more' && html`<p class="hint">There are more than these ${items.length}. ${list}.</p>`}${rest === 'older' && html`<p class="hint">${items.length === 0 && 'None found. '}Only the newest ${count(NEWEST)} were looked through. ${list}.</p>`}`,
  )

/** How payments that are not shown are found; those of one transaction stand in no list. */
function morePayments(
  {
    payments: [byReference, , byTransaction, byAmount],
    amount,
  }: Pick<Awaited<ReturnType<typeof look>>, 'payments' | 'amount'>,
  text: string,
  all: (list: string, query: Readonly<Record<string, string>>, label: string) => Part,
): Part {
  const near = amount ?? 0
  const lines = [
    byReference?.rest === 'more' && all('payments', { filter_reference: text }, 'All with this reference'),
    byTransaction?.rest === 'more' && 'The transaction paid more of them than a search shows',
    byAmount?.rest === 'more' &&
      all(
        'payments',
        { total_min: (Math.floor(near * 95) / 100).toFixed(2), total_max: near.toFixed(2) },
        'All whose net is this amount, or at most 5 % less',
      ),
  ]
  return lines.map((line) => line && html`<p class="hint">There are more than these. ${line}.</p>`)
}

/** Those that open something: who looks for a revoked one opens the list. */
const keysCalled = async ({ gateway: { db }, place }: PlaceCall, text: string): Promise<Found<ApiKey>> =>
  firstOf(
    (await listApiKeys(db, place.account.id))
      .filter(({ revokedAt }) => revokedAt === null)
      .filter(({ name, tail }) => name.toLowerCase().includes(text.toLowerCase()) || tail === text),
  )

const rows = (items: readonly Part[]): Part =>
  html`<ul class="rows">${items.map((item) => html`<li><div>${item}</div></li>`)}</ul>`

const paymentRow = (call: PlaceCall, payment: FoundPayment): Part =>
  html`<a href="${call.here}/payments/${showId('pay', payment.id)}">${fiat(payment.fiatMinor, payment.fiatCurrency)}</a> ${badge(payment.status)}<span>by its ${payment.by}${payment.reference && html`, ${payment.reference}`} · ${time(payment.createdAt, call.place.membership.timeZone)}</span>`

export const searchRows: readonly DashboardRow[] = [
  placeRow('payments:read', 'GET /:account/search', { handle: searchPage }),
]
