/** Keeps the lead of a chain while its node is read: a slow node is no reason to change the leader. */
import { type Lease, renewLease } from '../../chains/chain-progress.sql.ts'
import { messageOf, withoutCredentials } from '../../core/errors.ts'
import { MINUTE_MS, SECOND_MS } from '../../core/time.ts'
import type { Gateway } from '../gateway.ts'

/** A third of the lease: one renewal may fail without anybody else taking the lead. */
const RENEWAL_MS = 2 * SECOND_MS
/**
 * One that waits, for the work's own lock or a slow disk, is not joined by others: they would take all connections. One that took as long
 * as the lease lasts may be lost with its connection, and is joined by a second.
 */
const OVERDUE_BEATS = 3
const UNDERWAY_MAX = 2
/** A leader that hangs is followed all the same: nothing that the work reads before it tells of progress takes this long. */
const STALLED_BEATS_MAX = (2 * MINUTE_MS) / RENEWAL_MS

/**
 * Renews the lease until the work ends. A lease that was lost is not renewed; the next write of the work is refused.
 *
 * @param work - Given how it tells that it came further: with each block, and each part of a mempool that may take long.
 */
export async function whileRenewing<Result>(
  gateway: Gateway,
  lease: Lease,
  work: (progressed: () => void) => Promise<Result>,
): Promise<Result> {
  const underway = new Set<Promise<void>>()
  let beats = 0
  let stalledBeats = 0
  const beat = setInterval(() => {
    if (++stalledBeats > STALLED_BEATS_MAX) return
    if (underway.size > 0 && (++beats < OVERDUE_BEATS || underway.size === UNDERWAY_MAX)) return
    beats = 0
    const begun = renewLease(gateway.db, lease)
      .catch((error: unknown) => {
        const reason = withoutCredentials(messageOf(error))
        gateway.log.warn({ chain: lease.chain, reason }, 'the lead of a chain could not be renewed')
      })
      .finally(() => underway.delete(begun))
    underway.add(begun)
  }, RENEWAL_MS)
  try {
    return await work(() => {
      stalledBeats = 0
    })
  } finally {
    clearInterval(beat)
    // Nothing of it may reach the database after the lead was given back.
    await Promise.all(underway)
  }
}
