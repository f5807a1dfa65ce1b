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

export const countGasNeeded: typeof real.countGasNeeded = (db) =>
  run(db, (tables) => {
    const toMove = (isIt: (asset: string | undefined) => boolean): real.ToMove => {
      const count = <Row>(rows: Iterable<Row>, isOne: (row: Row) => boolean): number =>
        [...rows].filter(isOne).length
      const unswept = count(
        tables.deposits,
        ([key, { booked, asset }]) => booked && !tables.sweptBy.has(key) && isIt(asset),
      )
      const planned = count(
        tables.sweeps.values(),
        ({ asset, status }) => isIt(asset) && ['planned', 'funding', 'funded'].includes(status),
      )
      const payouts = count(
        tables.withdrawals.values(),
        ({ id, asset, status }) => isIt(asset) && status === 'requested' && !tables.payouts.has(id),
      )
      const owed = count(tables.balances, ([key, atoms]) => isIt(key.split(' ')[1]) && atoms > 0n)
      return { sweeps: BigInt(unswept + planned), payouts: BigInt(payouts), isOwed: owed > 0 }
    }
    return {
      ether: toMove((asset) => asset === 'ETH'),
      tokens: toMove((asset) => asset === 'USDC' || asset === 'USDT'),
      deployments: BigInt(
        [...tables.sweepDelegates.values()].filter(
          ({ replacementSet, wantedSince }) => replacementSet === null && wantedSince !== null,
        ).length,
      ),
    }
  })
