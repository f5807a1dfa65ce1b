/** Whether a request may be signed: authentic, held, payable, within policy. Everything else is refused, or waits. */
import { ASSET_FACTS } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Queryable } from '../db/database.ts'
import type { NetworkMode } from '../wallets/derivation.ts'
import { type Destination, readDestination } from '../withdrawals/destination.ts'
import { requestMacParts } from '../withdrawals/withdrawal.ts'
import type { SignerConfig } from './config.ts'
import type { Journal } from './journal.ts'
import { judgeAmount, judgeDestination, readAllowlist, type Verdict } from './policy.ts'
import { heldFor, type Requested } from './requests.sql.ts'

export interface Judge {
  readonly db: Queryable
  readonly secrets: Secrets
  readonly journal: Journal
  readonly config: Pick<SignerConfig, 'limits' | 'allowlistWaitMs' | 'folder'>
}

export type Judgement =
  | { readonly kind: 'allow'; readonly destination: Destination }
  | Exclude<Verdict, { readonly kind: 'allow' }>

/**
 * @param planned - Atoms of the same asset that the same transaction pays already.
 */
export async function judgeRequest(
  judge: Judge,
  request: Requested,
  mode: NetworkMode,
  planned: bigint,
): Promise<Judgement> {
  const { asset, chain, netAtoms } = request
  if (request.isFrozen) return { kind: 'wait', reason: 'its coin is frozen: books and chain disagree' }
  if (!judge.secrets.isMac(request.mac, 'withdrawal', requestMacParts(request)))
    return { kind: 'refuse', reason: 'not_authentic' }
  if (
    request.amountAtoms !== request.feeAtoms + request.networkFeeAtoms + netAtoms ||
    !chain.endsWith(ASSET_FACTS[asset].network)
  )
    return { kind: 'refuse', reason: 'not_consistent' }
  if ((await heldFor(judge.db, request)) !== request.amountAtoms)
    return { kind: 'refuse', reason: 'not_held' }
  const destination = destinationOf(request, mode)
  if (!destination) return { kind: 'refuse', reason: 'invalid_address' }
  if (!chain.startsWith('sim-')) {
    const verdict = await judgePolicy(judge, request, planned)
    if (verdict.kind !== 'allow') return verdict
  }
  return { kind: 'allow', destination }
}

async function judgePolicy(judge: Judge, request: Requested, planned: bigint): Promise<Verdict> {
  const { asset, netAtoms, destination } = request
  const { limits, allowlistWaitMs, folder } = judge.config
  const now = Date.now()
  const amount = judgeAmount(
    limits,
    asset,
    netAtoms,
    now,
    (since) => judge.journal.leftSince(asset, true, since) + planned,
  )
  if (amount.kind !== 'allow' || allowlistWaitMs === null) return amount
  return judgeDestination(await readAllowlist(folder), allowlistWaitMs, asset, destination, now)
}

function destinationOf(request: Requested, mode: NetworkMode): Destination | null {
  try {
    return readDestination(request.asset, mode, request.destination)
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
