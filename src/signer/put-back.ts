/**
 * What a restored database forgot of transactions that it knows: their bumps. Without them it would take the coins of a
 * payout for spent by somebody else, and wait for a transaction that was replaced long ago. Payouts that it forgot as a
 * whole are put back when they are asked for again; see `restorePaid`. On chains with accounts all lines are, for each used a
 * nonce.
 */
import type { ChainName } from '../core/assets.ts'
import { listForgotten, listUnknown } from '../treasury/restore-signed.sql.ts'
import { putBackSet, type Signer } from './context.ts'
import { logWaiting } from './log-waiting.ts'

const BUMPS_PER_QUERY = 1_000

/** To be called when the signer starts: databases are restored while it does not run. @returns How many lines. */
export async function putBackBumps(signer: Signer): Promise<number> {
  const lines = signer.journal.bumpedLines().filter(([first]) => first && signer.vault.has(first[0]))
  let putBack = 0
  for (let start = 0; start < lines.length; start += BUMPS_PER_QUERY) {
    const some = lines.slice(start, start + BUMPS_PER_QUERY)
    for (const line of await listForgotten(signer.db, some)) {
      const entries = await Promise.all(line.map(([chain, txid]) => signer.journal.entryOf(chain, txid)))
      if (
        await putBackSet(
          signer,
          entries.filter((entry) => entry !== null),
        )
      )
        putBack += 1
    }
  }
  return putBack
}

/** How many lines are compared with the database at once. */
const COMPARED_LINES = 500

/**
 * Chains with accounts: puts back every line that was sent and that the database does not know, newest first until it knows
 * one. Each used a nonce that nothing new may use, and moved coins that would be taken for strangers'.
 */
export async function putBackLines(signer: Signer, chain: ChainName): Promise<void> {
  const placed = signer.journal.placedLines(chain)
  const newest = placed.at(-1)
  if (newest === undefined || (await listUnknown(signer.db, chain, [newest])).length === 0) return
  const forgotten: string[] = []
  for (let end = placed.length; end > 0; end -= COMPARED_LINES) {
    const some = placed.slice(Math.max(0, end - COMPARED_LINES), end)
    const unknown = await listUnknown(signer.db, chain, some)
    forgotten.unshift(...unknown)
    if (unknown.length < some.length) break
  }
  for (const line of forgotten) {
    const entries = (await signer.journal.lineOf(chain, line)).filter(({ txid }) =>
      signer.journal.isPlaced(chain, txid),
    )
    if (await putBackSet(signer, entries)) continue
    logWaiting(signer, chain, line, 'the database forgot it, and it cannot be put back; look into it')
  }
}
