/** What commands beside the server share: the settings, and the database for as long as they need it. */
import { type Config, readConfig } from '../config/config.ts'
import { openStore, type Store } from '../config/store.ts'
import { migrate } from '../db/migrate.ts'
import { openLog } from '../process/log.ts'

/** Works beside a running server; without one, the embedded database is started for this command. */
export async function withStore<Result>(
  work: (store: Store, config: Config) => Promise<Result>,
  options: { readonly migrated?: boolean } = {},
): Promise<Result> {
  const config = readConfig(process.env)
  const store = await openStore(config, openLog('warn'), 'tool')
  try {
    if (options.migrated !== false) await migrate(store.db)
    return await work(store, config)
  } finally {
    await store.close()
  }
}
