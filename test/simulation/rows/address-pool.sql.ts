import type * as real from '../../../src/wallets/address-pool.sql.ts'
import { hex, run } from './tables.ts'

export const isOwnAddress: typeof real.isOwnAddress = (db, _chain, lookup) =>
  run(db, (tables) => tables.addresses.has(hex(lookup)))

export const openAddressPool: typeof real.openAddressPool = () => ({
  take: (db, chain) =>
    run(db, (tables) => {
      const fresh = [...tables.addresses.values()].find((row) => row.branch === 0 && row.paymentId === null)
      if (!fresh) throw new Error(`the pool of ${chain} ran dry`)
      const mac = new Uint8Array()
      const wallet = { chain, series: fresh.series, network: 'regtest', xpub: '', mac } as const
      return { ...fresh, mac, wallet }
    }),
  giveBack() {},
  doubt() {},
})

export const fillAddressPool: typeof real.fillAddressPool = async () => new Map()

/** No story restores a database. */
export const withholdPaid: typeof real.withholdPaid = async () => {}
