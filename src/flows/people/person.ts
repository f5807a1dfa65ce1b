/** Who acts on a page, for the audit log. */
import type { Act } from '../../audit/act.ts'
import { recordAct } from '../../audit/audit-log.sql.ts'
import { showId, type UserId, type UserSessionId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'

export interface Person {
  readonly userId: UserId
  readonly email: string
  readonly name: string
  readonly sessionId: UserSessionId | null
  /** Where from. */
  readonly address: string
}

/** From where somebody signs in. */
export interface Place {
  readonly address: string
  readonly agent: string
}

/** What a person did, as the audit log keeps it. */
export const actOf = (
  person: Pick<Person, 'userId' | 'email' | 'address'>,
  act: Pick<Act, 'action'> & Partial<Pick<Act, 'accountId' | 'subject' | 'before' | 'after'>>,
): Act => ({
  accountId: act.accountId ?? null,
  actor: { kind: 'user', id: showId('usr', person.userId), name: person.email },
  address: person.address,
  action: act.action,
  subject: act.subject ?? null,
  before: act.before ?? null,
  after: act.after ?? null,
})

/** Within the transaction that does it. */
export const recordActOf = (tx: Tx, ...done: Parameters<typeof actOf>): Promise<void> =>
  recordAct(tx, actOf(...done))
