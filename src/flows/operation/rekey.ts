/**
 * Another BECK_SECRET_KEY, while Beck runs: everything that the old one sealed and authenticated is made anew with the new
 * one. Running it again goes on where it was cut off, for what is made anew is passed over. The columns are looked over
 * again until a look finds nothing of the old key and nobody ran with it since the look began: a process that still writes
 * with it may do so behind the page in hand, and be gone before the look ends.
 */
import { rechainActs } from '../../audit/audit-log.sql.ts'
import { crashPoint } from '../../core/crash-point.ts'
import type { Secrets } from '../../core/secrets.ts'
import type { Database } from '../../db/database.ts'
import { listWritersWithout } from '../../db/running-roles.ts'
import { readDatabaseTime } from '../database-time.sql.ts'
import { COLUMNS, type Column, readColumn, replaceValues } from './rekey.sql.ts'

/** A look that finds something, or somebody, is followed by another. What three find something in is written with the old key still. */
const LOOKS_MAX = 3

export interface Rekeyed {
  /** By table and column: rows looked at last, and how many were made anew by this run. */
  readonly columns: readonly { readonly name: string; readonly rows: number; readonly renewed: number }[]
  /** Rows that neither key made: left as they are, as unusable as they were. */
  readonly tampered: readonly string[]
  /** Columns in which the last look still found the old key: some process writes with it. */
  readonly stillOld: readonly string[]
  /** Processes that ran with another key during the last look, or do not say with which: what they write is of that one. */
  readonly notRestarted: readonly string[]
}

interface Keys {
  /** The new key alone. */
  readonly next: Secrets
  readonly nextId: string
  /** With the old one accepted. */
  readonly both: Secrets
}

/** What one look over a column saw. */
interface Look {
  readonly name: string
  readonly rows: number
  /** Made with the old key. */
  readonly old: number
  readonly renewed: number
  readonly tampered: readonly string[]
}

export async function rekey(
  db: Database,
  keys: Keys,
  columns: readonly Column[] = COLUMNS,
): Promise<Rekeyed> {
  const renewed = new Map<string, number>()
  for (let count = 1; ; count++) {
    const since = await readDatabaseTime(db)
    const looks: Look[] = []
    for (const column of columns) looks.push(await lookOver(db, keys, column))
    looks.push(await lookOverActs(db, keys))
    for (const look of looks) renewed.set(look.name, (renewed.get(look.name) ?? 0) + look.renewed)
    const stillOld = looks.filter(({ old }) => old > 0).map(({ name }) => name)
    const notRestarted = await listWritersWithout(db, keys.nextId, since)
    if ((stillOld.length > 0 || notRestarted.length > 0) && count < LOOKS_MAX) continue
    return {
      columns: looks.map(({ name, rows }) => ({ name, rows, renewed: renewed.get(name) ?? 0 })),
      tampered: looks.flatMap(({ tampered }) => tampered),
      stillOld,
      notRestarted,
    }
  }
}

async function lookOver(db: Database, { next, both }: Keys, column: Column): Promise<Look> {
  const name = `${column.table}.${column.column}`
  const tampered: string[] = []
  let [rows, old, renewed] = [0, 0, 0]
  for await (const page of readColumn(db, column)) {
    const usable = []
    for (const row of page) {
      if (column.isOf(next, row, row.value)) continue
      if (column.isOf(both, row, row.value)) usable.push(row)
      else tampered.push(`${name} of ${Object.keys(column.key).map((key) => row[key])}`)
    }
    rows += page.length
    old += usable.length
    if (usable.length === 0) continue
    const anew = usable.map((row) => ({
      row,
      from: row.value,
      to: column.renew(both, next, row, row.value),
    }))
    renewed += await replaceValues(db, column, anew)
    crashPoint('rekey:page')
  }
  return { name, rows, old, renewed, tampered }
}

async function lookOverActs(db: Database, { next, both }: Keys): Promise<Look> {
  const acts = await rechainActs(db, next, both)
  return {
    name: 'audit_log.mac',
    rows: Number(acts.entries),
    old: acts.renewed,
    renewed: acts.renewed,
    tampered: acts.broken ? [`audit_log at place ${acts.broken.place}`] : [],
  }
}
