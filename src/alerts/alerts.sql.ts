/**
 * What the operator must look at. One alert per subject: saying it again changes nothing. An acknowledged one opens again
 * when something else is said of its subject.
 */
import { type AccountId, newRowId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { COUNTED_MAX, type Page, wholeListOf } from '../db/list.ts'
import { exactId, exactText, type ListQuery, oneOf } from '../db/list-filters.ts'
import { anyRow, countRows } from '../db/rows.ts'

export interface Alert {
  /** snake_case, stable: monitoring may switch on it. */
  readonly kind: string
  readonly accountId: AccountId | null
  readonly subject: string
  readonly message: string
}

export interface RaisedAlert extends Alert {
  /** A UUID. */
  readonly id: string
  readonly createdAt: Date
  /** Null while nobody has said that he has seen it. */
  readonly acknowledged: { readonly at: Date; readonly by: string } | null
}

/** Raised, or opened again where the condition holds that comes behind it. */
const RAISED = `
  insert into alerts (id, kind, account_id, subject, message) values ($1, $2, $3, $4, $5)
  on conflict (kind, subject) do update set message = excluded.message, created_at = now(), acknowledged_at = null,
    acknowledged_by = null, told_at = null`

export async function raiseAlert(db: Queryable, alert: Alert): Promise<void> {
  await db.query(
    `${RAISED}
     where alerts.acknowledged_at is not null and alerts.message <> excluded.message`,
    [newRowId(), alert.kind, alert.accountId, alert.subject, alert.message],
  )
}

/**
 * Raises the alert of what happened once. Others who say the same meanwhile wait until this transaction ends.
 *
 * @param since - One that was raised before this is of something else that bore the same name; null where that is not known.
 * @returns Whether nobody had said it: who did has done, in the transaction of the alert, what has to be done once.
 */
export const raiseAlertOnce = (tx: Tx, alert: Alert, since: Date | null): Promise<boolean> =>
  anyRow(
    tx,
    `${RAISED}
     where $6::timestamptz is null or alerts.created_at < $6`,
    [newRowId(), alert.kind, alert.accountId, alert.subject, alert.message, since],
  )

interface AlertRow extends Omit<RaisedAlert, 'acknowledged'> {
  readonly at: Date | null
  readonly by: string | null
}

const COLUMNS = `id, kind, account_id as "accountId", subject, message, created_at as "createdAt", acknowledged_at as at,
  acknowledged_by as by`

const fromRow = ({ at, by, ...alert }: AlertRow): RaisedAlert => ({
  ...alert,
  acknowledged: at === null || by === null ? null : { at, by },
})

/** The newest first. @param of.all - Those too that somebody has acknowledged. */
export async function listAlerts(
  db: Queryable,
  of: { readonly all: boolean; readonly limit: number },
): Promise<RaisedAlert[]> {
  const { rows } = await db.query<AlertRow>(
    `select ${COLUMNS} from alerts ${of.all ? '' : 'where acknowledged_at is null'}
     order by created_at desc, id desc limit $1`,
    [of.limit],
  )
  return rows.map(fromRow)
}

/** What the list shows: those that nobody acknowledged, unless it is asked for others. */
const STATES = {
  open: 'acknowledged_at is null',
  acknowledged: 'acknowledged_at is not null',
  all: 'true',
}

const readPage = wholeListOf(
  {
    from: 'alerts',
    columns: COLUMNS,
    account: null,
    id: 'id',
    sorts: { created_at: 'created_at' },
    filters: {
      filter_state: oneOf(STATES),
      filter_kind: exactText('kind'),
      filter_subject: exactText('subject'),
      filter_account: exactId('acct', 'account_id'),
    },
    countedMax: COUNTED_MAX,
  },
  fromRow,
)

/** A page of alerts, the open ones unless `filter_state` says otherwise. @throws {Refusal} `invalid` for a wrong query. */
export const readAlerts = (db: Queryable, query: ListQuery): Promise<Page<RaisedAlert>> =>
  readPage(db, { ...query, filter_state: query.filter_state ?? 'open' })

/**
 * Notes that somebody has seen alerts; who did so first stays.
 *
 * @param ids - UUIDs; null for all that are open.
 * @param by - Who: a person or `command line`.
 * @returns Those that this call acknowledged.
 */
export async function acknowledgeAlerts(
  db: Queryable,
  ids: readonly string[] | null,
  by: string,
): Promise<RaisedAlert[]> {
  const { rows } = await db.query<AlertRow>(
    `update alerts set acknowledged_at = now(), acknowledged_by = $2
     where acknowledged_at is null and ($1::uuid[] is null or id = any($1)) returning ${COLUMNS}`,
    [ids, by],
  )
  return rows.map(fromRow)
}

/** Removes alerts that somebody acknowledged long ago. What still is so is raised anew. @returns How many. */
export const pruneAlerts = (db: Queryable, days: number, limit: number): Promise<number> =>
  countRows(
    db,
    `delete from alerts where id in (select id from alerts
       where acknowledged_at < now() - make_interval(days => $1) limit $2)`,
    [days, limit],
  )
