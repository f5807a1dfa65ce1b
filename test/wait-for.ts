import assert from 'node:assert/strict'

/** Far longer than anything takes, on a machine that does much else. */
const LIMIT_MS = 120_000

/** Looks until there is something. @throws When it does not come, with its name. */
export async function waitFor<Found>(name: string, look: () => Promise<Found | null>): Promise<Found> {
  const deadlineMs = Date.now() + LIMIT_MS
  for (;;) {
    const found = await look()
    if (found !== null) return found
    assert.ok(Date.now() < deadlineMs, `this did not come within ${LIMIT_MS / 1_000} s: ${name}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
