import { isPayable, type Withdrawal } from '../../../src/withdrawals/withdrawal.ts'
import type * as real from '../../../src/withdrawals/withdrawals.sql.ts'
import { existing, isWaiting, run } from './tables.ts'

export const listRecentWithdrawals: typeof real.listRecentWithdrawals = (db, _accountId, limit) =>
  run(db, (tables) => [...tables.withdrawals.values()].reverse().slice(0, limit))

export const findWithdrawal: typeof real.findWithdrawal = (db, _accountId, id) =>
  run(db, (tables) => tables.withdrawals.get(id) ?? null)

export const lockWithdrawal: typeof real.lockWithdrawal = (tx, accountId, id) =>
  findWithdrawal(tx, accountId, id)

export const lockPaidBy: typeof real.lockPaidBy = (tx, _chain, replacementSet) =>
  run(tx, (tables) =>
    [...tables.withdrawals.values()].filter(({ id }) => tables.payouts.get(id) === replacementSet),
  )

export const listRefused: typeof real.listRefused = (db, limit, aside) =>
  run(db, (tables) =>
    [...tables.withdrawals.values()]
      .filter(
        (each) =>
          each.status === 'requested' &&
          each.refusedReason !== null &&
          !tables.payouts.has(each.id) &&
          !aside.includes(each.id),
      )
      .slice(0, limit),
  )

export const isSigned: typeof real.isSigned = (tx, _accountId, id) =>
  run(tx, (tables) => tables.payouts.has(id))

export const updateWithdrawal: typeof real.updateWithdrawal = (tx, of, { status, txHash, reason }) =>
  run(tx, (tables) => {
    const before = existing(tables.withdrawals, of.id)
    const after: Withdrawal & { mac: Uint8Array } = {
      ...before,
      status,
      txHash,
      refusedReason: reason ?? before.refusedReason,
      completedAt: status === 'completed' ? (before.completedAt ?? tables.now()) : null,
    }
    tables.withdrawals.set(of.id, after)
    return after
  })

/** No call reverts on the simulated chain. */
export const markRefused: typeof real.markRefused = (db, { id }, reason) =>
  run(db, (tables) => {
    if (isWaiting(tables, id))
      tables.withdrawals.set(id, { ...existing(tables.withdrawals, id), refusedReason: reason })
  })

export const lockByIds: typeof real.lockByIds = (tx, wanted) =>
  run(tx, (tables) =>
    wanted.flatMap(({ id }) => {
      const row = tables.withdrawals.get(id)
      return row ? [row] : []
    }),
  )

export const sumUnsigned: typeof real.sumUnsigned = (db, _chain, asset) =>
  run(db, (tables) =>
    [...tables.withdrawals.values()]
      .filter((row) => row.asset === asset && isWaiting(tables, row.id))
      .reduce(
        (sum, { netAtoms, networkFeeAtoms }) => ({
          netAtoms: sum.netAtoms + netAtoms,
          takenAtoms: sum.takenAtoms + netAtoms + networkFeeAtoms,
        }),
        { netAtoms: 0n, takenAtoms: 0n },
      ),
  )

/** No story cancels, and nothing that decides looks at why one waits. */
export const listCancelWanted: typeof real.listCancelWanted = async () => []

/** So of the marks that keep a withdrawal from being cancelled only who is given one decides anything. */
export const markSigning: typeof real.markSigning = (tx, wanted) =>
  run(tx, (tables) =>
    wanted.filter(({ id }) => {
      const row = tables.withdrawals.get(id)
      // Asks for what the key would refuse: without the key, without the question.
      const isUnpaid = tables.mutation === 'payout-key-not-unique' || isWaiting(tables, id)
      return row !== undefined && isPayable(row) && isUnpaid && !tables.freezes.has(row.asset)
    }),
  )
export const clearSigning: typeof real.clearSigning = async () => {}
export const listSigning: typeof real.listSigning = async () => []
export const noteWaiting: typeof real.noteWaiting = async () => {}

export const isAskedFor: typeof real.isAskedFor = (db, chain, asset) =>
  run(db, (tables) =>
    [...tables.withdrawals.values()].some(
      (row) => row.chain === chain && row.asset === asset && isWaiting(tables, row.id),
    ),
  )
