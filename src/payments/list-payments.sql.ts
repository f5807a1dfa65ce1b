import { ASSETS } from '../core/assets.ts'
import type { AccountId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import { type AccountList, COUNTED_MAX, type ListDescription, listOf } from '../db/list.ts'
import {
  exactId,
  exactText,
  type Filter,
  fiatBound,
  isOrIsNot,
  type ListQuery,
  operator,
  substring,
} from '../db/list-filters.ts'
import { PAYMENT_STATUSES, type Payment } from './payment.ts'
import { PAYMENT_PLACES } from './places/list-places.sql.ts'

/** What a list shows of a payment. */
export type ListedPayment = Pick<
  Payment,
  'id' | 'status' | 'asset' | 'netMinor' | 'fiatCurrency' | 'reference' | 'createdAt'
>

export const PAYMENT_SORTS = ['id', 'total', 'asset', 'status', 'created_at'] as const

/**
 * Looks through the customers, who are fewer than their payments: one that pays again is one row. A payment's email is
 * its customer's in every respect but case, which this filter does not see.
 */
const customerEmail: Filter = (...given) =>
  `p.customer_id in (select c.id from customers c where c.account_id = $1::uuid and ${substring('c.email')(...given)})`

/**
 * While payments are walked from the newest on, their own email spares looking their customers up. `coalesce` hides it
 * from the planner, which would else count the same condition twice and take the filter for rarer than it is.
 */
const ownEmail: Filter = (...given) => `coalesce(${substring('p.customer_email')(...given)}, false)`

const PAYMENTS: ListDescription = {
  from: 'payments p',
  columns: `p.id, p.status, p.asset, p.net_minor as "netMinor", p.fiat_currency as "fiatCurrency", p.reference,
    p.created_at as "createdAt"`,
  account: 'p.account_id',
  id: 'p.id',
  sorts: {
    id: 'p.id',
    total: 'p.net_minor',
    asset: 'p.asset',
    status: 'p.status',
    created_at: 'p.created_at',
  } satisfies Record<(typeof PAYMENT_SORTS)[number], string>,
  filters: {
    filter_id: exactId('pay', 'p.id'),
    filter_email: customerEmail,
    filter_reference: exactText('p.reference'),
    filter_asset: isOrIsNot('p.asset', ASSETS, 'filter_asset_op'),
    filter_asset_op: operator,
    filter_status: isOrIsNot('p.status', PAYMENT_STATUSES, 'filter_status_op'),
    filter_status_op: operator,
    total_min: fiatBound('p.net_minor', '>='),
    total_max: fiatBound('p.net_minor', '<='),
    held: () =>
      'p.id in (select u.payment_id from unresolved_funds u where u.account_id = $1::uuid and u.atoms > 0)',
  },
  hints: { filter_email: ownEmail },
  counters: {
    from: 'payment_counts p',
    count: 'p.payments',
    filters: ['filter_asset', 'filter_asset_op', 'filter_status', 'filter_status_op'],
  },
  places: PAYMENT_PLACES,
}

export const listPayments = pagesOf(listOf<ListedPayment>(PAYMENTS))

function pagesOf<Item>({ page }: AccountList<Item>): typeof page {
  return async (db, accountId, query) => page(db, accountId, await withoutEmptyGroups(db, accountId, query))
}

/**
 * Sorted by what one word tells, the rows of a word stand together, and an index walks through all of them where another
 * filter matches none: millions of completed payments before the first cancelled one of a coin. So those words are asked
 * for that the counters know payments of; the matches stay the same.
 */
async function withoutEmptyGroups(db: Queryable, accountId: AccountId, query: ListQuery): Promise<ListQuery> {
  const [group, other, words] =
    query.sort === 'status'
      ? (['status', 'asset', PAYMENT_STATUSES] as const)
      : query.sort === 'asset'
        ? (['asset', 'status', ASSETS] as const)
        : []
  const given = other && query[`filter_${other}`]
  if (!given || query[`filter_${group}`] !== undefined || query[`filter_${other}_op`] === 'is_not')
    return query
  const { rows } = await db.query<{ word: string }>(
    `select distinct ${group} as word from payment_counts
     where account_id = $1 and ${other} = any($2::text[]) and payments > 0`,
    [accountId, String(given).split(',')],
  )
  const present = rows.map(({ word }) => word)
  // None is there, or all of them: then nothing is walked in vain.
  return present.length % words.length === 0
    ? query
    : // An operator that was given without words says nothing of these.
      { ...query, [`filter_${group}`]: present.join(','), [`filter_${group}_op`]: 'is' }
}

/** What an export tells of a payment. */
export type ExportedPayment = ListedPayment &
  Pick<
    Payment,
    'fiatMinor' | 'feeMinor' | 'dueAtoms' | 'creditedAtoms' | 'address' | 'customerEmail' | 'completedAt'
  >

const IN_FULL = listOf<ExportedPayment>({
  ...PAYMENTS,
  columns: `${PAYMENTS.columns}, p.fiat_minor as "fiatMinor", p.fee_minor as "feeMinor", p.due_atoms as "dueAtoms",
    p.credited_atoms as "creditedAtoms", p.address, p.customer_email as "customerEmail", p.completed_at as "completedAt"`,
  countedMax: COUNTED_MAX,
})

/**
 * Pages with all that an export tells, for people who choose their columns; how many a filter finds is counted as far as
 * they want to know.
 */
export const listPaymentsInFull = pagesOf(IN_FULL)

export const exportPayments = IN_FULL.batches
