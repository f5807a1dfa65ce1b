import type { AskedBy } from '../../approvals/approval-policy.ts'
import { type AccountId, type ApiKeyId, readId, showId, type UserId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'

/** What people call those who asked: a person's name, a key's. Nobody is found who is none. */
export async function namesOfAskers(
  db: Queryable,
  accountId: AccountId,
  askers: readonly AskedBy[],
): Promise<Map<AskedBy, string>> {
  const users = askers.map((each) => readId('usr', each)).filter((id) => id !== null)
  const keys = askers.map((each) => readId('key', each)).filter((id) => id !== null)
  if (users.length + keys.length === 0) return new Map()
  const { rows } = await db.query<{ kind: 'usr' | 'key'; id: string; name: string }>(
    `select 'usr' as kind, id, name from users where id = any($1::uuid[])
     union all select 'key', id, name from api_keys where account_id = $2 and id = any($3::uuid[])`,
    [users, accountId, keys],
  )
  return new Map(
    rows.map(({ kind, id, name }) => [
      kind === 'usr' ? showId('usr', id as UserId) : showId('key', id as ApiKeyId),
      name,
    ]),
  )
}
