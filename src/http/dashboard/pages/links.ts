/** Payment links and checkouts made by hand: to print, to embed, to send by mail. */
import { requireOpenAccount } from '../../../accounts/closing.sql.ts'
import {
  exportPaymentLinks,
  findPaymentLink,
  insertPaymentLink,
  listPaymentLinks,
  type PaymentLink,
  setPaymentLinkActive,
} from '../../../checkout/payment-links.sql.ts'
import { isFiat } from '../../../core/assets.ts'
import { isEmail } from '../../../core/email.ts'
import { invalidField, notFound } from '../../../core/errors.ts'
import { readId, showId } from '../../../core/ids.ts'
import { fiatToNumber } from '../../../core/money.ts'
import { createSession } from '../../../flows/checkout/checkout.ts'
import { checkoutUrl, paymentLinkUrl } from '../../../flows/checkout/page-urls.ts'
import { requireFiatAmount } from '../../../flows/payments/fiat-amount.ts'
import { html } from '../../hosted/html.ts'
import { drawQr } from '../../hosted/qr.ts'
import { change } from '../change.ts'
import { type ExportColumns, exportRow } from '../export.ts'
import { listPage } from '../list.ts'
import { copyColumn, createdColumn } from '../list-columns.ts'
import { choiceOf, type Filter } from '../list-query.ts'
import {
  button,
  card,
  copyable,
  empty,
  FIAT_CHOICES,
  facts,
  field,
  formProblem,
  select,
  submit,
} from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { readTypedPrice } from '../typed-price.ts'
import { badge, count, fiat, time } from '../words.ts'

const FILTERS: readonly Filter[] = [
  { name: 'filter_label', label: 'Label', kind: 'text' },
  choiceOf('filter_status', 'Status', ['active', 'inactive']),
]

const EXPORTED: ExportColumns<PaymentLink> = {
  id: (row) => showId('plink', row.id),
  label: (row) => row.label,
  amount: (row) => fiatToNumber(row.amountMinor),
  currency: (row) => row.currency,
  status: (row) => (row.isActive ? 'active' : 'inactive'),
  uses: (row) => Number(row.uses),
  created_at: (row) => row.createdAt,
}

function linksPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const create =
    call.may('payment_links:write') && html`<a class="button primary" href="${here}/links/new">New link</a>`
  return listPage<PaymentLink>(call, {
    pageTitle: 'Links & checkout',
    nav: 'links',
    title: 'Payment links',
    read: (query) => listPaymentLinks(gateway.db, place.account.id, query),
    filters: FILTERS,
    exports: Object.keys(EXPORTED),
    actions: html`${create}${call.may('payments:write') && html`<a class="button" href="${here}/checkout/new">Checkout for one buyer</a>`}${call.may('payment_links:write') && html`<a class="button" href="${here}/points-of-sale">Points of sale</a>`}`,
    columns: [
      {
        label: 'Label',
        isNarrow: true,
        sort: 'label',
        cell: (row) => html`<a href="${here}/links/${showId('plink', row.id)}">${row.label}</a>`,
      },
      {
        label: 'Price',
        name: 'price',
        sort: 'amount',
        isFigure: true,
        cell: (row) => fiat(row.amountMinor, row.currency),
      },
      {
        label: 'Status',
        name: 'status',
        sort: 'status',
        cell: (row) => badge(row.isActive ? 'active' : 'inactive'),
      },
      { label: 'Opened', name: 'opened', sort: 'uses', isFigure: true, cell: (row) => count(row.uses) },
      createdColumn(call, 'Created', { isMinor: true }),
      copyColumn('Id', 'id', 'the id', (row) => showId('plink', row.id)),
    ],
    emptyPart: empty(
      'No link yet',
      'A link is a price with a page of its own: print its code, put it on a page, send it to anybody.',
      create,
    ),
  })
}

const newLinkPage = async (call: PlaceCall): Promise<Sheet> => ({
  title: 'New link',
  nav: 'links',
  width: 'narrow',
  trail: [['Payment links', `${call.here}/links`]],
  content: html`<h1>New payment link</h1>${formProblem(call)}<form method="post" action="${call.here}/links">${field(call, { name: 'label', label: 'What is paid for', required: true, maxlength: 255, isFocused: true, hint: 'Buyers read it.' })}<div class="pair">${field(call, { name: 'amount', label: 'Price', required: true, inputmode: 'decimal' })}${select(call, { name: 'currency', label: 'Currency', choices: FIAT_CHOICES, value: call.place.account.currency })}</div>${submit('Create the link', 'primary', `${call.here}/links`)}</form>`,
})

function readPriceOf(call: PlaceCall) {
  const currency = call.form.get('currency')
  if (!isFiat(currency)) throw invalidField('currency', 'invalid_currency', 'choose a currency')
  const price = { fiatMinor: readTypedPrice('amount', call.form.get('amount'), currency), currency }
  requireFiatAmount(call.gateway.settings, price, 'amount')
  return price
}

/** @throws {Refusal} `not_found`. */
async function linkOf(call: PlaceCall): Promise<PaymentLink> {
  const id = readId('plink', call.params.id ?? '')
  const link = id && (await findPaymentLink(call.gateway.db, call.place.account.id, id))
  if (!link) throw notFound('payment_link_not_found', 'there is no such payment link in this account')
  return link
}

async function linkPage(call: PlaceCall): Promise<Sheet> {
  const link = await linkOf(call)
  const url = paymentLinkUrl(call.gateway, link.id)
  const embed = `<a href="${url}">${link.label.replace(/[<&"]/g, (sign) => `&#${sign.charCodeAt(0)};`)}</a>`
  const path = `${call.here}/links/${showId('plink', link.id)}`
  return {
    title: link.label,
    nav: 'links',
    trail: [['Payment links', `${call.here}/links`]],
    content: html`<header class="head"><h1>${link.label} ${badge(link.isActive ? 'active' : 'inactive')}</h1>${call.may('payment_links:write') && button(path, link.isActive ? 'Disable' : 'Enable', { fields: { active: link.isActive ? 'no' : 'yes' }, tone: link.isActive ? 'danger' : 'primary' })}</header>${formProblem(call)}<div class="columns">${card(
      'Link',
      html`${facts([
        ['Price', fiat(link.amountMinor, link.currency)],
        ['Opened', count(link.uses)],
        ['Address', html`<a href="${url}">${url}</a>`],
        ['Id', copyable(showId('plink', link.id), 'Copy the id')],
        ['Created', time(link.createdAt, call.place.membership.timeZone)],
      ])}<p>${copyable(url, 'Copy the address')}</p>`,
    )}${card('To print', html`<div class="qr-box">${drawQr(url, `QR code of the payment link ${link.label}`)}</div>`)}${card('For your page', html`<pre tabindex="0" aria-label="HTML"><code>${embed}</code></pre><p><button type="button" class="copy" data-copy="${embed}" hidden>Copy the HTML</button></p>`)}</div>`,
  }
}

/** A mail in the merchant's own program, with the page's address in it. The `@` stands as it is (RFC 6068, 2). */
const mailTo = (email: string, subject: string, url: string): string =>
  `mailto:${email.split('@').map(encodeURIComponent).join('@')}?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(url)}`

const newSessionPage = async (call: PlaceCall): Promise<Sheet> => ({
  title: 'Checkout for one buyer',
  nav: 'links',
  width: 'narrow',
  trail: [['Payment links', `${call.here}/links`]],
  content: html`<h1>Checkout for one buyer</h1><p class="lead">A page for one order, to send by mail. The buyer picks the coin there.</p>${formProblem(call)}<form method="post" action="${call.here}/checkout">${field(call, { name: 'label', label: 'What is paid for', maxlength: 255, isFocused: true })}<div class="pair">${field(call, { name: 'amount', label: 'Price', inputmode: 'decimal', hint: 'Empty: the buyer is asked.' })}${select(call, { name: 'currency', label: 'Currency', choices: FIAT_CHOICES, value: call.place.account.currency })}</div>${field(call, { name: 'reference', label: 'Reference', maxlength: 255 })}${field(call, { name: 'email', label: 'Buyer’s email', type: 'email', maxlength: 254 })}${submit('Create the page', 'primary', `${call.here}/links`)}</form>`,
})

export const linkRows: readonly DashboardRow[] = [
  placeRow('payment_links:read', 'GET /:account/links', { handle: linksPage }),
  exportRow('links', 'payment_links:read', { columns: EXPORTED, filters: FILTERS, read: exportPaymentLinks }),
  placeRow('payment_links:write', 'GET /:account/links/new', { handle: newLinkPage }),
  placeRow('payment_links:write', 'POST /:account/links', {
    async handle(call) {
      const label = call.form.get('label')
      if (label.length < 1 || label.length > 255)
        throw invalidField('label', 'invalid_label', 'a label has 1 to 255 characters')
      const price = readPriceOf(call)
      const link = await change(call, async (tx, record) => {
        await requireOpenAccount(tx, call.place.account.id)
        const made = await insertPaymentLink(tx, {
          accountId: call.place.account.id,
          label,
          amountMinor: price.fiatMinor,
          currency: price.currency,
        })
        const after = { label, amount_minor: String(price.fiatMinor), currency: price.currency }
        record({ action: 'payment_link.create', subject: showId('plink', made.id), after })
        return made
      })
      return { to: `${call.here}/links/${showId('plink', link.id)}`, done: 'saved' }
    },
    redraw: newLinkPage,
  }),
  placeRow('payment_links:read', 'GET /:account/links/:id', { handle: linkPage }),
  placeRow('payment_links:write', 'POST /:account/links/:id', {
    async handle(call) {
      const { id } = await linkOf(call)
      const isActive = call.form.get('active') === 'yes'
      const subject = showId('plink', id)
      await change(call, async (tx, record) => {
        const link = await setPaymentLinkActive(tx, call.place.account.id, id, isActive)
        record({
          action: 'payment_link.change',
          subject,
          before: { is_active: link?.wasActive },
          after: { is_active: isActive },
        })
      })
      return { to: `${call.here}/links/${subject}`, done: isActive ? 'link-enabled' : 'link-disabled' }
    },
    redraw: linkPage,
  }),
  placeRow('payments:write', 'GET /:account/checkout/new', { handle: newSessionPage }),
  placeRow('payments:write', 'POST /:account/checkout', {
    async handle(call) {
      const { form, gateway, place } = call
      const currency = form.get('currency')
      const email = form.get('email')
      if (email && !isEmail(email)) throw invalidField('email', 'invalid_email', 'expected an email address')
      const session = await change(call, async (tx, record) => {
        const made = await createSession(gateway, tx, place.account, {
          amountMinor: form.get('amount') ? readPriceOf(call).fiatMinor : null,
          currency: isFiat(currency) ? currency : null,
          label: form.get('label').slice(0, 255) || null,
          reference: form.get('reference').slice(0, 255) || null,
          customerEmail: email || null,
          successUrl: null,
          cancelUrl: null,
          offeredAssets: null,
        })
        record({ action: 'checkout_session.create', subject: showId('cs', made.id) })
        return made
      })
      const url = checkoutUrl(gateway, session.id)
      return {
        title: 'Checkout',
        nav: 'links',
        width: 'narrow',
        content: html`<h1>Send this to the buyer</h1><div class="secret">${copyable(url, 'Copy the address')}</div><div class="qr-box">${drawQr(url, 'QR code of the checkout')}</div><p class="hint">It is open for 24 hours.</p><div class="actions">${email && html`<a class="button primary" href="${mailTo(email, form.get('label') || place.account.name, url)}">Write the mail</a>`}<a class="button" href="${url}">Open it</a><a class="button" href="${call.here}/links">Done</a></div>`,
      }
    },
    redraw: newSessionPage,
  }),
]
