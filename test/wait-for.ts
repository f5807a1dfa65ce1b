/** Waiting for a state: by looking again and again, never by sleeping for a time that is thought to suffice. */
import assert from 'node:assert/strict'

/** Far longer than anything takes, on a machine that does much else. */
const LIMIT_MS = 120_000

/** Looks until there is something. @throws When it does not come, with its name. */
export async function waitFor<Found>(
  name: string,
  look: () => Promise<Found | null>,
  withinMs = LIMIT_MS,
): Promise<Found> {
  const deadlineMs = performance.now() + withinMs
  for (;;) {
    const found = await look()
    if (found !== null) return found
    assert.ok(performance.now() < deadlineMs, `this did not come within ${withinMs / 1_000} s: ${name}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** Looks until a state is there. @throws When it does not come, with its name. */
export async function until(
  state: string,
  isThere: () => Promise<boolean>,
  withinMs?: number,
): Promise<void> {
  await waitFor(state, async () => (await isThere()) || null, withinMs)
}
