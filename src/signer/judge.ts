/** Whether a request may be signed: authentic, held, payable, within policy. Everything else is refused, or waits. */
import { ASSET_FACTS, type Asset, type ChainName, isSimulated, nativeAsset } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import { larger } from '../core/money.ts'
import type { Secrets } from '../core/secrets.ts'
import { DAY_MS, HOUR_MS } from '../core/time.ts'
import type { Queryable } from '../db/database.ts'
import { OUTPUT_ATOMS_MIN } from '../treasury/fees.ts'
import { nameOf } from '../treasury/signed-entry.ts'
import type { NetworkMode } from '../wallets/derivation.ts'
import { type Destination, readDestination } from '../withdrawals/destination.ts'
import { requestMacParts, type WithdrawalRequest } from '../withdrawals/withdrawal.ts'
import type { Approvals } from './approvals/approvals.ts'
import { judgeRelease, type Release } from './approvals/judge-release.ts'
import type { PlannedFreely } from './approvals/planned-freely.ts'
import type { SignerConfig } from './config.ts'
import type { Signer } from './context.ts'
import type { Journal } from './journal.ts'
import { sumSigned } from './left.sql.ts'
import { logWaiting } from './log-waiting.ts'
import { FEE_SPANS, judgeAmount, judgeDestination, readAllowlist, type Verdict } from './policy.ts'
import { listHeld, type Requested } from './requests.sql.ts'

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

/** What is to leave by the same transaction already. */
export interface Planned {
  /** Net atoms of the same asset. */
  readonly atoms: bigint
  readonly freely: PlannedFreely
}

/** What left of an asset, as the rows say. */
export type LeftRows = (asset: Asset) => ReturnType<typeof sumSigned>

/** Atoms that the ledger holds for a request. */
export type HeldRows = (request: WithdrawalRequest) => Promise<bigint>

/** What is read once for many requests, and used no longer than until something is signed. */
export interface ReadRows {
  readonly left: LeftRows
  readonly held: HeldRows
}

/** Reads what is held for all of the requests when one of them is asked for. */
export function readHeldOnce(db: Queryable, requests: readonly WithdrawalRequest[]): HeldRows {
  let reading: Promise<Map<string, bigint>> | null = null
  const read = async () => {
    const held = await listHeld(db, requests)
    return new Map(requests.map((request, index) => [nameOf(request), held[index] ?? 0n]))
  }
  return async (request) => {
    reading ??= read()
    return (await reading).get(nameOf(request)) ?? 0n
  }
}

/** Adds the rows up once for each asset. */
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
  rows: ReadRows,
): Promise<Judgement> {
  const { asset, chain, netAtoms } = request
  if (request.isFrozen)
    return { kind: 'wait', for: 'frozen', reason: 'its coin is frozen: books and chain disagree' }
  if (!judge.secrets.isMac(request.mac, 'withdrawal', requestMacParts(request)))
    return { kind: 'refuse', reason: 'not_authentic' }
  if (
    request.amountAtoms !== request.feeAtoms + request.networkFeeAtoms + netAtoms ||
    !chain.endsWith(ASSET_FACTS[asset].network) ||
    // The server asks for none: nodes would refuse the transaction, and all that it pays would wait.
    netAtoms < OUTPUT_ATOMS_MIN[asset]
  )
    return { kind: 'refuse', reason: 'not_consistent' }
  const verdict: Verdict = isSimulated(chain)
    ? { kind: 'allow' }
    : await judgePolicy(judge, request, planned.atoms, rows.left)
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
  if ((await rows.held(request)) !== request.amountAtoms) return { kind: 'refuse', reason: 'not_held' }
  const destination = destinationOf(request, mode)
  if (!destination) return { kind: 'refuse', reason: 'invalid_address' }
  if (verdict.kind !== 'allow') return verdict
  if (release.kind !== 'release') return release
  // It was asked about as it is here: authentic, and not known to the journal.
  return request.rehearsal === 'reverts'
    ? { kind: 'refuse', reason: 'would_revert' }
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
  const amount = (await readRoom(judge, asset, left))(netAtoms, planned)
  if (amount.kind !== 'allow' || allowlistWaitMs === null) return amount
  return judgeDestination(await readAllowlist(folder), allowlistWaitMs, asset, destination, Date.now())
}

/**
 * What may leave live wallets of one asset, as it was read: asked of so many atoms more.
 *
 * @param planned - Atoms of the same asset that the same transaction pays already.
 */
export type Room = (atoms: bigint, planned: bigint) => Verdict

/**
 * What may leave now. What this signer's journal counts is the least that left; rows of other signers count where they come to
 * more, so that two of them share a limit. Rows can only make it stricter.
 */
async function readRoom(
  { config: { limits }, journal }: Pick<Judge, 'journal' | 'config'>,
  asset: Asset,
  left: LeftRows,
  spans?: typeof FEE_SPANS,
): Promise<Room> {
  if (!limits[asset]) return () => ({ kind: 'allow' })
  const rows = await left(asset)
  const now = Date.now()
  const leftWithin = (span: 'hour' | 'day', ms: number): bigint => {
    return larger(journal.leftSince(asset, true, now - ms), rows[span])
  }
  const within = { hour: leftWithin('hour', HOUR_MS), day: leftWithin('day', DAY_MS) }
  return (atoms, planned) => judgeAmount(limits, asset, atoms, (span) => within[span] + planned, spans)
}

/**
 * What may leave now for fees of a chain; they count against the limits of the coin that they are paid in, per hour and day. How
 * much one fee may be is bounded by the network's rates, and for payouts by what was charged (docs/decisions/0037).
 */
export const readFeeRoom = async (signer: Signer, chain: ChainName): Promise<Room> =>
  isSimulated(chain)
    ? () => ({ kind: 'allow' })
    : readRoom(signer, nativeAsset(chain), readLeftOnce(signer.db), FEE_SPANS)

/**
 * Whether a fee may leave now.
 *
 * @param planned - Atoms of the coin it is paid in that the same transaction pays besides.
 */
export async function allowsFee(
  signer: Signer,
  chain: ChainName,
  feeAtoms: bigint,
  planned: bigint,
): Promise<boolean> {
  const verdict = (await readFeeRoom(signer, chain))(feeAtoms, planned)
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
