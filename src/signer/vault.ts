/** The keys: one account key per chain, from the operator's keystore or from the sandbox's own seed. */
import type { HDKey } from '@scure/bip32'
import { CHAINS, type ChainName, isSimulated, networkOfChain } from '../core/assets.ts'
import { invariant } from '../core/errors.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Database } from '../db/database.ts'
import {
  accountPath,
  type Branch,
  type DerivedAddress,
  HOT_WALLET_POSITION,
  INTERNAL_BRANCH,
  type NetworkMode,
  readAccountKey,
  SIMULATED_MODE,
} from '../wallets/derivation.ts'
import type { SignerConfig } from './config.ts'
import { newEntropy, openKeystore, rootOf } from './keystore.ts'
import { sandboxSeed } from './sandbox-seed.sql.ts'

export interface ChainKeys {
  readonly chain: ChainName
  readonly mode: NetworkMode
  readonly xpub: string
  /** Fingerprint of the account key; `addresses.series`. */
  readonly series: string
  readonly hotWallet: DerivedAddress
  address(branch: Branch, position: bigint): DerivedAddress
  privateKey(branch: Branch, position: bigint): Uint8Array
}

export type Vault = ReadonlyMap<ChainName, ChainKeys>

/** Keys of the simulated chains always; of the live ones when there is a keystore and its passphrase opens it. */
export async function openVault(config: SignerConfig, db: Database, secrets: Secrets): Promise<Vault> {
  const sandbox = await rootOf(
    secrets.open(
      'sandbox-seed',
      'sandbox',
      await sandboxSeed(db, () => secrets.seal('sandbox-seed', 'sandbox', newEntropy())),
    ),
  )
  const entropy =
    config.passphrase === null ? null : await openKeystore(config.keystorePath, config.passphrase)
  const live = entropy && (await rootOf(entropy))
  entropy?.fill(0)
  const vault = new Map<ChainName, ChainKeys>()
  for (const chain of CHAINS) {
    const simulated = isSimulated(chain)
    const root = simulated ? sandbox : live
    if (root)
      vault.set(
        chain,
        chainKeys(root, chain, simulated ? SIMULATED_MODE : config.modes[networkOfChain(chain)]),
      )
  }
  return vault
}

export function chainKeys(root: HDKey, chain: ChainName, mode: NetworkMode): ChainKeys {
  const account = root.derive(accountPath(networkOfChain(chain), mode))
  const xpub = account.publicExtendedKey
  const publicKeys = readAccountKey(chain, mode, xpub)
  const branches = [account.deriveChild(0), account.deriveChild(1)] as const
  return {
    chain,
    mode,
    xpub,
    series: publicKeys.fingerprint,
    hotWallet: publicKeys.derive(INTERNAL_BRANCH, HOT_WALLET_POSITION),
    address: publicKeys.derive,
    privateKey(branch, position) {
      const { privateKey } = branches[branch].deriveChild(Number(position))
      invariant(privateKey, 'a private account key derives private keys')
      return privateKey
    },
  }
}
