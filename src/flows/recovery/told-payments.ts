/**
 * Payments that somebody was told of, in a file outside of the database: after it lost commits, the file says which are gone.
 */
import { appendFile, mkdir, readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ifThere } from '../../core/files.ts'
import type { PaymentId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { findMissingPayments, listPaymentsSince, PAYMENTS_READ } from './told-payments.sql.ts'

const FILE = 'told-payments'
/** Two of them are kept: some 400,000 payments. */
const BYTES_MAX = 8 * 1024 * 1024

export interface ToldPayments {
  /** Adds those of the database that are new. */
  note(db: Queryable): Promise<void>
  /**
   * Those that were told of and the database does not know, the oldest first.
   *
   * @param since - Only those made since then; what was lost before, and what was forgotten by its age, is left out.
   */
  findGone(db: Queryable, since?: Date): Promise<PaymentId[]>
}

/** @param notedUntil - By the database's clock, up to when the file has all; null for only those from now on. */
export function openToldPayments(folder: string, notedUntil: Date | null): ToldPayments {
  const path = join(folder, FILE)
  let since = notedUntil
  let known = new Set<PaymentId>()
  return {
    async note(db) {
      for (;;) {
        const told = await listPaymentsSince(db, since)
        const fresh = told.filter(({ id }) => !known.has(id))
        if (fresh.length > 0) {
          await mkdir(folder, { recursive: true })
          if (((await ifThere(stat(path)))?.size ?? 0) > BYTES_MAX) await rename(path, `${path}.old`)
          await appendFile(path, fresh.map(({ id }) => `${id}\n`).join(''), { mode: 0o600 })
        }
        known = new Set(told.map(({ id }) => id))
        since = told.at(-1)?.createdAt ?? since
        if (told.length < PAYMENTS_READ) return
      }
    },
    async findGone(db, since = new Date(0)) {
      const texts = [await ifThere(readFile(`${path}.old`, 'utf8')), await ifThere(readFile(path, 'utf8'))]
      const ids = texts
        .flatMap((text) => text?.split('\n') ?? [])
        .filter((line) => /^[0-9a-f-]{36}$/.test(line) && madeAtMs(line) >= since.getTime())
      return findMissingPayments(db, [...new Set(ids)] as PaymentId[])
    },
  }
}

/** A UUIDv7 begins with the milliseconds of its making, by the clock of who made it. */
const madeAtMs = (id: string): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
