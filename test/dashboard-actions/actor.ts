/** Who presses the dashboard's buttons. */
import type { UserId } from '../../src/core/ids.ts'
import type { Role } from '../../src/users/permissions.ts'

export interface Actor {
  readonly userId: UserId
  readonly email: string
  readonly name: string
  /** Null for a person outside of any team, and for the operator. */
  readonly role: Role | null
}

/** A password that everybody here has, to confirm what is confirmed each time. */
export const PASSWORD = 'quiet amber lantern'
