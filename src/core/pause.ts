/** Waiting: for a while, or until nobody waits any more; and ever longer for what keeps failing. */
import { setTimeout } from 'node:timers/promises'

/** Resolves after so many milliseconds, or at once when the signal says so. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, signal && { signal }).catch(() => {})
}

export interface Backoff {
  /** After the first failure; every further one in a row doubles it. */
  readonly firstMs: number
  readonly maxMs: number
}

/** How long to wait after so many failures in a row. */
export const backoffMs = (failures: number, { firstMs, maxMs }: Backoff): number =>
  Math.min(maxMs, firstMs * 2 ** Math.max(0, failures - 1))
