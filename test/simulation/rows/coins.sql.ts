import type * as real from '../../../src/treasury/coins.sql.ts'
import { existing, hex, run } from './tables.ts'

export const recordCoins: typeof real.recordCoins = (tx, chain, block, isOurs) =>
  run(tx, (tables) => {
    for (const { key, outputs } of block.transactions)
      for (const { lookup, index, atoms } of outputs) {
        if (!isOurs(lookup)) continue
        const place = `${key}:${index}`
        const known = tables.coins.get(place)
        if (known?.blockHeight === block.height) continue
        tables.coins.set(
          place,
          known
            ? { ...known, blockHeight: block.height }
            : {
                chain,
                txid: key,
                index,
                lookup,
                atoms,
                blockHeight: block.height,
                spentBy: null,
                spentHeight: null,
                reservedBy: null,
                reservedFirstBy: null,
              },
        )
      }
  })

export const markCoinsSpent: typeof real.markCoinsSpent = (tx, _chain, blockHeight, spends) =>
  run(tx, (tables) => {
    for (const { txKey, spentTx, spentIndex } of spends) {
      const coin = tables.coins.get(`${spentTx}:${spentIndex}`)
      if (coin)
        tables.coins.set(`${spentTx}:${spentIndex}`, { ...coin, spentBy: txKey, spentHeight: blockHeight })
    }
  })

export const listSpendHeights: typeof real.listSpendHeights = (db, _chain, txids) =>
  run(db, (tables) => {
    const heights = new Map<string, number>()
    for (const { txid, blockHeight, spentBy, spentHeight } of tables.coins.values()) {
      if (spentBy !== null && spentHeight !== null && txids.includes(spentBy))
        heights.set(spentBy, spentHeight)
      if (blockHeight !== null && txids.includes(txid)) heights.set(txid, blockHeight)
    }
    return heights
  })
export const listUtxoAtoms: typeof real.listUtxoAtoms = (db, { chain, series, least, limit }) =>
  run(db, (tables) =>
    [...tables.coins.values()]
      .filter(
        (coin) =>
          coin.chain === chain &&
          coin.spentBy === null &&
          coin.reservedBy === null &&
          coin.atoms >= least &&
          existing(tables.addresses, hex(coin.lookup)).series === series,
      )
      .map(({ atoms }) => atoms)
      .sort((a, b) => Number(b - a))
      .slice(0, limit),
  )

export const sumUtxos: typeof real.sumUtxos = async (db, of) =>
  (await listUtxoAtoms(db, { ...of, least: 0n, limit: Number.POSITIVE_INFINITY })).reduce(
    (sum, atoms) => sum + atoms,
    0n,
  )
