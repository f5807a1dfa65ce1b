/** Customers: made by the emails that payments name, or by people, who name them too. */
import { isEmail } from '../../../core/email.ts'
import { invalidField, notFound } from '../../../core/errors.ts'
import { readId, showId } from '../../../core/ids.ts'
import { fiatToNumber } from '../../../core/money.ts'
import { findCustomerId, renameCustomer, upsertCustomer } from '../../../payments/customers.sql.ts'
import {
  type Customer,
  exportCustomers,
  findCustomer,
  listCustomersForPeople,
  listRecentPayments,
} from '../../../payments/list-customers.sql.ts'
import { html } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { type ExportColumns, exportRow } from '../export.ts'
import { listPage } from '../list.ts'
import { copyColumn, createdColumn } from '../list-columns.ts'
import type { Filter } from '../list-query.ts'
import { noteRows, notesCard } from '../notes.ts'
import { card, copyable, empty, facts, field, formProblem, submit, table } from '../parts.ts'
import { type DashboardRow, type Move, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { badge, count, fiat, time } from '../words.ts'

const FILTERS: readonly Filter[] = [
  { name: 'filter_email', label: 'Email', kind: 'text' },
  { name: 'filter_name', label: 'Name', kind: 'text' },
  { name: 'order_count_min', label: 'Orders, at least', kind: 'number' },
  { name: 'total_spent_min', label: 'Spent, at least', kind: 'number' },
]

const EXPORTED: ExportColumns<Customer> = {
  id: (row) => showId('cus', row.id),
  email: (row) => row.email,
  name: (row) => row.name,
  order_count: (row) => row.orderCount,
  total_spent: (row) => fiatToNumber(row.totalSpentMinor),
  currency: (_row, account) => account.currency,
  created_at: (row) => row.createdAt,
}

function customersPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  return listPage<Customer>(call, {
    nav: 'customers',
    title: 'Customers',
    read: (query) => listCustomersForPeople(gateway.db, place.account.id, query),
    filters: FILTERS,
    exports: Object.keys(EXPORTED),
    actions:
      call.may('customers:write') &&
      html`<a class="button primary" href="${here}/customers/new">Add a customer</a>`,
    columns: [
      {
        label: 'Email',
        sort: 'email',
        cell: (row) => html`<a href="${here}/customers/${showId('cus', row.id)}">${row.email}</a>`,
      },
      { label: 'Name', name: 'name', isNarrow: true, cell: (row) => row.name },
      {
        label: 'Orders',
        name: 'orders',
        sort: 'order_count',
        isFigure: true,
        cell: (row) => count(row.orderCount),
      },
      {
        label: 'Spent, net',
        name: 'spent',
        sort: 'total_spent',
        isFigure: true,
        cell: (row) => fiat(row.totalSpentMinor, place.account.currency),
      },
      createdColumn(call, 'First seen', { isMinor: true }),
      copyColumn('Id', 'id', 'the id', (row) => showId('cus', row.id)),
    ],
    emptyPart: empty(
      'No customer yet',
      'A customer is kept the first time an email pays, or when your server names one.',
    ),
  })
}

const newPage = async (call: PlaceCall): Promise<Sheet> => ({
  title: 'Add a customer',
  nav: 'customers',
  width: 'narrow',
  trail: [['Customers', `${call.here}/customers`]],
  content: html`<h1>Add a customer</h1>${formProblem(call)}<form method="post" action="${call.here}/customers/new">${field(call, { name: 'email', label: 'Email', type: 'email', required: true, maxlength: 254, isFocused: true, hint: 'Payments that name it are counted here.' })}${field(call, { name: 'name', label: 'Name', maxlength: 255 })}${submit('Add the customer', 'primary', `${call.here}/customers`)}</form>`,
})

/** One who is there already is led to, and keeps the name that he has. */
async function addCustomer(call: PlaceCall): Promise<Move> {
  const { gateway, place, form, here } = call
  const email = form.get('email')
  if (!isEmail(email))
    throw invalidField('email', 'invalid_email', 'expected an email address of at most 254 characters')
  const known = await findCustomerId(gateway.db, place.account.id, email)
  if (known) return { to: `${here}/customers/${showId('cus', known)}`, done: 'customer-known' }
  const name = form.get('name').slice(0, 255) || null
  const id = await change(call, async (tx, record) => {
    const made = await upsertCustomer(tx, place.account.id, email)
    if (name !== null) await renameCustomer(tx, place.account.id, made, name)
    record({ action: 'customer.create', subject: showId('cus', made), after: { email, name } })
    return made
  })
  return { to: `${here}/customers/${showId('cus', id)}`, done: 'customer-added' }
}

/** @throws {Refusal} `not_found`. */
async function customerOf(call: PlaceCall) {
  const id = readId('cus', call.params.id ?? '')
  const customer = id && (await findCustomer(call.gateway.db, call.place.account.id, id))
  if (!customer) throw notFound('customer_not_found', 'there is no such customer')
  return customer
}

async function customerPage(call: PlaceCall): Promise<Sheet> {
  const customer = await customerOf(call)
  const { gateway, place, here } = call
  const payments = await listRecentPayments(gateway.db, place.account.id, customer.id)
  const zone = place.membership.timeZone
  return {
    title: customer.email,
    nav: 'customers',
    trail: [['Customers', `${here}/customers`]],
    content: html`<h1>${customer.name ?? customer.email}</h1>${formProblem(call)}<div class="columns main"><div>${card(
      'Latest payments',
      payments.length > 0
        ? table(
            'Payments of this customer',
            [
              {
                label: 'Net',
                isFigure: true,
                cell: (row) =>
                  html`<a href="${here}/payments/${showId('pay', row.id)}">${fiat(row.netMinor, row.fiatCurrency)}</a>`,
              },
              { label: 'Status', cell: (row) => badge(row.status) },
              { label: 'Coin', cell: (row) => row.asset },
              { label: 'Created', cell: (row) => time(row.createdAt, zone) },
            ],
            payments,
          )
        : html`<p class="hint">None yet.</p>`,
      html`<a href="${here}/payments?filter_email=${encodeURIComponent(customer.email)}">All of them</a>`,
    )}</div><div>${card(
      'Customer',
      facts([
        ['Email', copyable(customer.email, 'Copy the email')],
        ['Id', copyable(showId('cus', customer.id), 'Copy the id')],
        ['Orders', count(customer.orderCount)],
        ['Spent, net', fiat(customer.totalSpentMinor, place.account.currency)],
        ['First seen', time(customer.createdAt, zone)],
      ]),
    )}${call.may('customers:write') && card('Name', html`<form method="post" action="${here}/customers/${showId('cus', customer.id)}">${field(call, { name: 'name', label: 'Name', value: customer.name ?? '', maxlength: 255 })}${submit('Save')}</form>`)}${await notesCard(call, { kind: 'customer', id: customer.id }, `${here}/customers/${showId('cus', customer.id)}`, call.may('customers:write'))}</div></div>`,
  }
}

export const customerRows: readonly DashboardRow[] = [
  ...noteRows('customers:write', '/:account/customers/:id', {
    subjectOf: async (call) => ({ kind: 'customer', id: (await customerOf(call)).id }),
    draw: customerPage,
  }),
  placeRow('customers:read', 'GET /:account/customers', { handle: customersPage }),
  exportRow('customers', 'customers:read', { columns: EXPORTED, filters: FILTERS, read: exportCustomers }),
  placeRow('customers:write', 'GET /:account/customers/new', { handle: newPage }),
  placeRow('customers:write', 'POST /:account/customers/new', { handle: addCustomer, redraw: newPage }),
  placeRow('customers:read', 'GET /:account/customers/:id', { handle: customerPage }),
  placeRow('customers:write', 'POST /:account/customers/:id', {
    async handle(call) {
      const customer = await customerOf(call)
      const name = call.form.get('name').slice(0, 255) || null
      const subject = showId('cus', customer.id)
      await change(call, async (tx, record) => {
        await renameCustomer(tx, call.place.account.id, customer.id, name)
        record({ action: 'customer.rename', subject, before: { name: customer.name }, after: { name } })
      })
      return { to: `${call.here}/customers/${subject}`, done: 'customer-saved' }
    },
    redraw: customerPage,
  }),
]
