/** The database that the settings name: an external one, or the embedded one of the data directory. */
import type { Config } from './config.ts'
import { withoutCredentials } from './core/errors.ts'
import type { Log } from './core/log.ts'
import { openSecrets, type Secrets } from './core/secrets.ts'
import { type Database, openDatabase } from './db/database.ts'
import type { HolderKind } from './db/directory-lock.ts'
import { borrowCluster, startCluster } from './db/embedded.ts'
import { keepSecretKey } from './secret-key.ts'

export interface Store {
  readonly db: Database
  readonly secrets: Secrets
  /** For the signer, a process of its own. */
  readonly url: string
  readonly secretKey: Buffer
  /** How people call this database. */
  readonly name: string
  close(): Promise<void>
}

const DATABASE = 'postgres'
const CONNECTIONS_MAX = 20

/** @param kind - A server owns the embedded database; a tool uses the running server's or starts it for a moment. */
export async function openStore(config: Config, log: Log, kind: HolderKind): Promise<Store> {
  const open = { dataDir: config.dataDir, log }
  const cluster = config.databaseUrl
    ? null
    : await (kind === 'server' ? startCluster(open) : borrowCluster(open))
  try {
    const url = config.databaseUrl ?? cluster?.url(DATABASE) ?? ''
    const secretKey = config.secretKey ?? (await keepSecretKey(config.dataDir))
    const db = openDatabase({ url, connectionsMax: kind === 'server' ? CONNECTIONS_MAX : 2 })
    return {
      db,
      secrets: openSecrets(secretKey),
      url,
      secretKey,
      name: config.databaseUrl ? withoutCredentials(config.databaseUrl) : `embedded in ${config.dataDir}`,
      async close() {
        await db.close()
        await cluster?.stop()
      },
    }
  } catch (error) {
    await cluster?.stop()
    throw error
  }
}
