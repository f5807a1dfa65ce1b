/** Payments: found by whatever one has of them, and exported exactly as they are filtered. */
import { ASSETS, isAsset, isFiat, networkOf } from '../../../core/assets.ts'
import { isEmail } from '../../../core/email.ts'
import { invalidField } from '../../../core/errors.ts'
import { showId } from '../../../core/ids.ts'
import { fiatToNumber } from '../../../core/money.ts'
import { createPayment } from '../../../flows/payments/create-payment.ts'
import {
  type ExportedPayment,
  exportPayments,
  listPaymentsInFull,
} from '../../../payments/list-payments.sql.ts'
import { PAYMENT_STATUSES } from '../../../payments/payment.ts'
import { html } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { type ExportColumns, exportRow } from '../export.ts'
import { listPage } from '../list.ts'
import { copyColumn, createdColumn } from '../list-columns.ts'
import { choiceOf, type Filter } from '../list-query.ts'
import {
  ASSET_CHOICES,
  type Column,
  coinsColumn,
  empty,
  FIAT_CHOICES,
  field,
  formProblem,
  select,
  submit,
} from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { readTypedPrice } from '../typed-price.ts'
import { badge, decimal, fiat, time } from '../words.ts'

const FILTERS: readonly Filter[] = [
  choiceOf('filter_status', 'Status', PAYMENT_STATUSES),
  choiceOf('filter_asset', 'Coin', ASSETS),
  { name: 'filter_email', label: 'Email', kind: 'text' },
  { name: 'filter_reference', label: 'Reference, in full', kind: 'text' },
  { name: 'filter_id', label: 'Payment id', kind: 'text' },
  { name: 'total_min', label: 'Net, at least', kind: 'number' },
  { name: 'total_max', label: 'Net, at most', kind: 'number' },
]
const ALL_FILTERS: readonly Filter[] = [...FILTERS, { name: 'held', label: 'Holds funds', kind: 'text' }]

function paymentsPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  return listPage<ExportedPayment>(call, {
    nav: 'payments',
    title: 'Payments',
    read: (query) => listPaymentsInFull(gateway.db, place.account.id, query),
    asked: ALL_FILTERS,
    tabs: [
      ['All', ''],
      ['Completed', 'filter_status=completed'],
      ['Pending', 'filter_status=pending'],
      ['Underpaid', 'filter_status=underpaid'],
      ['Overpaid', 'filter_status=overpaid'],
      ['Expired', 'filter_status=expired'],
    ],
    filters: FILTERS,
    exports: Object.keys(EXPORTED),
    actions:
      call.may('sandbox:write') &&
      place.account.mode === 'test' &&
      html`<a class="button primary" href="${here}/payments/new">New test payment</a>`,
    columns: [
      {
        label: 'Net',
        sort: 'total',
        isFigure: true,
        cell: (row) =>
          html`<a href="${here}/payments/${showId('pay', row.id)}">${fiat(row.netMinor, row.fiatCurrency)}</a>`,
      },
      { label: 'Status', name: 'status', sort: 'status', cell: (row) => badge(row.status) },
      { label: 'Coin', name: 'coin', sort: 'asset', cell: (row) => row.asset },
      { label: 'Reference', name: 'reference', isNarrow: true, cell: (row) => row.reference },
      copyColumn('Id', 'id', 'the id', (row) => showId('pay', row.id), { isMinor: true }),
      createdColumn(call),
      ...extraColumns(place.membership.timeZone),
    ],
    emptyPart: empty(
      'No payment yet',
      'Payments show here as soon as your server, a link or a checkout makes one.',
      place.account.mode === 'test' &&
        call.may('sandbox:write') &&
        html`<a class="button primary" href="${here}/payments/new">Make a test payment</a>`,
    ),
  })
}

/** For who asks for them. */
const extraColumns = (zone: string): readonly Column<ExportedPayment>[] => {
  const columns: readonly Column<ExportedPayment>[] = [
    { label: 'Price', name: 'price', isFigure: true, cell: (row) => fiat(row.fiatMinor, row.fiatCurrency) },
    { label: 'Fee', name: 'fee', isFigure: true, cell: (row) => fiat(row.feeMinor, row.fiatCurrency) },
    coinsColumn('Asked', (row) => row.dueAtoms, { name: 'asked' }),
    { label: 'Email', name: 'email', cell: (row) => row.customerEmail },
    copyColumn('Address', 'address', 'the address', (row) => row.address),
    { label: 'Completed', name: 'completed', cell: (row) => time(row.completedAt, zone) },
  ]
  return columns.map((column) => ({ ...column, isExtra: true }))
}

const EXPORTED: ExportColumns<ExportedPayment> = {
  id: (row) => showId('pay', row.id),
  status: (row) => row.status,
  asset: (row) => row.asset,
  network: (row) => networkOf(row.asset),
  fiat_amount: (row) => fiatToNumber(row.fiatMinor),
  fee_fiat: (row) => fiatToNumber(row.feeMinor),
  net_fiat: (row) => fiatToNumber(row.netMinor),
  fiat_currency: (row) => row.fiatCurrency,
  expected_amount: (row) => decimal(row.dueAtoms, row.asset),
  credited_amount: (row) => (row.creditedAtoms === null ? null : decimal(row.creditedAtoms, row.asset)),
  address: (row) => row.address,
  reference: (row) => row.reference,
  customer_email: (row) => row.customerEmail,
  created_at: (row) => row.createdAt,
  completed_at: (row) => row.completedAt,
}

const newPage = async (call: PlaceCall): Promise<Sheet> => ({
  title: 'New test payment',
  nav: 'payments',
  width: 'narrow',
  trail: [['Payments', `${call.here}/payments`]],
  content: html`<h1>New test payment</h1><p class="lead">Made as your server would make it. On the next page you pay it, on a simulated chain.</p>${formProblem(call)}
<form method="post" action="${call.here}/payments/new"><div class="pair">${field(call, { name: 'fiat_amount', label: 'Amount', value: '49.99', required: true, inputmode: 'decimal', isFocused: true })}${select(call, { name: 'currency', label: 'Currency', choices: FIAT_CHOICES, value: call.place.account.currency })}${select(call, { name: 'asset', label: 'Coin', choices: ASSET_CHOICES, value: 'LTC' })}</div>
${field(call, { name: 'reference', label: 'Reference', maxlength: 255, value: 'order-1001', hint: 'Your own, echoed back everywhere.' })}
${field(call, { name: 'email', label: 'Customer’s email', type: 'email', maxlength: 254, hint: 'May stay empty.' })}
${submit('Create the payment', 'primary', `${call.here}/payments`)}</form>`,
})

export const paymentRows: readonly DashboardRow[] = [
  placeRow('payments:read', 'GET /:account/payments', { handle: paymentsPage }),
  exportRow('payments', 'payments:read', { columns: EXPORTED, filters: ALL_FILTERS, read: exportPayments }),
  placeRow('sandbox:write', 'GET /:account/payments/new', { testOnly: true, handle: newPage }),
  placeRow('sandbox:write', 'POST /:account/payments/new', {
    testOnly: true,
    async handle(call) {
      const { form, gateway, place } = call
      const asset = form.get('asset')
      const currency = form.get('currency')
      if (!isAsset(asset) || !isFiat(currency))
        throw invalidField('asset', 'invalid_asset', 'choose a coin and a currency')
      const email = form.get('email')
      if (email && !isEmail(email)) throw invalidField('email', 'invalid_email', 'expected an email address')
      const payment = await change(call, async (tx, record) => {
        const made = await createPayment(gateway, tx, place.account, {
          asset,
          fiatMinor: readTypedPrice('fiat_amount', form.get('fiat_amount'), currency),
          fiatCurrency: currency,
          reference: form.get('reference').slice(0, 255) || null,
          customerEmail: email || null,
          metadata: null,
        })
        record({ action: 'payment.create', subject: showId('pay', made.id) })
        return made
      })
      gateway.wake('deliver')
      return { to: `${call.here}/payments/${showId('pay', payment.id)}` }
    },
    redraw: newPage,
  }),
]
