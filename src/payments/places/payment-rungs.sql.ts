/** Where a payment stands among those of its account, and what changed of it since it was counted. */
import type { Bind } from '../../db/list-filters.ts'

/** By which columns rungs stand, by the sort's name in the contract. */
export const RUNG_SORTS = { total: ['net_minor', 'created_at', 'id'], id: ['id'] } as const
export type RungSort = keyof typeof RUNG_SORTS

/** Where a row stands, to be compared. @param alias - Of payments, of changes or of rungs. */
export const keyOf = (sort: RungSort, alias: string): string =>
  `(${RUNG_SORTS[sort].map((column) => `${alias}.${column}`).join(', ')})`

/** A rung's columns, as they are where its sort does not tell them; all of them, the rung that everything stands behind. */
const LEAST = {
  net_minor: '0::bigint',
  created_at: `'-infinity'::timestamptz`,
  id: `'00000000-0000-0000-0000-000000000000'::uuid`,
} as const
export const FIRST_RUNG = Object.values(LEAST).join(', ')

/** The columns that a rung has when it begins with this row. */
export const rungAt = (sort: RungSort, alias: string): string =>
  Object.entries(LEAST)
    .map(([column, least]) =>
      RUNG_SORTS[sort].some((each) => each === column) ? `${alias}.${column}` : least,
    )
    .join(', ')

/** Each change of a payment that was counted, as what it takes away and what it adds. `p` has its columns, and `n`. */
export const CHANGES = `select c.account_id, c.payment_id as id, c.created_at, c.asset, c.old_status as status,
    c.old_net_minor as net_minor, -1::bigint as n from payment_changes c
  union all select c.account_id, c.payment_id, c.created_at, c.asset, c.new_status, c.new_net_minor, 1 from payment_changes c`

/** What is new, and what changed of what was counted: `p`, with how many times it counts more than before. */
export const DIFFERENCES = `(select account_id, id, created_at, asset, status, net_minor, 1::bigint as n from payments
    where account_id = $1 and created_at >= $2::timestamptz and created_at < $3::timestamptz
  union all select account_id, id, created_at, asset, status, net_minor, n from (${CHANGES}) c
    where account_id = $1 and created_at < $2::timestamptz) p`

export interface Rung {
  readonly net_minor: bigint | string
  readonly created_at: string
  readonly id: string
}
const TYPES = { net_minor: 'bigint', created_at: 'timestamptz', id: 'uuid' } as const

/** Where a rung stands, to be compared with {@link keyOf}. */
export const keyOfRung = (sort: RungSort, rung: Rung, bind: Bind): string =>
  `(${RUNG_SORTS[sort].map((column) => bind(rung[column], TYPES[column])).join(', ')})`

/** A {@link Rung}. Bigints are text: JSON would make floats of them. */
export const rungOf = (netMinor: string, createdAt: string, id: string): string =>
  `json_build_object('net_minor', ${netMinor}::text, 'created_at', ${createdAt}, 'id', ${id})`
