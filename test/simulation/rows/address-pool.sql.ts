import type * as real from '../../../src/wallets/address-pool.sql.ts'
import { hex, run } from './tables.ts'

export const isOwnAddress: typeof real.isOwnAddress = (db, _chain, lookup) =>
  run(db, (tables) => tables.addresses.has(hex(lookup)))

export const openAddressPool: typeof real.openAddressPool = () => ({
  issue: (tx, chain, accountId, paymentId) =>
    run(tx, (tables) => {
      const fresh = [...tables.addresses.values()].find((row) => row.branch === 0 && row.paymentId === null)
      if (!fresh) throw new Error(`the pool of ${chain} ran dry`)
      tables.addresses.set(hex(fresh.lookup), { ...fresh, accountId, paymentId })
      return fresh.address
    }),
  isAuthentic: async () => true,
})

export const fillAddressPool: typeof real.fillAddressPool = async () => 0
