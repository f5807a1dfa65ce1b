/** Merchants and who belongs to them. */
import type { Mode } from '../core/assets.ts'
import { type AccountId, type MerchantId, newId, readId, type UserId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { wholeListOf } from '../db/list.ts'
import { exactId, substring } from '../db/list-filters.ts'
import { allRows, anyRow, firstRow, oneRow } from '../db/rows.ts'
import type { Role } from './permissions.ts'

export interface Merchant {
  readonly id: MerchantId
  readonly name: string
  readonly liveAccountId: AccountId | null
  readonly testAccountId: AccountId | null
  /** What one refund by support may be worth, in hundredths of the payment's currency. */
  readonly refundBoundMinor: bigint
  readonly timeZone: string
  readonly createdAt: Date
}

const COLUMNS = `m.id, m.name, m.live_account_id as "liveAccountId", m.test_account_id as "testAccountId",
  m.refund_bound_minor as "refundBoundMinor", m.time_zone as "timeZone", m.created_at as "createdAt"`

export const insertMerchant = (
  tx: Tx,
  draft: { readonly name: string; readonly mode: Mode; readonly accountId: AccountId },
): Promise<Merchant> =>
  oneRow(
    tx,
    `insert into merchants as m (id, name, ${draft.mode}_account_id) values ($1, $2, $3) returning ${COLUMNS}`,
    [newId('mer'), draft.name, draft.accountId],
  )

export const findMerchant = (db: Queryable, id: MerchantId): Promise<Merchant | null> =>
  firstRow(db, `select ${COLUMNS} from merchants m where m.id = $1`, [id])

export const findMerchantOfAccount = (db: Queryable, id: AccountId): Promise<Merchant | null> =>
  firstRow(db, `select ${COLUMNS} from merchants m where $1 in (m.live_account_id, m.test_account_id)`, [id])

export interface ListedMerchant extends Merchant {
  readonly members: number
}

/** All merchants; for the operator only. */
export const listMerchants = wholeListOf<ListedMerchant>({
  from: 'merchants m',
  columns: `${COLUMNS}, (select count(*)::int from members x where x.merchant_id = m.id) as members`,
  account: null,
  id: 'm.id',
  sorts: { created_at: 'm.created_at', name: 'm.name' },
  filters: {
    filter_name: substring('m.name'),
    filter_id: exactId('mer', 'm.id'),
    filter_account(given, bind) {
      const id = readId('acct', String(given))
      return id === null ? 'false' : `${bind(id, 'uuid')} in (m.live_account_id, m.test_account_id)`
    },
  },
})

/** Locks the row of a person's merchant, so that changes of its team and accounts take turns. */
export const lockMerchant = (tx: Tx, id: MerchantId): Promise<Merchant> =>
  oneRow(tx, `select ${COLUMNS} from merchants m where m.id = $1 for update`, [id])

export async function setMerchantAccount(
  tx: Tx,
  id: MerchantId,
  mode: Mode,
  accountId: AccountId,
): Promise<void> {
  await tx.query(`update merchants set ${mode}_account_id = $2 where id = $1`, [id, accountId])
}

export async function setMerchantBusiness(
  tx: Tx,
  id: MerchantId,
  business: Pick<Merchant, 'name' | 'refundBoundMinor' | 'timeZone'>,
): Promise<void> {
  await tx.query('update merchants set name = $2, refund_bound_minor = $3, time_zone = $4 where id = $1', [
    id,
    business.name,
    business.refundBoundMinor,
    business.timeZone,
  ])
}

/** Whether the database counts days by it too: it has a list of zones of its own. */
export const knowsTimeZone = (db: Queryable, zone: string): Promise<boolean> =>
  anyRow(db, 'select from pg_timezone_names where lower(name) = lower($1) limit 1', [zone])

export interface Member {
  readonly userId: UserId
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly hasFactor: boolean
  readonly isDisabled: boolean
  readonly seenAt: Date | null
  readonly createdAt: Date
}

export const listMembers = (db: Queryable, id: MerchantId): Promise<Member[]> =>
  allRows(
    db,
    `select u.id as "userId", u.email, u.name, x.role, u.disabled_at is not null as "isDisabled",
       exists (select from passkeys p where p.user_id = u.id)
         or exists (select from totp t where t.user_id = u.id and t.confirmed_at is not null) as "hasFactor",
       (select max(s.seen_at) from sessions s where s.user_id = u.id) as "seenAt", x.created_at as "createdAt"
     from members x join users u on u.id = x.user_id where x.merchant_id = $1 order by x.created_at, u.id`,
    [id],
  )

/** Gives a person a role, instead of the one he has. */
export async function putMember(tx: Tx, id: MerchantId, userId: UserId, role: Role): Promise<void> {
  await tx.query(
    `insert into members (merchant_id, user_id, role) values ($1, $2, $3)
     on conflict (merchant_id, user_id) do update set role = excluded.role`,
    [id, userId, role],
  )
}

export async function deleteMember(tx: Tx, id: MerchantId, userId: UserId): Promise<void> {
  await tx.query('delete from members where merchant_id = $1 and user_id = $2', [id, userId])
}

/** How many merchants a person belongs to. */
export async function countMemberships(db: Queryable, userId: UserId): Promise<number> {
  const { rows } = await db.query<{ teams: number }>(
    'select count(*)::int as teams from members where user_id = $1',
    [userId],
  )
  return rows[0]?.teams ?? 0
}
