/** The counter of time's arrow in its row (time-arrow.ts). */
import type { Queryable } from './database.ts'
import { anyRow, firstRow } from './rows.ts'
import type { Arrow, Moment } from './time-arrow.ts'

const TIMELINE = 'substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)'
const COLUMNS = `history, era, tick, ${TIMELINE} as timeline, timelines, stopped, made_safe as "isMadeSafe",
  statement_timestamp() as at`

/**
 * Advances the counter, which begins anew with another history where it is gone. Notes where it stood when it is met on a
 * timeline first. Locks its row until it commits.
 */
export async function advanceArrow(db: Queryable): Promise<Arrow> {
  const { rows } = await db.query<Arrow>(
    `insert into time_arrow (timelines) values (jsonb_build_object(${TIMELINE}, 0)) on conflict (singleton) do update
     set tick = time_arrow.tick + 1,
       timelines = jsonb_build_object(${TIMELINE}, time_arrow.tick) || time_arrow.timelines
     returning ${COLUMNS}`,
    [],
    'prepared',
  )
  return rows[0] as Arrow
}

export const readArrow = (db: Queryable): Promise<Arrow | null> =>
  firstRow(db, `select ${COLUMNS} from time_arrow`, [], 'prepared')

/**
 * Nothing moves from here on, for any process, for the reason that was given first. Unless the operator let it go on since it was
 * seen: an era above the one that is remembered has been looked at.
 */
export async function stopMoving(db: Queryable, reason: string, remembered: Moment | null): Promise<void> {
  await db.query(
    `update time_arrow set stopped = coalesce(stopped, $1),
       remembered_era = greatest(remembered_era, era, $2::integer)
     where era <= $2::integer and (stopped is null or remembered_era < $2::integer)`,
    [reason, remembered?.era ?? 1],
  )
}

export async function markMadeSafe(db: Queryable): Promise<void> {
  await db.query('update time_arrow set made_safe = true where stopped is not null')
}

/**
 * Time goes forward again, in an era above every one that anybody remembers.
 *
 * @returns False when nothing was stopped, or what has to be done first is not done yet; then nothing changes.
 */
export const beginEra = (db: Queryable): Promise<boolean> =>
  anyRow(
    db,
    `update time_arrow set era = greatest(era, remembered_era) + 1, stopped = null, made_safe = false where made_safe`,
  )

/**
 * After a restore that was said: whatever anybody remembers is of an era before.
 *
 * @param rememberedEra - The greatest that is known to be remembered.
 */
export async function beginEraAfter(db: Queryable, rememberedEra: number): Promise<void> {
  await db.query(
    `insert into time_arrow (era) values (greatest(1, $1::integer) + 1) on conflict (singleton) do update
     set era = greatest(time_arrow.era, time_arrow.remembered_era, $1::integer) + 1, stopped = null, made_safe = false`,
    [rememberedEra],
  )
}
