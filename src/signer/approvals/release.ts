/** A payout leaves: what of it leaves freely is counted first, and what was approved stands in the journal beside its bytes. */
import { crashPoint } from '../../core/crash-point.ts'
import type { SignedEntry } from '../../treasury/signed-entry.ts'
import type { Signer } from '../context.ts'
import type { Requested } from '../requests.sql.ts'
import type { Release } from './judge-release.ts'

export interface Released {
  readonly request: Requested
  readonly release: Release
}

/**
 * What the journal keeps of it; what leaves freely is counted when it resolves.
 *
 * @param entry - Signed, and nowhere yet but in memory.
 */
export async function withReleases(
  signer: Signer,
  entry: SignedEntry,
  paid: readonly Released[],
): Promise<SignedEntry> {
  const { approvals } = signer
  const now = Date.now()
  const by = (release: Release) =>
    paid.filter((each) => each.release === release).map(({ request }) => request)
  const evidence = await approvals.evidenceOf(by('approved'), now)
  await approvals.countLeft(by('freely'), now)
  crashPoint('signer:left-counted')
  return evidence.length > 0 ? { ...entry, approvals: evidence } : entry
}
