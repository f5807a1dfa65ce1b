/** How old the last complete look at a chain may be: past this the chain is out of sight, and nothing is quoted on it. */
export const POLL_AGE_MS_MAX = 15_000
