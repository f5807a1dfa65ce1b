/**
 * Points of sale: keypad pages for phones behind counters. An id is what lets somebody sell there and see the last sales, so
 * whoever reads one needs the scope of who makes one, and the audit log names a point by its name.
 *
 * @see docs/decisions/0042-point-of-sale.md
 */
import { requireOpenAccount } from '../../accounts/closing.sql.ts'
import {
  findPointOfSale,
  insertPointOfSale,
  listPointsOfSale,
  POINTS_LISTED_MAX,
  type PointOfSale as PointOfSaleRow,
  revokePointOfSale,
} from '../../checkout/points-of-sale.sql.ts'
import { FIAT_CURRENCIES } from '../../core/assets.ts'
import { notFound, type Refusal } from '../../core/errors.ts'
import { type PointOfSaleId, readId, showId } from '../../core/ids.ts'
import { pointOfSaleUrl } from '../../flows/checkout/page-urls.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { type Route, read, write } from '../route.ts'
import { FiatName, Fields, Id, OneOf, PathId, Timestamp } from '../schemas.ts'
import { Type } from '../type.ts'

const PointOfSale = Fields(
  {
    id: Id('pos'),
    name: Type.String({ description: 'stands above the keypad' }),
    currency: FiatName,
    url: Type.String({ description: 'to be opened on the phone behind the counter' }),
    is_active: Type.Boolean({ description: 'whether it sells' }),
    created_at: Timestamp(),
  },
  { title: 'PointOfSale' },
)

const showPoint = (gateway: Pick<Gateway, 'settings'>, row: PointOfSaleRow) => ({
  id: showId('pos', row.id),
  name: row.name,
  currency: row.currency,
  url: pointOfSaleUrl(gateway, row.id),
  is_active: row.revokedAt === null,
  created_at: row.createdAt.toISOString(),
})

const EXAMPLE = {
  id: 'pos_5q8mz0x3v7c1t9rj2w4k6n8p0b',
  name: 'Counter 1',
  currency: 'EUR' as const,
  url: 'https://pay.example.com/pos/pos_5q8mz0x3v7c1t9rj2w4k6n8p0b',
  is_active: true,
  created_at: '2026-02-03T10:15:00.000Z',
}

const row = { scope: 'payment_links:write', ours: true } as const
const NOT_FOUND = { 404: ['point_of_sale_not_found'] } as const

const pointId = (text: string): PointOfSaleId => {
  const id = readId('pos', text)
  if (!id) throw pointNotFound()
  return id
}

const pointNotFound = (): Refusal =>
  notFound('point_of_sale_not_found', 'there is no such point of sale in this account')

export const pointsOfSale: readonly Route[] = [
  write('POST /points-of-sale', {
    ...row,
    summary: 'Create a point of sale',
    description:
      'Whoever has its `url` can ask for prices in your name and see the last twenty sales made there; it moves no money.',
    body: Fields({
      name: Type.String({ minLength: 1, maxLength: 100, description: 'stands above the keypad' }),
      currency: Type.Optional(OneOf(FIAT_CURRENCIES, { default: 'USD' })),
    }),
    status: 201,
    data: PointOfSale,
    refusals: { 403: ['account_closed'] },
    example: { body: { name: EXAMPLE.name, currency: 'EUR' }, data: EXAMPLE },
    async write({ gateway, tx, account, body, record }) {
      const draft = { accountId: account.id, name: body.name, currency: body.currency ?? 'USD' }
      await requireOpenAccount(tx, account.id)
      const made = await insertPointOfSale(tx, draft)
      const { name, currency } = made
      record({ action: 'point_of_sale.create', subject: name, after: { name, currency } })
      return showPoint(gateway, made)
    },
  }),
  read('GET /points-of-sale', {
    ...row,
    summary: 'List points of sale',
    description: `The newest first, ${POINTS_LISTED_MAX} at most, those that are disabled last.`,
    data: Type.Array(PointOfSale, { maxItems: POINTS_LISTED_MAX }),
    example: { data: [EXAMPLE] },
    async read({ gateway, db, account }) {
      return (await listPointsOfSale(db, account.id)).map((point) => showPoint(gateway, point))
    },
  }),
  read('GET /points-of-sale/:id', {
    ...row,
    summary: 'Retrieve a point of sale',
    params: PathId('pos'),
    data: PointOfSale,
    refusals: NOT_FOUND,
    example: { data: EXAMPLE },
    async read({ gateway, db, account, params }) {
      const point = await findPointOfSale(db, account.id, pointId(params.id))
      if (!point) throw pointNotFound()
      return showPoint(gateway, point)
    },
  }),
  write('POST /points-of-sale/:id/disable', {
    ...row,
    summary: 'Disable a point of sale',
    description: 'For good, as when its phone was lost. What was sold there is paid and shown as before.',
    params: PathId('pos'),
    data: PointOfSale,
    refusals: NOT_FOUND,
    example: { data: { ...EXAMPLE, is_active: false } },
    async write({ gateway, tx, account, params, record }) {
      const point = await revokePointOfSale(tx, account.id, pointId(params.id))
      if (!point) throw pointNotFound()
      record({ action: 'point_of_sale.revoke', subject: point.name })
      return showPoint(gateway, point)
    },
  }),
]
