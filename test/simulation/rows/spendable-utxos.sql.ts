import type * as real from '../../../src/signer/spendable-utxos.sql.ts'
import { existing, hex, isComing, run, type Tables, type UtxoRow } from './tables.ts'

export const listSpendable: typeof real.listSpendable = (db, { chain, depositDepth, limit }) =>
  run(db, (tables) => {
    const { tipHeight } = existing(tables.chains, chain)
    return [...tables.utxos.values()]
      .filter(
        ({ txid, blockHeight, spentBy, reservedBy }) =>
          blockHeight !== null &&
          spentBy === null &&
          reservedBy === null &&
          tipHeight - blockHeight + 1 >= (tables.signed.has(txid) ? 1 : depositDepth),
      )
      .map((utxo) => owned(tables, utxo))
      .sort((a, b) =>
        a.atoms !== b.atoms
          ? a.atoms < b.atoms
            ? 1
            : -1
          : a.txid !== b.txid
            ? a.txid < b.txid
              ? -1
              : 1
            : a.index - b.index,
      )
      .slice(0, limit)
  })

export const sumExpectedChange: typeof real.sumExpectedChange = (db) =>
  run(db, (tables) =>
    [...tables.utxos.values()]
      .filter((utxo) => {
        const signed = tables.signed.get(utxo.txid)
        const isExpected = signed?.blockHeight === null && isComing(tables, signed)
        return isExpected && utxo.blockHeight === null && utxo.spentBy === null && utxo.reservedBy === null
      })
      .reduce((sum, { atoms }) => sum + atoms, 0n),
  )

export const listUtxos: typeof real.listUtxos = (db, { replacementSet }, outpoints) =>
  run(db, (tables) =>
    outpoints.flatMap(({ txid, index }) => {
      const utxo = tables.utxos.get(`${txid}:${index}`)
      const isFree =
        utxo?.spentBy === null && (utxo.reservedBy === null || utxo.reservedBy === replacementSet)
      return utxo && isFree ? [owned(tables, utxo)] : []
    }),
  )

function owned(tables: Tables, utxo: UtxoRow): real.OwnedUtxo {
  const { branch, position } = existing(tables.addresses, hex(utxo.lookup))
  return { txid: utxo.txid, index: utxo.index, atoms: utxo.atoms, script: utxo.lookup, branch, position }
}
