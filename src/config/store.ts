/** The database that the settings name: an external one, or the embedded one of the data directory. */
import { Refusal, unavailable, withoutCredentials } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { openSecrets } from '../core/secrets.ts'
import { type Database, type DatabaseOptions, openDatabase } from '../db/database.ts'
import type { HolderKind } from '../db/embedded/directory-lock.ts'
import { borrowCluster, startCluster } from '../db/embedded/embedded.ts'
import type { User } from '../db/embedded/roles.ts'
import { migrate } from '../db/migrate.ts'
import type { Config } from './config.ts'
import { keepSecretKey, readOldSecretKey } from './secret-key.ts'

export type Store = Readonly<Awaited<ReturnType<typeof open>>>

const CONNECTIONS_MAX = 20

/** What disks say of a folder that cannot be worked in; SQLite, which locks it, in words of its own. */
const UNUSABLE =
  /EACCES|EPERM|EROFS|ENOSPC|EDQUOT|ENOTDIR|No space left|unable to open database|readonly database|is full/

/**
 * @param kind - A server owns the embedded database; a tool uses the running server's or starts it for a moment.
 * @param underway - Called when it is PostgreSQL's turn, and there is time for something else.
 * @throws {Refusal} `data_directory_unusable`, and whatever keeps PostgreSQL from running.
 */
export async function openStore(
  config: Config,
  log: Log,
  kind: HolderKind,
  underway: () => void = () => {},
): Promise<Store> {
  try {
    return await open(config, log, kind, underway)
  } catch (error) {
    if (error instanceof Refusal || !(error instanceof Error) || !UNUSABLE.test(error.message)) throw error
    throw unavailable(
      'data_directory_unusable',
      `the data directory ${config.dataDir} cannot be used by this user (${error.message}); make room or give it to him (chown -R), run Beck as its owner, or set BECK_DATA_DIR`,
    )
  }
}

async function open(config: Config, log: Log, kind: HolderKind, underway: () => void) {
  const options = { dataDir: config.dataDir, log, roles: true, underway }
  if (config.databaseUrl) underway()
  const cluster = config.databaseUrl
    ? null
    : await (kind === 'server' ? startCluster(options) : borrowCluster(options))
  try {
    // The command line is the operator's, who owns the schema; a server has only what a server needs.
    const urlAs = (user: User) => config.databaseUrl ?? cluster?.urlAs(user) ?? ''
    const url = urlAs(kind === 'server' ? 'server' : 'owner')
    const secretKey = config.secretKey ?? (await keepSecretKey(config.dataDir))
    const alsoSecretKey = config.alsoSecretKey ?? (await readOldSecretKey(config.dataDir))
    let verify: DatabaseOptions['verify']
    const db = openDatabase(
      kind === 'server'
        ? { url, connectionsMax: CONNECTIONS_MAX, verify: async (connection) => verify?.(connection) }
        : { url, connectionsMax: 2, applicationName: 'beck-tool' },
    )
    return {
      db,
      dataDir: config.dataDir,
      secrets: openSecrets(secretKey, alsoSecretKey),
      /** For the signer, a process and a user of its own. */
      signerUrl: config.signerDatabaseUrl ?? urlAs('signer'),
      secretKey,
      /** Accepted beside it while keys are changed; null otherwise. */
      alsoSecretKey,
      /** For connections of a server beside `db`. */
      url,
      /** From now on each new connection of `db` is looked at before it is used. */
      verifyWith(given: NonNullable<DatabaseOptions['verify']>) {
        verify = given
      },
      /** How people call this database. */
      name: config.databaseUrl ? withoutCredentials(config.databaseUrl) : `embedded in ${config.dataDir}`,
      /** Brings the schema up to date, as its owner where that is another user. @returns The migrations that ran. */
      migrate: () => migrateAs(urlAs('owner'), url, db),
      async close(): Promise<void> {
        await db.close()
        await cluster?.stop()
      },
    }
  } catch (error) {
    await cluster?.stop()
    throw error
  }
}

async function migrateAs(ownerUrl: string, url: string, db: Database): Promise<string[]> {
  if (ownerUrl === url) return migrate(db)
  const owner = openDatabase({ url: ownerUrl, connectionsMax: 1, applicationName: 'beck-migrate' })
  try {
    return await migrate(owner)
  } finally {
    await owner.close()
  }
}
