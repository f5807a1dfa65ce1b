/**
 * One person goes: name and email, wherever Beck wrote them down. Amounts, payments and what a MAC is over stay, so books and
 * proofs do too; the customer stays as somebody without a name.
 */
import { forgetInActs } from '../../audit/audit-log.sql.ts'
import { type AccountId, type CustomerId, showId } from '../../core/ids.ts'
import type { Secrets } from '../../core/secrets.ts'
import type { Database, Tx } from '../../db/database.ts'
import {
  clearSessions,
  dropNotes,
  dropReceipts,
  dropSavedViews,
  findCustomers,
  type KnownCustomer,
  listEventBodies,
  replaceCustomer,
  replaceEventBody,
} from './forget-customer.sql.ts'

export interface Forgotten {
  readonly accountId: AccountId
  readonly id: CustomerId
  readonly payments: number
  readonly sessions: number
  readonly events: number
  readonly views: number
  /** Acts of the audit log that say less now. */
  readonly acts: number
}

/**
 * Each customer in a transaction of its own. Running it again finds nothing left, or goes on where it was cut off.
 *
 * @param record - Writes the act, within the transaction.
 * @throws {Refusal} `audit_log_broken`.
 */
export async function forgetCustomers(
  db: Database,
  secrets: Secrets,
  of: { readonly email: string } | { readonly id: CustomerId },
  accountId: AccountId | null,
  record: (tx: Tx, customer: Pick<KnownCustomer, 'accountId' | 'id'>) => Promise<void>,
): Promise<Forgotten[]> {
  const forgotten: Forgotten[] = []
  for (const customer of await findCustomers(db, of, accountId))
    forgotten.push(
      await db.transaction(async (tx) => {
        const done = await forgetOne(tx, secrets, customer)
        await record(tx, customer)
        return done
      }),
    )
  return forgotten
}

async function forgetOne(tx: Tx, secrets: Secrets, customer: KnownCustomer): Promise<Forgotten> {
  const { accountId, id, email } = customer
  const shown = showId('cus', id)
  const nobody = `${shown}@forgotten.invalid`
  const payments = await replaceCustomer(tx, customer, nobody)
  const sessions = await clearSessions(tx, customer)
  const views = await dropSavedViews(tx, customer)
  await dropNotes(tx, customer)
  await dropReceipts(tx, customer)
  let events = 0
  for (const event of await listEventBodies(tx, accountId, shown)) {
    const body = withoutEmail(event.body, shown, nobody)
    if (body === event.body) continue
    await replaceEventBody(tx, accountId, event.id, body)
    events += 1
  }
  const { acts } = await forgetInActs(tx, secrets, { accountId, subject: shown, email })
  return { accountId, id, payments, sessions, events, views, acts }
}

/** As text: parsed and written again, numbers in a merchant's metadata could become others. */
const withoutEmail = (body: string, customer: string, email: string): string =>
  body.replace(
    new RegExp(`("id":"${customer}","email":)"(?:[^"\\\\]|\\\\.)*"`, 'g'),
    (_all, before: string) => `${before}${JSON.stringify(email)}`,
  )
