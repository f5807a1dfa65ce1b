/** Who has to be told of what: acts and alerts that nobody was told of yet, and to whom they matter. */
import type { AccountId, UserId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { allRows } from '../../db/rows.ts'

/** Older ones are history: whoever connects a mail server is not told of last year. */
const TOLD_WITHIN = "interval '1 day'"

export interface UntoldAct {
  readonly id: string
  readonly at: Date
  readonly action: string
  readonly actorKind: string
  readonly actorId: string | null
  readonly actorName: string | null
  readonly address: string | null
  readonly accountId: AccountId | null
  /** What was acted on, as a public id. */
  readonly subject: string | null
  readonly after: Readonly<Record<string, unknown>> | null
  readonly isLive: boolean
  readonly merchant: string | null
}

/**
 * The next acts of the chain that somebody is told of, and that this transaction tells. Locks how far the telling got, so
 * that two workers take turns.
 */
export async function takeUntoldActs(
  tx: Tx,
  actions: readonly string[],
  limit: number,
): Promise<UntoldAct[]> {
  const { rows: told } = await tx.query<{ place: bigint; newest: bigint }>(
    `select place, (select coalesce(max(place), 0) from audit_log) as newest from told_acts for update`,
  )
  const from = told[0]?.place ?? 0n
  const newest = told[0]?.newest ?? 0n
  if (newest <= from) return []
  const { rows } = await tx.query<UntoldAct & { place: bigint }>(
    `select a.id, a.at, a.action, a.actor_kind as "actorKind", a.actor_id as "actorId", a.actor_name as "actorName",
       a.address, a.account_id as "accountId", a.subject, a.after, coalesce(x.mode = 'live', false) as "isLive", m.name as merchant, a.place
     from audit_log a
     left join accounts x on x.id = a.account_id
     left join merchants m on a.account_id in (m.live_account_id, m.test_account_id)
     where a.place > $1 and a.place <= $2 and a.action = any($3::text[]) and a.at > now() - ${TOLD_WITHIN}
     order by a.place limit $4`,
    [from, newest, actions, limit],
  )
  await tx.query('update told_acts set place = $1', [
    rows.length < limit ? newest : (rows.at(-1)?.place ?? newest),
  ])
  return rows
}

/** A person, and the owners of every team that he belongs to. */
export async function emailsAround(tx: Tx, userId: UserId): Promise<string[]> {
  const { rows } = await tx.query<{ email: string }>(
    `select u.email from users u where u.disabled_at is null and (u.id = $1 or exists (
       select from members o join members his on his.merchant_id = o.merchant_id and his.user_id = $1
       where o.user_id = u.id and o.role = 'owner')) order by u.email`,
    [userId],
  )
  return rows.map(({ email }) => email)
}

export interface UntoldAlert {
  readonly kind: string
  readonly message: string
}

/**
 * Open alerts that no mail told of yet. An alert that opened again is told again. What it tells of may have been raised after
 * the transaction began: told at that moment, it would seem to be untold.
 */
export const takeUntoldAlerts = (tx: Tx): Promise<UntoldAlert[]> =>
  allRows(
    tx,
    `update alerts set told_at = clock_timestamp()
     where acknowledged_at is null and (told_at is null or told_at < created_at) and created_at > now() - ${TOLD_WITHIN}
     returning kind, message`,
  )

export async function emailsOfOperators(tx: Tx): Promise<string[]> {
  const { rows } = await tx.query<{ email: string }>(
    'select email from users where is_operator and disabled_at is null order by email',
  )
  return rows.map(({ email }) => email)
}
