import { nativeAsset } from '../../../src/core/assets.ts'
import type * as real from '../../../src/treasury/needed-gas.sql.ts'
import { isOpen } from '../../../src/treasury/signed-transaction.ts'
import { run } from './tables.ts'

export const sumOpenFees: typeof real.sumOpenFees = (db, chain, asset) =>
  run(db, (tables) => {
    if (asset !== nativeAsset(chain)) return 0n
    const most = new Map<string, bigint>()
    for (const { status, replacementSet, feeAtoms, bookedFeeAtoms } of tables.signed.values()) {
      const fee = feeAtoms - bookedFeeAtoms
      if (isOpen(status) && fee > (most.get(replacementSet) ?? -1n)) most.set(replacementSet, fee)
    }
    return [...most.values()].reduce((sum, fee) => sum + fee, 0n)
  })

const isToken = (asset: string): boolean => asset === 'USDC' || asset === 'USDT'

export const countGasNeeded: typeof real.countGasNeeded = (db) =>
  run(db, (tables) => ({
    sweeps: BigInt(
      [...tables.deposits].filter(
        ([key, { booked, asset }]) => booked && !tables.sweptBy.has(key) && isToken(asset),
      ).length,
    ),
    payouts: BigInt(
      [...tables.withdrawals.values()].filter(
        ({ id, asset, status }) => isToken(asset) && status === 'requested' && !tables.payouts.has(id),
      ).length,
    ),
    owesTokens: [...tables.balances].some(([key, atoms]) => isToken(key.split(' ')[1] ?? '') && atoms > 0n),
  }))
