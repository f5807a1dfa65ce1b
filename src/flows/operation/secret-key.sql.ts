/** Which secret key the database was made with, by its id. */
import type { Queryable } from '../../db/database.ts'

/** The key's id; the first to ask writes its own. */
export async function keepKeyId(db: Queryable, keyId: string): Promise<string> {
  await db.query('insert into secret_keys (key_id) values ($1) on conflict do nothing', [keyId])
  const { rows } = await db.query<{ key_id: string }>('select key_id from secret_keys')
  return rows[0]?.key_id ?? keyId
}

export async function setKeyId(db: Queryable, keyId: string): Promise<void> {
  await db.query('update secret_keys set key_id = $1, since = now()', [keyId])
}
