/** How long one turn scans what waits on a chain: the next one goes on behind, so that no chain waits for another. */
import type { Signer } from './context.ts'
import type { ChainKeys } from './vault.ts'

const SCAN_MS = 5_000

export interface Scan<Cursor> {
  /** Where the scan begins: behind what was scanned last; null at the first of all. */
  readonly after: Cursor | null
  /** Its time is up, or the signer is to end. */
  isOver(): boolean
  /** @param at - Where the next scan begins; null once nothing is behind. */
  end(at: Cursor | null): void
}

/** What begins scans of one kind. Cursors are kept in memory only: after a restart a scan begins at the first of all. */
export function rememberScans<Cursor>(): (signer: Signer, keys: ChainKeys) => Scan<Cursor> {
  const cursors = new WeakMap<ChainKeys, Cursor>()
  return ({ scanMs = SCAN_MS, stopping }, keys) => {
    const until = performance.now() + scanMs
    return {
      after: cursors.get(keys) ?? null,
      isOver: () => stopping?.aborted === true || performance.now() >= until,
      end(at) {
        if (at === null) cursors.delete(keys)
        else cursors.set(keys, at)
      },
    }
  }
}
