/** Whether the secret key is the one that the database was made with. */
import { conflict, InvariantBroken } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { keyIdOf } from '../core/secrets.ts'
import { keepKeyId } from '../flows/operation/secret-key.sql.ts'
import { currentWallets } from '../wallets/wallets.sql.ts'
import type { Store } from './store.ts'

/** Under another key nothing that was sealed opens, and what is sealed now would be lost with the right one. */
export async function requireMatchingSecret(
  { db, secrets, secretKey, alsoSecretKey }: Store,
  isSigner: boolean,
  log: Log,
): Promise<void> {
  // The signer's user has no part in this; its wallets tell it.
  const own = keyIdOf(secretKey)
  const also = alsoSecretKey && keyIdOf(alsoSecretKey)
  const made = isSigner ? own : await keepKeyId(db, own)
  if (made !== own && made !== also)
    throw conflict(
      'other_secret_key',
      `this database was made with the secret key ${made}, and given was ${own}; set the BECK_SECRET_KEY, or put back the secret.key, that it was made with`,
    )
  if (made !== own)
    log.warn(
      { key: own, old: made },
      'two secret keys are accepted; once every Beck has both: npx beck rekey',
    )
  await currentWallets(db, secrets).catch((error: unknown) => {
    if (!(error instanceof InvariantBroken)) throw error
    throw conflict(
      'other_secret_key',
      `${error.message}; set the BECK_SECRET_KEY, or put back the secret.key, that this database was made with`,
    )
  })
}
