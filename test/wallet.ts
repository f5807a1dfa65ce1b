/** Wallets of one fixed seed for all six chains, and a small pool of fresh addresses, so that payments can be made. */
import { HDKey } from '@scure/bip32'
import { mnemonicToSeedWebcrypto } from '@scure/bip39'
import { CHAINS, type ChainName, isSimulated, networkOfChain } from '../src/core/assets.ts'
import { openSecrets, type Secrets } from '../src/core/secrets.ts'
import type { Database } from '../src/db/database.ts'
import { fillAddressPool } from '../src/wallets/address-pool.sql.ts'
import { accountPath, type NetworkMode, SIMULATED_MODE } from '../src/wallets/derivation.ts'
import { publishWallet } from '../src/wallets/wallets.sql.ts'

/** 24 words that everybody knows: the all-zero entropy of BIP-39. */
const TEST_MNEMONIC = `${'abandon '.repeat(23)}art`

/** The key that tests seal and authenticate with. */
export const TEST_SECRET_KEY = Buffer.alloc(32, 7)
export const TEST_SECRETS: Secrets = openSecrets(TEST_SECRET_KEY)

export const testRoot = HDKey.fromMasterSeed(await mnemonicToSeedWebcrypto(TEST_MNEMONIC))

/** Live chains of tests are private ones: regtest, and a dev chain. */
export const testMode = (chain: ChainName): NetworkMode => (isSimulated(chain) ? SIMULATED_MODE : 'regtest')

/** The private account key, for tests that sign. */
export const testAccountKey = (chain: ChainName): HDKey =>
  testRoot.derive(accountPath(networkOfChain(chain), testMode(chain)))

export const testXpub = (chain: ChainName): string => testAccountKey(chain).publicExtendedKey

/**
 * Addresses of each chain in the template that has wallets: as many as most stories ask for. Of the 156 ms that a story of payouts took
 * to begin, deriving some more took 99.
 */
export const TEMPLATE_FRESH = 16
/** As many as the payer of stories keeps ahead. */
export const TEMPLATE_CHANGE = 8
const CHANGE = 4

/** Derives more in a database that was cloned from the template with wallets. */
export const freshenTestWallets = (db: Database, fresh: number, change = CHANGE): Promise<unknown> =>
  fillAddressPool(db, TEST_SECRETS, { fresh, change })

/**
 * Publishes the wallets of all six chains and fills their pools.
 *
 * @param freshPerChain - Deposit addresses to derive on each chain; a payment takes one.
 */
export async function fillTestWallets(
  db: Database,
  options: {
    readonly freshPerChain?: number
    readonly change?: number
    readonly chains?: readonly ChainName[]
  } = {},
): Promise<void> {
  const chains = options.chains ?? CHAINS
  await db.transaction(async (tx) => {
    for (const chain of chains)
      await publishWallet(
        tx,
        TEST_SECRETS,
        { chain, mode: testMode(chain), xpub: testXpub(chain) },
        { replaces: false },
      )
  })
  await freshenTestWallets(db, options.freshPerChain ?? TEMPLATE_FRESH, options.change)
}
