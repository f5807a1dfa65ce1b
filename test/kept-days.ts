import { KEPT_DAYS, type KeptDays } from '../src/flows/operation/ages.ts'

/** As when the operator sets none. */
export const USUAL_KEPT_DAYS = Object.fromEntries(
  Object.entries(KEPT_DAYS).map(([what, { usual }]) => [what, usual]),
) as KeptDays
