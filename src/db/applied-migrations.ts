/** What ran on a database, as its own table says, beside what this Beck knows. */
import { conflict } from '../core/errors.ts'
import { isOlder, VERSION } from '../core/version.ts'
import type { Queryable } from './database.ts'
import { allRows } from './rows.ts'

export interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

export interface Applied extends Pick<Migration, 'name' | 'checksum'> {
  /** The oldest Beck that may run on a database with it; null for all of them. */
  readonly needsVersion: string | null
}

export async function hasTable(db: Queryable, name: string): Promise<boolean> {
  const { rows } = await db.query<{ there: boolean }>('select to_regclass($1) is not null as there', [name])
  return rows[0]?.there === true
}

/** Reads a table from before it had `needs_version`, too: its migrations differ, and its owner is told so. */
export const listApplied = (db: Queryable): Promise<Applied[]> =>
  allRows(
    db,
    `select name, checksum, to_jsonb(m) ->> 'needs_version' as "needsVersion" from schema_migrations m order by name`,
  )

/** Whether a migration ran that is not among these. */
export async function ranBeyond(db: Queryable, known: readonly Migration[]): Promise<boolean> {
  const names = new Set(known.map(({ name }) => name))
  return (await listApplied(db)).some(({ name }) => !names.has(name))
}

/**
 * The oldest version that may run beside a migration, as its first line says: `-- Contract: 0.3.0 and newer run beside
 * this.` Null for a migration that only expands, which every older one may.
 */
export const versionNeeded = ({ sql }: Pick<Migration, 'sql'>): string | null =>
  /^-- Contract: (\d+\.\d+\.\d+) and newer run beside this\.\n/.exec(sql)?.[1] ?? null

/** A file that is released is never edited: only a database from before a release, or from a changed copy, differs. */
export function refuseEdited({ name, checksum }: Migration, applied: readonly Applied[]): void {
  const ran = applied.find((each) => each.name === name)
  if (!ran || ran.checksum === checksum) return
  throw conflict(
    'database_differs',
    `this database was made by another version of Beck (its ${name} was a different one), and Beck leaves it as it is. ` +
      'If it only holds trials, begin with an empty one: set BECK_DATA_DIR to a new folder, or DATABASE_URL to an empty database. ' +
      'If it holds real money, start the version that made it',
  )
}

/** What a newer Beck only added is no trouble; where it took something away, this one must be new enough. */
export function refuseNewer(applied: readonly Applied[], known: readonly Migration[]): void {
  const names = new Set(known.map(({ name }) => name))
  const inTheWay = applied.filter(
    ({ name, needsVersion }) => !names.has(name) && needsVersion !== null && isOlder(VERSION, needsVersion),
  )
  if (inTheWay.length === 0) return
  const needed = inTheWay.map(({ name, needsVersion }) => `${name} needs ${needsVersion}`).join(', ')
  throw conflict(
    'database_is_newer',
    `the database was brought up to date by a newer Beck (${needed}, this is ${VERSION}); start that one, or a later one`,
  )
}
