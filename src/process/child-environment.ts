/** What programs that Beck starts are told. */
import type { Store } from '../config/store.ts'

/** Goes by a pipe, and to the signer alone. */
export const PASSPHRASE = 'BECK_KEYSTORE_PASSPHRASE'

/**
 * The operator's environment, and the database and keys that the settings led to. A variable that is set to nothing is not
 * set.
 */
export const childEnvironment = (store: Store, databaseUrl: string): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name, value]) => value?.trim() && name !== PASSPHRASE),
  ),
  DATABASE_URL: databaseUrl,
  BECK_SECRET_KEY: store.secretKey.toString('hex'),
  ...(store.alsoSecretKey ? { BECK_SECRET_KEY_ALSO: store.alsoSecretKey.toString('hex') } : {}),
  BECK_DATA_DIR: store.dataDir,
})
