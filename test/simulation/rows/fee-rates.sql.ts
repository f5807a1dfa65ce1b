import type * as real from '../../../src/treasury/fee-rates.sql.ts'
import { run } from './tables.ts'

export const findFeeRates: typeof real.findFeeRates = (db, chain) =>
  run(db, (tables) => tables.feeRates.get(chain) ?? null)

export const storeFeeRates: typeof real.storeFeeRates = (db, chain, rates) =>
  run(db, (tables) => {
    tables.feeRates.set(chain, rates)
  })
