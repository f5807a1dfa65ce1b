/** A person who uses the dashboard. */

import { isEmail } from '../core/email.ts'
import { invalidField } from '../core/errors.ts'
import type { AccountId, MerchantId, UserId } from '../core/ids.ts'
import type { Role } from './permissions.ts'

export interface User {
  readonly id: UserId
  readonly email: string
  readonly name: string
  readonly passwordHash: string | null
  readonly isOperator: boolean
  readonly createdAt: Date
  readonly disabledAt: Date | null
}

/** A merchant, as a person who belongs to it sees it. */
export interface Membership {
  readonly merchantId: MerchantId
  readonly merchantName: string
  readonly role: Role
  /** Whose days the lists' dates are. */
  readonly timeZone: string
  readonly liveAccountId: AccountId | null
  readonly testAccountId: AccountId | null
}

/** @throws {Refusal} `invalid`, `invalid_email`. */
export function readEmail(text: string): string {
  const email = text.trim()
  if (isEmail(email)) return email
  throw invalidField('email', 'invalid_email', 'expected an email address of at most 254 characters')
}

/** @throws {Refusal} `invalid`, `invalid_name`. */
export function readName(text: string): string {
  const name = text.trim()
  if (name.length >= 1 && name.length <= 120) return name
  throw invalidField('name', 'invalid_name', `a name has 1 to 120 characters, got ${name.length}`)
}

/** Words about a person that his password must not be made of. */
export const wordsAbout = (email: string, name: string): string[] => [
  ...name.split(/\s+/),
  ...email.split(/[@.+_-]/),
]
