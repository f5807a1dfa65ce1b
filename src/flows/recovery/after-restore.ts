/**
 * What a restored database must not do before somebody has looked: it knows nothing of what happened after its backup.
 * Nothing live is paid out, for it may have been paid; no address is handed out that may have been handed out.
 */
import { ASSETS, CHAINS, type ChainName, isSimulated, networkOf, networkOfChain } from '../../core/assets.ts'
import type { Secrets } from '../../core/secrets.ts'
import type { Database } from '../../db/database.ts'
import { freeze } from '../../ledger/freezes.sql.ts'
import { forgetSenders } from '../../treasury/senders.sql.ts'
import { countIssuedLately, withholdFresh } from '../../wallets/address-pool.sql.ts'

/** Addresses beyond the pool of the backup that may have been handed out since, however little was sold before it. */
const ADDRESSES_AHEAD_MIN = 2_000
/** And as many more as were handed out in an equal time before the backup, for business that grew so much. */
const GROWTH_MAX = 3

export interface RestoreOptions {
  /** Whose coins are frozen: all live ones unless told; the simulated ones were restored together with their books. */
  readonly chains?: readonly ChainName[]
  /** How many addresses are withheld on each chain; reckoned from the backup unless told. */
  readonly addressesAhead?: number
  /** Addresses that are known to have been handed out since. */
  readonly handedOut?: number
}

/**
 * @param madeAt - When the backup was made; null where that is not known.
 * @returns The coins that pay nothing out until `beck reconcile --unfreeze`.
 */
export async function afterRestore(
  gateway: { readonly db: Database; readonly secrets: Secrets },
  madeAt: Date | null,
  options: RestoreOptions = {},
): Promise<string[]> {
  const chains = options.chains ?? CHAINS.filter((chain) => !isSimulated(chain))
  const source = madeAt ? `restored from the backup of ${madeAt.toISOString()}` : 'restored by other means'
  const frozen: string[] = []
  for (const chain of chains)
    for (const asset of ASSETS.filter((each) => networkOf(each) === networkOfChain(chain))) {
      await freeze(gateway.db, chain, asset, `${source}: what was paid out since is not known here`)
      frozen.push(asset)
    }
  await forgetSenders(gateway.db, chains)
  const issued = await countIssuedLately(gateway.db)
  const ahead = (chain: ChainName) =>
    options.addressesAhead ??
    ADDRESSES_AHEAD_MIN + GROWTH_MAX * (issued.get(chain) ?? 0) + (options.handedOut ?? 0)
  await withholdFresh(gateway.db, gateway.secrets, ahead)
  return frozen
}
