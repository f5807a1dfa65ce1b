/** Points of sale: keypad pages for phones behind counters, made and switched off here. Who may see a link may sell by it. */
import { requireOpenAccount } from '../../../accounts/closing.sql.ts'
import {
  findPointOfSale,
  insertPointOfSale,
  POINT_STATES,
  type PointOfSale,
  readPointsOfSale,
  revokePointOfSale,
} from '../../../checkout/points-of-sale.sql.ts'
import { isFiat } from '../../../core/assets.ts'
import { conflict, invalidField, notFound } from '../../../core/errors.ts'
import { readId, showId } from '../../../core/ids.ts'
import { pointOfSaleUrl } from '../../../flows/checkout/page-urls.ts'
import { html } from '../../hosted/html.ts'
import { drawQr } from '../../hosted/qr.ts'
import { change } from '../change.ts'
import { listPage } from '../list.ts'
import { createdColumn } from '../list-columns.ts'
import { choiceOf, type Filter } from '../list-query.ts'
import {
  button,
  type Column,
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
import { badge, time } from '../words.ts'

const LINKS = 'Payment links'

const pathOf = (call: PlaceCall, { id }: PointOfSale): string =>
  `${call.here}/points-of-sale/${showId('pos', id)}`

const columnsOf = (call: PlaceCall): readonly Column<PointOfSale>[] => [
  { label: 'Name', sort: 'name', cell: (row) => html`<a href="${pathOf(call, row)}">${row.name}</a>` },
  { label: 'Currency', name: 'currency', cell: (row) => row.currency },
  { label: 'Status', name: 'status', cell: (row) => badge(row.revokedAt ? 'inactive' : 'active') },
  createdColumn(call),
]

const FILTERS: readonly Filter[] = [
  { name: 'filter_name', label: 'Name', kind: 'text' },
  choiceOf('filter_status', 'Status', POINT_STATES),
]

function pointsPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  return listPage<PointOfSale>(call, {
    nav: 'links',
    trail: [[LINKS, `${here}/links`]],
    title: 'Points of sale',
    read: (query) => readPointsOfSale(gateway.db, place.account.id, query),
    lead: html`<p class="lead">A keypad for a phone behind a counter: type the amount, show the code, read “Paid” across the counter.</p>${formProblem(call)}`,
    filters: FILTERS,
    tabs: [
      ['All', ''],
      ['Active', 'filter_status=active'],
    ],
    columns: columnsOf(call),
    emptyPart: empty(
      'No point of sale yet',
      'Make one, and open its link on the phone that stands behind the counter.',
    ),
    below: card(
      'A new one',
      html`<form method="post" action="${here}/points-of-sale"><div class="pair">${field(call, { name: 'name', label: 'Name', required: true, maxlength: 100, hint: 'Stands above the keypad.' })}${select(call, { name: 'currency', label: 'Currency', choices: FIAT_CHOICES, value: place.account.currency })}</div>${submit('Make a point of sale', 'primary', `${here}/points-of-sale`)}</form>`,
    ),
  })
}

/** @throws {Refusal} `not_found`. */
async function pointOf(call: PlaceCall): Promise<PointOfSale> {
  const id = readId('pos', call.params.id ?? '')
  const point = id && (await findPointOfSale(call.gateway.db, call.place.account.id, id))
  if (!point) throw notFound('point_of_sale_not_found', 'there is no such point of sale in this account')
  return point
}

async function pointPage(call: PlaceCall): Promise<Sheet> {
  const point = await pointOf(call)
  const url = pointOfSaleUrl(call.gateway, point.id)
  const state = facts([
    ['Status', badge(point.revokedAt ? 'inactive' : 'active')],
    ['Currency', point.currency],
    ['Created', time(point.createdAt, call.place.membership.timeZone)],
    ['Switched off', point.revokedAt && time(point.revokedAt, call.place.membership.timeZone)],
  ])
  return {
    title: point.name,
    nav: 'links',
    trail: [
      [LINKS, `${call.here}/links`],
      ['Points of sale', `${call.here}/points-of-sale`],
    ],
    content: html`<header class="head"><h1>${point.name}</h1>${point.revokedAt === null && button(`${pathOf(call, point)}/revoke`, 'Switch off', { tone: 'danger' })}</header>${formProblem(call)}<div class="columns">${card('Counter', state)}${
      point.revokedAt === null &&
      card(
        'Its link',
        html`<p>Open it on the phone behind the counter, and add it to the home screen. Whoever has it can ask for prices in your name and see the last twenty sales made there; it moves no money. Lost the phone? Switch it off here.</p><div class="qr-box">${drawQr(url, `QR code of the point of sale ${point.name}`)}</div><p>${copyable(url, 'Copy the link')}</p>`,
      )
    }</div>`,
  }
}

export const pointOfSaleRows: readonly DashboardRow[] = [
  placeRow('payment_links:write', 'GET /:account/points-of-sale', { handle: pointsPage }),
  placeRow('payment_links:write', 'POST /:account/points-of-sale', {
    async handle(call) {
      const name = call.form.get('name').trim()
      if (name.length < 1 || name.length > 100)
        throw invalidField('name', 'invalid_name', 'a name has 1 to 100 characters')
      const currency = call.form.get('currency')
      if (!isFiat(currency)) throw invalidField('currency', 'invalid_currency', 'choose a currency')
      const point = await change(call, async (tx, record) => {
        await requireOpenAccount(tx, call.place.account.id)
        const made = await insertPointOfSale(tx, { accountId: call.place.account.id, name, currency })
        // Its id lets people in: the log names it otherwise.
        record({ action: 'point_of_sale.create', subject: name, after: { name, currency } })
        return made
      })
      return { to: pathOf(call, point), done: 'saved' }
    },
    redraw: pointsPage,
  }),
  placeRow('payment_links:write', 'GET /:account/points-of-sale/:id', { handle: pointPage }),
  placeRow('payment_links:write', 'POST /:account/points-of-sale/:id/revoke', {
    async handle(call) {
      const { id, name } = await pointOf(call)
      await change(call, async (tx, record) => {
        if (!(await revokePointOfSale(tx, call.place.account.id, id)))
          throw conflict('point_of_sale_revoked', 'it was switched off already')
        record({ action: 'point_of_sale.revoke', subject: name })
      })
      return { to: `${call.here}/points-of-sale`, done: 'saved' }
    },
    redraw: pointPage,
  }),
]
