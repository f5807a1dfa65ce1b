import type * as real from '../../../src/flows/watching/undo-blocks.sql.ts'
import { existing, run, type Table } from './tables.ts'

/** Changes every row that lost its block. @returns Those that did. */
function changeAll<Row>(table: Table<Row>, isGone: (row: Row) => boolean, to: (row: Row) => Row): Row[] {
  const gone = [...table].filter(([, row]) => isGone(row))
  for (const [key, row] of gone) table.set(key, to(row))
  return gone.map(([, row]) => row)
}

export const undoBlocksAbove: typeof real.undoBlocksAbove = (tx, chain, forkHeight) =>
  run(tx, (tables) => {
    const isGone = (height: number | null) => height !== null && height > forkHeight
    const blocks = [...tables.blocks.keys()].filter((height) => isGone(Number(height)))
    for (const height of blocks) tables.blocks.delete(height)
    const row = existing(tables.chains, chain)
    tables.chains.set(chain, {
      ...row,
      tipHeight: forkHeight,
      tipHash: existing(tables.blocks, String(forkHeight)),
      tipTime: tables.now(),
      capitalHeight: Math.min(row.capitalHeight, forkHeight),
    })
    changeAll(
      tables.utxos,
      (utxo) => isGone(utxo.blockHeight) || isGone(utxo.spentHeight),
      (utxo) => ({
        ...utxo,
        ...(isGone(utxo.blockHeight) ? { blockHeight: null } : {}),
        ...(isGone(utxo.spentHeight) ? { spentBy: null, spentHeight: null } : {}),
      }),
    )
    changeAll(
      tables.unexpectedDeposits,
      (unexpected) => isGone(unexpected.blockHeight),
      (unexpected) => ({ ...unexpected, blockHeight: null, sweep: null }),
    )
    for (const [key, { blockHeight }] of [...tables.gasFunding])
      if (isGone(blockHeight)) tables.gasFunding.delete(key)
    if (tables.mutation === 'reorganisation-ignored') return { blocks: blocks.length, payments: [] }
    changeAll(
      tables.deposits,
      (deposit) => isGone(deposit.replacedHeight),
      (deposit) => ({ ...deposit, replacedHeight: null }),
    )
    const payments = changeAll(
      tables.deposits,
      (deposit) => isGone(deposit.blockHeight),
      (deposit) => ({
        ...deposit,
        status: 'reorganised' as const,
        blockHeight: null,
        blockHash: null,
        missingSince: null,
      }),
    )
    return { blocks: blocks.length, payments }
  })
