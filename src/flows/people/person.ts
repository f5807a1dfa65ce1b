/** Who acts on a page, for the audit log. */
import type { Act, Facts } from '../../audit/act.ts'
import type { AccountId, UserId, UserSessionId } from '../../core/ids.ts'
import { showId } from '../../core/ids.ts'

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
  act: {
    readonly action: string
    readonly accountId?: AccountId | null
    readonly subject?: string | null
    readonly before?: Facts | null
    readonly after?: Facts | null
  },
): Act => ({
  accountId: act.accountId ?? null,
  actor: { kind: 'user', id: showId('usr', person.userId), name: person.email },
  address: person.address,
  action: act.action,
  subject: act.subject ?? null,
  before: act.before ?? null,
  after: act.after ?? null,
})
