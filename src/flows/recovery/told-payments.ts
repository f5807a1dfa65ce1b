/**
 * Payments that somebody was told of, in a file outside of the database: after it lost commits, the file says which are gone.
 */
import { appendFile, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ifThere } from '../../core/files.ts'
import { type PaymentId, showId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { findMissingPayments, readAnnounced } from './told-payments.sql.ts'

const FILE = 'told-payments'
/** The file that names the payments that are gone. */
const LOST_PAYMENTS_FILE = 'lost-payments'
/** Two of them are kept: some 400,000 payments. */
const BYTES_MAX = 8 * 1024 * 1024
/**
 * Before what was seen last: a transaction commits this much after its time at most, and nearly always this much. The longer
 * time, and all that went by since, is looked through again each tenth turn.
 */
const LATE_SECONDS_MAX = 10
const LATE_SECONDS = 1
const TURNS = 10
/** So many are read at a time: a few milliseconds of a process that answers requests beside it. */
const EVENTS_READ = 2_000

export interface ToldPayments {
  /** Adds those of the database that are new. */
  note(db: Queryable): Promise<void>
  /**
   * Those that were told of and the database does not know, the oldest first.
   *
   * @param since - Only those made since then; what was lost before, and what was forgotten by its age, is left out.
   */
  findGone(db: Queryable, since?: Date): Promise<PaymentId[]>
  /** Writes down which are gone, for the operator. @returns The file. */
  list(gone: readonly PaymentId[]): Promise<string>
}

/** @param notedUntil - By the database's clock, up to when the file has all; null for only those from now on. */
export function openToldPayments(folder: string, notedUntil: Date | null): ToldPayments {
  const path = join(folder, FILE)
  let since = notedUntil
  /** Where the last long look ended. */
  let settled = notedUntil
  /** What the file has of the time since then and of the seconds before. */
  let known = new Set<PaymentId>()
  let turn = 0
  return {
    async note(db) {
      const isLong = turn % TURNS === 0
      let from = isLong ? settled : since
      let againSeconds = isLong || from === null ? LATE_SECONDS_MAX : LATE_SECONDS
      // Whoever noted until then may have had its last long look so many turns before.
      if (turn === 0 && from !== null) againSeconds += TURNS
      const seen = new Set<PaymentId>()
      for (let most = EVENTS_READ; ; ) {
        const { read, last, ids } = await readAnnounced(db, from, againSeconds, most)
        const fresh = ids.filter((id) => !known.has(id))
        if (fresh.length > 0) {
          await mkdir(folder, { recursive: true })
          if (((await ifThere(stat(path)))?.size ?? 0) > BYTES_MAX) await rename(path, `${path}.old`)
          // Behind what an append that broke off left of a line; and it is there before anybody relies on it.
          await appendFile(path, `\n${fresh.join('\n')}\n`, { mode: 0o600, flush: true })
        }
        for (const id of ids) {
          known.add(id)
          seen.add(id)
        }
        if (last !== null && (since === null || last > since)) since = last
        if (read < most) break
        // Where all are of one moment, the next time they are read with what comes behind them.
        if (againSeconds === 0 && last?.getTime() === from?.getTime()) most *= 2
        from = last
        againSeconds = 0
      }
      turn++
      if (!isLong) return
      settled = since
      known = seen
    },
    async findGone(db, since = new Date(0)) {
      const texts = [await ifThere(readFile(`${path}.old`, 'utf8')), await ifThere(readFile(path, 'utf8'))]
      const ids = texts
        .flatMap((text) => text?.split('\n') ?? [])
        .filter((line) => /^[0-9a-f-]{36}$/.test(line) && madeAtMs(line) >= since.getTime())
      return findMissingPayments(db, [...new Set(ids)] as PaymentId[])
    },
    async list(gone) {
      const file = join(folder, LOST_PAYMENTS_FILE)
      await writeFile(file, gone.map((id) => `${showId('pay', id)}\n`).join(''), { mode: 0o600 })
      return file
    },
  }
}

/** A UUIDv7 begins with the milliseconds of its making, by the clock of who made it. */
const madeAtMs = (id: string): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
