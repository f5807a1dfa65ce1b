/**
 * What a restored database forgot of transactions that it knows: their bumps. Without them it would take the coins of a
 * payout for spent by somebody else, and wait for a transaction that was replaced long ago. Payouts that it forgot as a
 * whole are put back when they are asked for again; see `restorePaid`.
 */
import { putBackLine, type Signer } from './context.ts'
import { listForgotten } from './restore-line.sql.ts'

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
        await putBackLine(
          signer,
          entries.filter((entry) => entry !== null),
        )
      )
        putBack += 1
    }
  }
  return putBack
}
