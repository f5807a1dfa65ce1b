/** Passkeys of people who are members where an account belongs: one of them has the fingerprint that was read to the operator. */
import type { Mode } from '../../core/assets.ts'
import type { AccountId, UserId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { allRows } from '../../db/rows.ts'

export interface Candidate {
  readonly accountId: AccountId
  readonly mode: Mode
  readonly merchant: string
  readonly userId: UserId
  readonly name: string
  readonly email: string
  readonly role: string
  readonly credentialId: Buffer
  readonly publicKey: Buffer
}

export const listCandidates = (db: Queryable): Promise<Candidate[]> =>
  allRows(
    db,
    `select a.id as "accountId", a.mode, m.name as merchant, u.id as "userId", u.name, u.email, b.role,
       p.credential_id as "credentialId", p.public_key as "publicKey"
     from merchants m
     join accounts a on a.id in (m.live_account_id, m.test_account_id)
     join members b on b.merchant_id = m.id
     join users u on u.id = b.user_id and u.disabled_at is null
     join passkeys p on p.user_id = u.id
     order by m.name, a.mode, u.email`,
  )
