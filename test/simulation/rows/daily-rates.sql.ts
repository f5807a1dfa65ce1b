import { ASSETS } from '../../../src/core/assets.ts'
import type * as real from '../../../src/rates/daily-rates.sql.ts'
import { fixedRates } from '../../../src/rates/fixed.ts'
import { TEST_RATES } from '../../rates.ts'
import { run } from './tables.ts'

const rates = fixedRates(TEST_RATES)

/** Every day of a story has the same rates. */
export const listClosingRates: typeof real.listClosingRates = (db) =>
  run(db, () =>
    ASSETS.map((asset) => ({ mode: 'test', asset, fiat: 'USD', ratio: rates.rate(asset, 'USD').ratio })),
  )
