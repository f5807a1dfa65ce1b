/** The last known rate of each UTC day: what past balances are valued at. */
import type { Asset, Fiat, Mode } from '../core/assets.ts'
import { type Ratio, ratio } from '../core/ratio.ts'
import type { Queryable } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'
import type { Rate } from './rates.ts'

/** Keeps the rates as the latest of their days, unless later ones of the same days are there. */
export async function recordDailyRates(db: Queryable, mode: Mode, rates: readonly Rate[]): Promise<void> {
  if (rates.length === 0) return
  const rows = rates.map(({ ratio, ...rate }) => ({ ...rate, ...ratio }))
  await db.query(
    `insert into daily_rates as r (mode, day, asset, fiat, numerator, denominator, source, at)
     select $1, (g.at at time zone 'utc')::date, g.asset, g.fiat, g.numerator, g.denominator, g.source, g.at
     from unnest($2::text[], $3::text[], $4::numeric[], $5::numeric[], $6::text[], $7::timestamptz[])
       as g (asset, fiat, numerator, denominator, source, at)
     on conflict (mode, day, asset, fiat) do update
       set numerator = excluded.numerator, denominator = excluded.denominator, source = excluded.source, at = excluded.at
       where r.at < excluded.at`,
    [mode, ...arraysOf(rows, 'asset', 'fiat', 'numerator', 'denominator', 'source', 'at')],
  )
}

export interface DailyRate {
  readonly mode: Mode
  readonly asset: Asset
  readonly fiat: Fiat
  readonly ratio: Ratio
}

/**
 * The last rates known when a day ended: the day's own, or the nearest earlier day's within a month.
 *
 * @param day - `YYYY-MM-DD`, UTC.
 */
export async function listClosingRates(db: Queryable, day: string): Promise<DailyRate[]> {
  const { rows } = await db.query<Omit<DailyRate, 'ratio'> & Ratio>(
    `select distinct on (mode, asset, fiat) mode, asset, fiat, numerator, denominator from daily_rates
     where day between $1::date - 30 and $1::date order by mode, asset, fiat, day desc`,
    [day],
  )
  return rows.map(({ numerator, denominator, ...rate }) => ({
    ...rate,
    ratio: ratio(numerator, denominator),
  }))
}
