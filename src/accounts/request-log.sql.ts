/** What keys asked of the API: path, status, time, never a body. */
import { type AccountId, type ApiKeyId, newRowId, readId } from '../core/ids.ts'
import type { Queryable } from '../db/database.ts'
import { COUNTED_MAX, listOf } from '../db/list.ts'
import { exactId, exactText, type Filter, instantBound, substring } from '../db/list-filters.ts'
import { countRows } from '../db/rows.ts'

export const REQUEST_LOG_DAYS = 7

export interface LoggedRequest {
  readonly accountId: AccountId
  readonly keyId: ApiKeyId
  readonly at: Date
  /** `req_…`. */
  readonly requestId: string
  readonly method: string
  /** With its query, at most 500 characters. */
  readonly path: string
  readonly status: number
  readonly durationMs: number
  readonly reason: string | null
  readonly address: string
}

/** All in one statement. */
export async function insertRequests(db: Queryable, requests: readonly LoggedRequest[]): Promise<void> {
  await db.query(
    `insert into api_requests (account_id, id, at, key_id, request_id, method, path, status, duration_ms, reason, address)
     select * from unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::uuid[], $5::text[], $6::text[], $7::text[],
       $8::smallint[], $9::integer[], $10::text[], $11::text[])`,
    [
      requests.map(({ accountId }) => accountId),
      requests.map(() => newRowId()),
      requests.map(({ at }) => at),
      requests.map(({ keyId }) => keyId),
      requests.map(({ requestId }) => requestId),
      requests.map(({ method }) => method),
      requests.map(({ path }) => path),
      requests.map(({ status }) => status),
      requests.map(({ durationMs }) => durationMs),
      requests.map(({ reason }) => reason),
      requests.map(({ address }) => address),
    ],
  )
}

export const REQUEST_OUTCOMES = ['answered', 'refused', 'failed'] as const

/** `answered` is 2xx and 3xx, `refused` 4xx, `failed` 5xx. In figures, by which an index of what was not answered is chosen. */
const outcome: Filter = (given) =>
  given === 'answered'
    ? 'r.status between 200 and 399'
    : given === 'refused'
      ? 'r.status between 400 and 499'
      : 'r.status between 500 and 599'

/**
 * A whole id of a payment is looked up by the first that a path names, on an index of the few rows that name one; `POST /payments`
 * names none and writes nothing there. Any other text is looked for in every row of the seven days: where it is rare, a second for
 * a million rows, and milliseconds where the dates leave few. An index of trigrams would find it, and have each logged call
 * write five times the log of PostgreSQL (190 MB for 100,000 rows, not 36) and keep three times the bytes.
 */
const path: Filter = (given, bind, query, name) =>
  readId('pay', String(given)) === null
    ? substring('r.path')(given, bind, query, name)
    : `substring(r.path from 'pay_[0-9a-z]{26}') = ${bind(given, 'text')}`

export const { page: listRequests, batches: exportRequests } = listOf<LoggedRequest>({
  from: 'api_requests r',
  columns: `r.account_id as "accountId", r.key_id as "keyId", r.at, r.request_id as "requestId", r.method, r.path, r.status,
    r.duration_ms as "durationMs", r.reason, r.address`,
  account: 'r.account_id',
  id: 'r.id',
  // Ids grow with time, so the primary key gives the order.
  sorts: { created_at: 'r.id' },
  filters: {
    filter_outcome: outcome,
    filter_method: exactText('r.method'),
    filter_path: path,
    filter_request: exactText('r.request_id'),
    filter_key: exactId('key', 'r.key_id'),
    start_date: instantBound('r.at', '>='),
    end_date: instantBound('r.at', '<'),
  },
  // Somebody busy has millions; nobody pages through them.
  countedMax: COUNTED_MAX,
})

/** Forgets what is older than seven days, the oldest first. @returns How many, at most `limit`. */
export const pruneRequests = (db: Queryable, limit: number): Promise<number> =>
  countRows(
    db,
    `delete from api_requests where ctid = any(array(select ctid from api_requests
       where at < now() - ${REQUEST_LOG_DAYS} * interval '1 day' order by at limit $1))`,
    [limit],
  )
