import type * as real from '../../../src/wallets/address-pool.sql.ts'
import { type AddressRow, existing, hex, run, type Tables } from './tables.ts'

export const isOwnAddress: typeof real.isOwnAddress = (db, _chain, lookup) =>
  run(db, (tables) => tables.addresses.has(hex(lookup)))

export const openAddressPool: typeof real.openAddressPool = () => ({
  take: (db, chain) =>
    run(db, (tables) => {
      const fresh = [...tables.addresses.values()].find(isFresh)
      if (!fresh) throw new Error(`the pool of ${chain} ran dry`)
      const mac = new Uint8Array()
      const wallet = { chain, series: fresh.series, network: 'regtest', xpub: '', mac } as const
      return { ...fresh, mac, wallet }
    }),
  giveBack() {},
  doubt() {},
})

export const fillAddressPool: typeof real.fillAddressPool = async () => new Map()

/** What is withheld does not depend on it here. */
export const countIssuedLately: typeof real.countIssuedLately = async () => new Map()

/** Beyond them as many again are fresh, as the pool is filled: more than a story hands out at all. */
export const withholdFresh: typeof real.withholdFresh = (db) =>
  run(db, (tables) => {
    if (tables.mutation === 'addresses-not-withheld') return
    for (const row of [...tables.addresses.values()]) if (isFresh(row)) withhold(tables, row)
    const next = Math.max(...[...tables.addresses.values()].map(positionOf)) + 1
    for (const row of tables.deriveFresh(BigInt(next))) tables.addresses.set(hex(row.lookup), row)
  })

export const withholdPaid: typeof real.withholdPaid = (tx, _chain, lookups) =>
  run(tx, (tables) => {
    const paid = lookups.map((lookup) => positionOf(existing(tables.addresses, hex(lookup))))
    for (const row of [...tables.addresses.values()])
      if (isFresh(row) && positionOf(row) <= Math.max(...paid)) withhold(tables, row)
  })

const positionOf = ({ branch, position }: AddressRow): number => (branch === 0 ? Number(position) : -1)
const isFresh = ({ branch, paymentId, isWithheld }: AddressRow): boolean =>
  branch === 0 && paymentId === null && !isWithheld
const withhold = (tables: Tables, row: AddressRow): void =>
  tables.addresses.set(hex(row.lookup), { ...row, isWithheld: true })
