/**
 * Another BECK_SECRET_KEY, while Beck runs: everything that the old one sealed and authenticated is made anew with the new
 * one. Running it again goes on where it was cut off, for what is made anew is passed over.
 */
import { rechainActs } from '../../audit/audit-log.sql.ts'
import type { Secrets } from '../../core/secrets.ts'
import type { Database } from '../../db/database.ts'
import { COLUMNS, type Column, readColumn, replaceValues } from './rekey.sql.ts'

export interface Rekeyed {
  /** By table and column: rows looked at, and how many of them were made anew by this run. */
  readonly columns: readonly { readonly name: string; readonly rows: number; readonly renewed: number }[]
  /** Rows that neither key made: left as they are, as unusable as they were. */
  readonly tampered: readonly string[]
}

/** @param of.next - The new key alone. @param of.both - With the old one accepted. */
export async function rekey(
  db: Database,
  of: { readonly next: Secrets; readonly both: Secrets },
  columns: readonly Column[] = COLUMNS,
): Promise<Rekeyed> {
  const done: Rekeyed['columns'][number][] = []
  const tampered: string[] = []
  for (const column of columns) {
    const name = `${column.table}.${column.column}`
    let [rows, renewed] = [0, 0]
    for await (const page of readColumn(db, column)) {
      const old = page.filter((row) => !column.isOf(of.next, row, row.value))
      const usable = old.filter((row) => column.isOf(of.both, row, row.value))
      for (const row of old)
        if (!usable.includes(row))
          tampered.push(`${name} of ${Object.keys(column.key).map((key) => row[key])}`)
      rows += page.length
      if (usable.length > 0)
        renewed += await replaceValues(
          db,
          column,
          usable.map((row) => ({ row, from: row.value, to: column.renew(of.both, of.next, row, row.value) })),
        )
    }
    done.push({ name, rows, renewed })
  }
  const acts = await rechainActs(db, of.next, of.both)
  if (acts.broken) tampered.push(`audit_log at place ${acts.broken.place}`)
  done.push({ name: 'audit_log.mac', rows: Number(acts.entries), renewed: acts.renewed })
  return { columns: done, tampered }
}
