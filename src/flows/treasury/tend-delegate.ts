/** The contract that batches of sweeps run at: asked for while the chain does not show it. */
import { raiseAlert } from '../../alerts/alerts.sql.ts'
import type { BatchSweeping } from '../../chains/chain.ts'
import type { ChainName } from '../../core/assets.ts'
import { HOUR_MS } from '../../core/time.ts'
import { mayDeployAgain } from '../../treasury/sweep.ts'
import {
  listDeployments,
  noteDelegate,
  type WantedDelegate,
  wantDelegate,
  wantDelegateAgain,
} from '../../treasury/sweep-delegates.sql.ts'
import type { Gateway } from '../gateway.ts'

/** From its first signature to its block a deployment takes minutes. */
const MISSING_MS_MAX = HOUR_MS

/**
 * Asks the signer to deploy it. One whose deployment reverted is asked for again a day later ({@link mayDeployAgain}); the
 * operator hears of it when tokens wait for long.
 *
 * @param isWaitedFor - There are tokens that only wait for it.
 */
export async function tendDelegate(
  { db, log }: Pick<Gateway, 'db' | 'log'>,
  chain: ChainName,
  { delegate, isDeployed }: BatchSweeping,
  isWaitedFor: boolean,
): Promise<void> {
  if (isDeployed) return noteDelegate(db, chain, delegate)
  const wanted = await wantDelegate(db, chain, delegate)
  const { replacementSet, wantedMs } = wanted
  if (isWaitedFor && wantedMs > MISSING_MS_MAX)
    await raiseAlert(db, {
      kind: 'sweep_delegate_missing',
      accountId: null,
      subject: `${chain}:${delegate}`,
      message: missing(chain, delegate, wanted),
    })
  if (replacementSet === null || !mayDeployAgain(await listDeployments(db, chain, replacementSet))) return
  log.warn(
    { chain, delegate, replacementSet },
    'the deployment of the sweep delegate failed; it is tried again',
  )
  await wantDelegateAgain(db, chain, replacementSet)
}

function missing(chain: ChainName, delegate: string, { replacementSet }: WantedDelegate): string {
  const why =
    replacementSet === null
      ? 'no deployment is signed: its gas is too dear, the hot wallet holds too little ether for it, or BECK_SIGNER_LIMITS allows no more of it'
      : `its deployment ${replacementSet} waits for a block, or reverted; one that reverted is tried again after a day`
  return `tokens stay at their deposit addresses: for more than an hour the contract that sweeps them is missing at ${delegate} of ${chain}, and ${why}`
}
