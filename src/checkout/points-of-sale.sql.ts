/** Points of sale: a keypad page behind a counter. Whoever has its link may ask for prices there, until it is revoked. */
import type { Asset, Fiat } from '../core/assets.ts'
import { type AccountId, newPublicId, type PointOfSaleId, type SessionId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { listOf } from '../db/list.ts'
import { oneOf, substring } from '../db/list-filters.ts'
import { allRows, firstRow, oneRow } from '../db/rows.ts'
import { paysForSql } from '../deposits/received.ts'
import type { StatusOfPayment } from './session.ts'

export interface PointOfSale {
  readonly accountId: AccountId
  readonly id: PointOfSaleId
  readonly name: string
  readonly currency: Fiat
  readonly createdAt: Date
  readonly revokedAt: Date | null
}

const COLUMNS = `account_id as "accountId", id, name, currency, created_at as "createdAt", revoked_at as "revokedAt"`

export const insertPointOfSale = (
  tx: Tx,
  draft: Pick<PointOfSale, 'accountId' | 'name' | 'currency'>,
): Promise<PointOfSale> =>
  oneRow(
    tx,
    `insert into points_of_sale (account_id, id, name, currency) values ($1, $2, $3, $4) returning ${COLUMNS}`,
    [draft.accountId, newPublicId('pos'), draft.name, draft.currency],
  )

export const POINTS_LISTED_MAX = 200

/** Those of the account, the newest first; what was revoked comes last. */
export const listPointsOfSale = (db: Queryable, accountId: AccountId): Promise<PointOfSale[]> =>
  allRows(
    db,
    `select ${COLUMNS} from points_of_sale where account_id = $1
     order by revoked_at is not null, created_at desc limit ${POINTS_LISTED_MAX}`,
    [accountId],
  )

export const POINT_STATES = ['active', 'inactive'] as const

/** The account's, those that are switched off included. */
export const { page: readPointsOfSale } = listOf<PointOfSale>({
  from: 'points_of_sale s',
  columns: COLUMNS,
  account: 's.account_id',
  id: 's.id',
  sorts: { created_at: 's.created_at', name: 's.name' },
  filters: {
    filter_name: substring('s.name'),
    filter_status: oneOf({
      active: 's.revoked_at is null',
      inactive: 's.revoked_at is not null',
    } satisfies Record<(typeof POINT_STATES)[number], string>),
  },
})

export const findPointOfSale = (
  db: Queryable,
  accountId: AccountId,
  id: PointOfSaleId,
): Promise<PointOfSale | null> =>
  firstRow(db, `select ${COLUMNS} from points_of_sale where account_id = $1 and id = $2`, [accountId, id])

/** For whoever stands behind the counter, and brings the id alone. */
export const findPointForSeller = (db: Queryable, id: PointOfSaleId): Promise<PointOfSale | null> =>
  firstRow(db, `select ${COLUMNS} from points_of_sale where id = $1`, [id])

/** The same, kept from being revoked until the transaction ends: what it sells was sold before. */
export const holdPointOfSale = (tx: Tx, id: PointOfSaleId): Promise<PointOfSale | null> =>
  firstRow(tx, `select ${COLUMNS} from points_of_sale where id = $1 for share`, [id])

/** @returns Null when the account has none that was not revoked. */
export const revokePointOfSale = (
  tx: Tx,
  accountId: AccountId,
  id: PointOfSaleId,
): Promise<PointOfSale | null> =>
  firstRow(
    tx,
    `update points_of_sale set revoked_at = now()
     where account_id = $1 and id = $2 and revoked_at is null returning ${COLUMNS}`,
    [accountId, id],
  )

export interface Sale {
  readonly sessionId: SessionId
  readonly amountMinor: bigint
  readonly currency: Fiat
  readonly label: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly cancelledAt: Date | null
  /** Of the coin picked last; null while none was. */
  readonly asset: Asset | null
  readonly status: StatusOfPayment | null
  /** It is over, and coins that came for it wait for support. */
  readonly isHeld: boolean
}

/**
 * What was last asked for at a point of sale, the newest first: by the index on it, each payment by its key, and the coins of those
 * that are over by the index on deposits.
 */
export const listSales = (db: Queryable, id: PointOfSaleId, limit: number): Promise<Sale[]> =>
  allRows(
    db,
    `select s.id as "sessionId", s.amount_minor as "amountMinor", s.currency, s.label, s.created_at as "createdAt",
       s.expires_at as "expiresAt", s.cancelled_at as "cancelledAt", p.asset, p.status,
       p.status in ('expired', 'failed', 'cancelled') and exists (select from deposits d
         where d.account_id = p.account_id and d.payment_id = p.id and ${paysForSql('d', 'p')}
           and (not d.booked or exists (select from unresolved_funds u where u.account_id = p.account_id
             and u.payment_id = p.id and u.asset = p.asset and u.atoms > 0))) as "isHeld"
     from checkout_sessions s left join payments p on p.account_id = s.account_id and p.id = s.payment_id
     where s.point_of_sale_id = $1 order by s.created_at desc limit $2`,
    [id, limit],
  )
