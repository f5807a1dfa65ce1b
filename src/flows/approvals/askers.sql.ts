import { type AskedBy, readAsker } from '../../approvals/asker.ts'
import type { AccountId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'

export interface AskerNames {
  /** The person's, or the key's. */
  readonly name: string
  /** Of the person who made the key; null for a person, and where nobody is known. */
  readonly keyMadeBy: string | null
}

/** What people call those who asked. Nobody is found who is none. */
export async function namesOfAskers(
  db: Queryable,
  accountId: AccountId,
  askers: readonly AskedBy[],
): Promise<Map<AskedBy, AskerNames>> {
  const read = askers.map((askedBy) => ({ askedBy, ...readAsker(askedBy) }))
  const ids = read.flatMap(({ userId, keyId }) => [userId, keyId]).filter((id) => id != null)
  if (ids.length === 0) return new Map()
  const { rows } = await db.query<{ id: string; name: string }>(
    `select id, name from users where id = any($1::uuid[])
     union all select id, name from api_keys where account_id = $2 and id = any($1::uuid[])`,
    [ids, accountId],
  )
  const nameOf = (id: string | null | undefined) => rows.find((row) => row.id === id)?.name ?? null
  return new Map(
    read.flatMap(({ askedBy, userId, keyId }) => {
      const name = nameOf(keyId ?? userId)
      return name === null ? [] : [[askedBy, { name, keyMadeBy: keyId ? nameOf(userId) : null }] as const]
    }),
  )
}
