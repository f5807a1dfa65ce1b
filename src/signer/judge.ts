/** Whether a request may be signed: authentic, held, payable, within policy. Everything else is refused, or waits. */
import { ASSET_FACTS, type Asset, type ChainName, isSimulated, nativeAsset } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import type { Secrets } from '../core/secrets.ts'
import { DAY_MS, HOUR_MS } from '../core/time.ts'
import type { Queryable } from '../db/database.ts'
import type { NetworkMode } from '../wallets/derivation.ts'
import { type Destination, readDestination } from '../withdrawals/destination.ts'
import { requestMacParts, WOULD_REVERT } from '../withdrawals/withdrawal.ts'
import type { Approvals } from './approvals/approvals.ts'
import { judgeRelease, type Release } from './approvals/judge-release.ts'
import type { SignerConfig } from './config.ts'
import type { Signer } from './context.ts'
import type { Journal } from './journal.ts'
import { sumSigned } from './left.sql.ts'
import { logWaiting } from './log-waiting.ts'
import { judgeAmount, judgeDestination, readAllowlist, type Verdict } from './policy.ts'
import { heldFor, type Requested } from './requests.sql.ts'

export interface Judge {
  readonly db: Queryable
  readonly secrets: Secrets
  readonly journal: Journal
  readonly config: Pick<SignerConfig, 'limits' | 'allowlistWaitMs' | 'folder'>
  readonly approvals: Approvals
}

export type Judgement =
  | { readonly kind: 'allow'; readonly destination: Destination; readonly release: Release }
  | Exclude<Verdict, { readonly kind: 'allow' }>

/** Of what is to leave by the same transaction already. */
export interface Planned {
  /** Net atoms of the same asset. */
  readonly atoms: bigint
  /** Those that leave freely. */
  readonly freely: readonly Requested[]
}

/** What left of an asset, as the rows say. */
export type LeftRows = (asset: Asset) => ReturnType<typeof sumSigned>

/** Adds the rows up once for each asset: for a page of requests, and no longer than until something is signed. */
export function readLeftOnce(db: Queryable): LeftRows {
  const sums = new Map<Asset, ReturnType<typeof sumSigned>>()
  return (asset) => {
    const known = sums.get(asset) ?? sumSigned(db, asset)
    sums.set(asset, known)
    return known
  }
}

/**
 * Of a request that the journal knows nothing of.
 *
 * @param planned - What the same transaction pays already.
 */
export async function judgeRequest(
  judge: Judge,
  request: Requested,
  mode: NetworkMode,
  planned: Planned,
  left: LeftRows,
): Promise<Judgement> {
  const { asset, chain, netAtoms } = request
  if (request.isFrozen)
    return { kind: 'wait', for: 'frozen', reason: 'its coin is frozen: books and chain disagree' }
  if (!judge.secrets.isMac(request.mac, 'withdrawal', requestMacParts(request)))
    return { kind: 'refuse', reason: 'not_authentic' }
  if (
    request.amountAtoms !== request.feeAtoms + request.networkFeeAtoms + netAtoms ||
    !chain.endsWith(ASSET_FACTS[asset].network)
  )
    return { kind: 'refuse', reason: 'not_consistent' }
  const verdict: Verdict = isSimulated(chain)
    ? { kind: 'allow' }
    : await judgePolicy(judge, request, planned.atoms, left)
  // Before its hold is asked for: however many wait for a limit, a scan of them costs little, and a wait signs nothing.
  if (verdict.kind === 'wait') return verdict
  if (judge.approvals.isBehind(request))
    return {
      kind: 'wait',
      for: 'approval',
      reason:
        'the database shows a policy of approvals that this signer does not have: another signer keeps it, or its log was lost',
    }
  const now = Date.now()
  const release = judgeRelease(
    request,
    judge.approvals.knownOf(request, planned.freely, now),
    request.approval,
    now,
  )
  if (release.kind === 'wait') return release
  if ((await heldFor(judge.db, request)) !== request.amountAtoms)
    return { kind: 'refuse', reason: 'not_held' }
  const destination = destinationOf(request, mode)
  if (!destination) return { kind: 'refuse', reason: 'invalid_address' }
  if (verdict.kind !== 'allow') return verdict
  if (release.kind !== 'release') return release
  // It was asked about as it is here: authentic, and not known to the journal.
  return request.rehearsal === 'reverts'
    ? { kind: 'refuse', reason: WOULD_REVERT }
    : { kind: 'allow', destination, release: release.by }
}

async function judgePolicy(
  judge: Judge,
  request: Requested,
  planned: bigint,
  left: LeftRows,
): Promise<Verdict> {
  const { asset, netAtoms, destination } = request
  const { allowlistWaitMs, folder } = judge.config
  const amount = await judgeLeaving(judge, asset, netAtoms, planned, left)
  if (amount.kind !== 'allow' || allowlistWaitMs === null) return amount
  return judgeDestination(await readAllowlist(folder), allowlistWaitMs, asset, destination, Date.now())
}

/**
 * Whether so many atoms more may leave live wallets now. What this signer's journal counts is the least that left; rows
 * of other signers count where they come to more, so that two of them share a limit. Rows can only make it stricter.
 *
 * @param planned - Atoms of the same asset that the same transaction pays already.
 */
async function judgeLeaving(
  judge: Pick<Judge, 'journal' | 'config'>,
  asset: Asset,
  atoms: bigint,
  planned: bigint,
  left: LeftRows,
): Promise<Verdict> {
  const { limits } = judge.config
  if (!limits[asset]) return { kind: 'allow' }
  const rows = await left(asset)
  const now = Date.now()
  return judgeAmount(limits, asset, atoms, (span) => {
    const journaled = judge.journal.leftSince(asset, true, now - (span === 'hour' ? HOUR_MS : DAY_MS))
    return (journaled > rows[span] ? journaled : rows[span]) + planned
  })
}

/**
 * Whether a fee may leave now; it counts against the limits of the coin it is paid in.
 *
 * @param planned - Atoms of that coin that the same transaction pays besides.
 */
export async function allowsFee(
  signer: Signer,
  chain: ChainName,
  feeAtoms: bigint,
  planned: bigint,
): Promise<boolean> {
  if (isSimulated(chain)) return true
  const asset = nativeAsset(chain)
  const verdict = await judgeLeaving(signer, asset, feeAtoms, planned, readLeftOnce(signer.db))
  if (verdict.kind !== 'allow') logWaiting(signer, chain, 'fee', verdict.reason)
  return verdict.kind === 'allow'
}

function destinationOf(request: Requested, mode: NetworkMode): Destination | null {
  try {
    return readDestination(request.asset, mode, request.destination)
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
