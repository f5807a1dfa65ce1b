/** What commands beside the server share: the settings, and the database for as long as they need it. */
import { type Config, readConfig } from '../config/config.ts'
import { openStore, type Store } from '../config/store.ts'
import type { Database, Tx } from '../db/database.ts'
import { migrate } from '../db/migrate.ts'
import { openLog } from '../process/log.ts'
import { recordCommand } from './record-command.ts'

/** Works beside a running server; without one, the embedded database is started for this command. */
export async function withStore<Result>(
  work: (store: Store, config: Config) => Promise<Result>,
  options: { readonly migrated?: boolean } = {},
): Promise<Result> {
  const config = readConfig(process.env)
  const store = await openStore(config, openLog('warn'), 'tool')
  try {
    if (options.migrated !== false) await migrateRecorded(store.db)
    return await work(store, config)
  } finally {
    await store.close()
  }
}

/** What a command changes, in one transaction with the record of it. */
export const inTransaction = <Result>(
  work: (tx: Tx, store: Store, config: Config) => Promise<Result>,
): Promise<Result> => withStore((store, config) => store.db.transaction((tx) => work(tx, store, config)))

/** Brings the schema up to date, which is an act: whoever ran the first command of a new version stands in the log. */
export async function migrateRecorded(db: Database): Promise<string[]> {
  const migrations = await migrate(db)
  if (migrations.length > 0)
    await db.transaction((tx) => recordCommand(tx, { action: 'database.migrate', after: { migrations } }))
  return migrations
}
