import type * as real from '../../../src/treasury/gas-funding.sql.ts'
import { run } from './tables.ts'

export const recordGasFunding: typeof real.recordGasFunding = (tx, { txid, address, atoms, blockHeight }) =>
  run(tx, (tables) => {
    const before = tables.gasFunding.get(`${txid} ${address}`)
    const row = before ?? { txid, address, atoms, sweep: null }
    tables.gasFunding.set(`${txid} ${address}`, { ...row, blockHeight })
  })
