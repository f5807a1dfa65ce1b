/** Payment links: a fixed price that anybody may open. */
import type { Fiat } from '../core/assets.ts'
import { type AccountId, newPublicId, type PaymentLinkId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { listOf } from '../db/list.ts'
import { activity, exactId, fiatBound, substring } from '../db/list-filters.ts'
import { firstRow, oneRow } from '../db/rows.ts'

export interface PaymentLink {
  readonly accountId: AccountId
  readonly id: PaymentLinkId
  readonly label: string
  readonly amountMinor: bigint
  readonly currency: Fiat
  /** How often it was opened. */
  readonly uses: bigint
  readonly isActive: boolean
  readonly createdAt: Date
}

const COLUMNS = `l.account_id as "accountId", l.id, l.label, l.amount_minor as "amountMinor", l.currency, l.uses,
  l.is_active as "isActive", l.created_at as "createdAt"`

export const PAYMENT_LINK_SORTS = ['id', 'label', 'amount', 'uses', 'status', 'created_at'] as const

export const { page: listPaymentLinks, batches: exportPaymentLinks } = listOf<PaymentLink>({
  from: 'payment_links l',
  columns: COLUMNS,
  account: 'l.account_id',
  id: 'l.id',
  sorts: {
    id: 'l.id',
    label: 'l.label',
    amount: 'l.amount_minor',
    uses: 'l.uses',
    status: 'l.is_active',
    created_at: 'l.created_at',
  } satisfies Record<(typeof PAYMENT_LINK_SORTS)[number], string>,
  filters: {
    filter_id: exactId('plink', 'l.id'),
    filter_label: substring('l.label'),
    filter_status: activity('l.is_active'),
    amount_min: fiatBound('l.amount_minor', '>='),
    amount_max: fiatBound('l.amount_minor', '<='),
  },
})

export const insertPaymentLink = (
  tx: Tx,
  draft: Pick<PaymentLink, 'accountId' | 'label' | 'amountMinor' | 'currency'>,
): Promise<PaymentLink> =>
  oneRow(
    tx,
    `insert into payment_links as l (account_id, id, label, amount_minor, currency) values ($1, $2, $3, $4, $5)
     returning ${COLUMNS}`,
    [draft.accountId, newPublicId('plink'), draft.label, draft.amountMinor, draft.currency],
  )

/** Enables or disables a link, which is locked, and says how it was; null when the account has no such link. */
export const setPaymentLinkActive = (
  tx: Tx,
  accountId: AccountId,
  id: PaymentLinkId,
  isActive: boolean,
): Promise<(PaymentLink & { readonly wasActive: boolean }) | null> =>
  firstRow(
    tx,
    `update payment_links l set is_active = $3
     from (select is_active from payment_links where account_id = $1 and id = $2 for update) was
     where l.account_id = $1 and l.id = $2 returning ${COLUMNS}, was.is_active as "wasActive"`,
    [accountId, id, isActive],
  )

export const findPaymentLink = (
  db: Queryable,
  accountId: AccountId,
  id: PaymentLinkId,
): Promise<PaymentLink | null> =>
  firstRow(db, `select ${COLUMNS} from payment_links l where account_id = $1 and id = $2`, [accountId, id])

/** For a visitor, who brings the id alone. */
export const findLinkForVisitor = (db: Queryable, id: PaymentLinkId): Promise<PaymentLink | null> =>
  firstRow(db, `select ${COLUMNS} from payment_links l where id = $1`, [id])

/** Counts a use of an active link. Null when it was disabled meanwhile. */
export const countPaymentLinkUse = (tx: Tx, link: PaymentLink): Promise<PaymentLink | null> =>
  firstRow(
    tx,
    `update payment_links l set uses = uses + 1 where account_id = $1 and id = $2 and is_active returning ${COLUMNS}`,
    [link.accountId, link.id],
  )
