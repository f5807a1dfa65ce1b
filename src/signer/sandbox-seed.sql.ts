import type { Database } from '../db/database.ts'

/** The sealed seed of the simulated chains; the first signer ever to ask makes it. */
export async function sandboxSeed(db: Database, make: () => Uint8Array): Promise<Uint8Array> {
  const { rows: known } = await db.query<{ sealed: Buffer }>('select sealed from sandbox_seed')
  if (known[0]) return known[0].sealed
  await db.query('insert into sandbox_seed (sealed) values ($1) on conflict do nothing', [make()])
  return sandboxSeed(db, make)
}
