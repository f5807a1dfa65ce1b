/** How long one turn looks through what waits on a chain: the next one goes on behind, so that no chain waits for another. */
import type { Signer } from './context.ts'
import type { ChainKeys } from './vault.ts'

const LOOK_MS = 5_000

export interface Look<Place> {
  /** Where the look begins: behind what was looked at last; null at the first of all. */
  readonly after: Place | null
  /** Its time is up, or the signer is to end. */
  isOver(): boolean
  /** @param at - Where the next look begins; null once nothing is behind. */
  end(at: Place | null): void
}

/** What begins looks of one kind. Places are kept in memory only: after a restart a look begins at the first of all. */
export function rememberLooks<Place>(): (signer: Signer, keys: ChainKeys) => Look<Place> {
  const places = new WeakMap<ChainKeys, Place>()
  return ({ lookMs = LOOK_MS, stopping }, keys) => {
    const until = performance.now() + lookMs
    return {
      after: places.get(keys) ?? null,
      isOver: () => stopping?.aborted === true || performance.now() >= until,
      end(at) {
        if (at === null) places.delete(keys)
        else places.set(keys, at)
      },
    }
  }
}
