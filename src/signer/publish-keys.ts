/** A signer's account keys as the current wallets of a database: published where there are none, never in place of others unasked. */
import { networkOfChain } from '../core/assets.ts'
import { openSecrets } from '../core/secrets.ts'
import type { Database } from '../db/database.ts'
import { currentWallets, publishWallet, type Wallet } from '../wallets/wallets.sql.ts'
import type { SignerConfig } from './config.ts'
import type { ChainKeys } from './vault.ts'

/** @throws {InvariantBroken} when a row was made by neither of the secret keys that are accepted. */
export const publishedWallets = (config: SignerConfig, db: Database): Promise<readonly Wallet[]> =>
  currentWallets(db, openSecrets(config.secretKey, config.alsoSecretKey))

/** Why the current wallet of a chain is not the one of these keys; null where it is, and where there is none. */
export function otherWallet(
  { networks }: Pick<SignerConfig, 'networks'>,
  published: readonly Wallet[],
  keys: Pick<ChainKeys, 'chain' | 'mode' | 'xpub'>,
): { readonly of: 'network' | 'keystore'; readonly problem: string } | null {
  const current = published.find(({ chain }) => chain === keys.chain)
  if (!current || (current.xpub === keys.xpub && current.mode === keys.mode)) return null
  if (current.mode === keys.mode)
    return {
      of: 'keystore',
      problem: `the current wallet of ${keys.chain} belongs to another keystore: its coins cannot be paid out from here`,
    }
  const network = networkOfChain(keys.chain)
  return {
    of: 'network',
    problem: `the current wallet of ${keys.chain} is of ${current.mode}, and ${network.toUpperCase()}_NETWORK=${networks[network]} is ${keys.mode}: one database serves one network; set it as it was, or use another database. Only where nobody was ever given an address of it: move keystore.json aside, and bring it here with the same 24 words: npx beck wallet init --restore --replace`,
  }
}

/**
 * @param options.replaces - Retires the current wallets of other keys.
 * @throws {Refusal} `conflict`, reason `wallet_exists`, where there is one and it may not.
 */
export async function publishKeys(
  config: SignerConfig,
  db: Database,
  keys: readonly ChainKeys[],
  options: { readonly replaces: boolean },
): Promise<void> {
  const secrets = openSecrets(config.secretKey, config.alsoSecretKey)
  await db.transaction(async (tx) => {
    for (const { chain, mode, xpub } of keys) await publishWallet(tx, secrets, { chain, mode, xpub }, options)
  })
}
