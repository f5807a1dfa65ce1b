import type * as real from '../../../src/treasury/impossible.sql.ts'
import { isOpen } from '../../../src/treasury/signed-transaction.ts'
import { existing, membersOf, run } from './tables.ts'

export const listImpossible: typeof real.listImpossible = (db, chain, depth) =>
  run(db, (tables) => {
    const height = existing(tables.chains, chain).tipHeight - depth + 1
    const sets = new Set<string>()
    for (const utxo of tables.utxos.values()) {
      const { reservedBy, spentBy, spentHeight, txid, index, blockHeight } = utxo
      if (reservedBy === null || reservedBy !== utxo.reservedFirstBy) continue
      const chosenFor = tables.signed.get(reservedBy)
      if (!chosenFor || !isOpen(chosenFor.status)) continue
      const isSpent =
        spentBy !== null &&
        spentHeight !== null &&
        spentHeight <= height &&
        tables.signed.get(spentBy)?.replacementSet !== reservedBy
      const deposit = tables.deposits.get(`${txid}:${index}`)
      const isReplaced =
        blockHeight === null &&
        deposit?.replacedHeight !== null &&
        deposit?.replacedHeight !== undefined &&
        deposit.replacedHeight <= height
      const maker = tables.signed.get(txid)
      const isUnmade =
        blockHeight === null &&
        (maker?.status === 'impossible' ||
          (maker?.status === 'displaced' &&
            membersOf(tables, maker.replacementSet).some(
              (member) =>
                member.status === 'confirmed' && member.blockHeight !== null && member.blockHeight <= height,
            )))
      if (isSpent || isReplaced || isUnmade) sets.add(reservedBy)
    }
    return [...sets]
  })

/** An alert is nothing that a story looks at. */
export const listStranded: typeof real.listStranded = async () => []

export const freeUtxos: typeof real.freeUtxos = (tx, _chain, replacementSet) =>
  run(tx, (tables) => {
    for (const utxo of [...tables.utxos.values()])
      if (utxo.reservedBy === replacementSet)
        tables.utxos.set(`${utxo.txid}:${utxo.index}`, { ...utxo, reservedBy: null, reservedFirstBy: null })
  })

export const freeAddedUtxos: typeof real.freeAddedUtxos = (tx, _chain, mined) =>
  run(tx, (tables) => {
    const { createdAt } = existing(tables.signed, mined.txid)
    const later = new Set(
      membersOf(tables, mined.replacementSet)
        .filter((row) => row.createdAt > createdAt && row.status === 'displaced')
        .map(({ txid }) => txid),
    )
    for (const utxo of [...tables.utxos.values()])
      if (
        utxo.reservedBy === mined.replacementSet &&
        utxo.reservedFirstBy !== null &&
        later.has(utxo.reservedFirstBy) &&
        utxo.spentBy === null
      )
        tables.utxos.set(`${utxo.txid}:${utxo.index}`, { ...utxo, reservedBy: null, reservedFirstBy: null })
  })
