import type { Queryable } from '../../../src/db/database.ts'
import type * as real from '../../../src/flows/watching/own-addresses.sql.ts'
import { DEPOSIT_BRANCH } from '../../../src/wallets/derivation.ts'
import { existing, hex, run } from './tables.ts'

export const matchOwn: typeof real.matchOwn = async (db, chain, transactions) => {
  const own = await matchOwnAddresses(db, chain, transactions)
  const known = await listKnownSpent(db)
  for (const { key, inputs } of own.paying)
    for (const txid of [key, ...inputs.map((input) => input.txid)]) known.add(txid)
  return { ...own, spends: transactions.flatMap(spendsOf).filter(({ spentTx }) => known.has(spentTx)) }
}

export const matchOwnAddresses: typeof real.matchOwnAddresses = (db, _chain, transactions) =>
  run(db, (tables) => {
    const own = new Map<string, real.IssuedAddress | null>()
    for (const { lookup } of transactions.flatMap(({ outputs }) => outputs)) {
      const row = tables.addresses.get(hex(lookup))
      if (!row) continue
      if (row.paymentId === null) {
        own.set(hex(lookup), null)
        continue
      }
      const payment = existing(tables.payments, row.paymentId)
      own.set(hex(lookup), {
        address: row.address,
        accountId: payment.accountId,
        paymentId: payment.id,
        mode: 'test',
        fiatCurrency: payment.fiatCurrency,
        requiredConfirmations: payment.requiredConfirmations,
        windowEndsAt: payment.expiresAt,
      })
    }
    const paying = transactions.filter(({ outputs }) => outputs.some(({ lookup }) => own.has(hex(lookup))))
    return {
      paying,
      find: (lookup) => own.get(hex(lookup)),
      depositAddress(lookup) {
        const row = tables.addresses.get(hex(lookup))
        return row?.branch === DEPOSIT_BRANCH ? row.address : null
      },
    }
  })

export const spendsOf: typeof real.spendsOf = ({ key, inputs }) =>
  inputs.map(({ txid, index }) => ({ txKey: key, spentTx: txid, spentIndex: index }))

const listKnownSpent = (db: Queryable): Promise<Set<string>> =>
  run(db, (tables) => {
    const known = new Set<string>()
    for (const utxo of tables.utxos.values()) known.add(utxo.txid)
    for (const input of tables.inputs.values()) known.add(input.spentTx)
    return known
  })

export const listOwnTransactions: typeof real.listOwnTransactions = (db, _chain, txids) =>
  run(db, (tables) => new Set(txids.filter((txid) => tables.signed.has(txid))))

export const listWatchedEtherAddresses: typeof real.listWatchedEtherAddresses = async () => []
