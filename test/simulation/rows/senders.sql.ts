import type { Asset } from '../../../src/core/assets.ts'
import type * as real from '../../../src/treasury/senders.sql.ts'
import { isOpen } from '../../../src/treasury/signed-transaction.ts'
import { run } from './tables.ts'

export const raiseNonce: typeof real.raiseNonce = (db, _chain, sender, confirmed) =>
  run(db, (tables) => {
    let next = tables.nonces.get(sender) ?? 0n
    if (confirmed > next) next = confirmed
    for (const row of tables.signed.values())
      if (row.sender === sender && row.nonce !== null && row.nonce >= next) next = row.nonce + 1n
    tables.nonces.set(sender, next)
  })

export const setNonce: typeof real.setNonce = (tx, _chain, address, confirmed) =>
  run(tx, (tables) => {
    const batches = new Set(
      [...tables.sweeps.values()]
        .filter((sweep) => sweep.address === address)
        .map(({ replacementSet }) => replacementSet),
    )
    const isUnderWay = [...tables.signed.values()].some(
      (row) => (row.sender === address || batches.has(row.replacementSet)) && isOpen(row.status),
    )
    if (!tables.nonces.has(address) || !isUnderWay) tables.nonces.set(address, confirmed)
  })

export const forgetSenders: typeof real.forgetSenders = (db) =>
  run(db, (tables) => {
    for (const sender of [...tables.nonces.keys()]) tables.nonces.delete(sender)
    for (const key of [...tables.accountBalances.keys()]) tables.accountBalances.delete(key)
  })

export const storeBalances: typeof real.storeBalances = (db, _chain, address, holdings, seenHeight) =>
  run(db, (tables) => {
    for (const asset of ['ETH', 'USDC', 'USDT'] satisfies Asset[])
      tables.accountBalances.set(`${address} ${asset}`, { atoms: holdings[asset] ?? 0n, seenHeight })
  })
