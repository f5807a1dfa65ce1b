/**
 * The ledger against the blocks, and the blocks against what the chain says it holds for us now. What disagrees is
 * named: the UTXO, or the address.
 */
import type { ChainPort, HoldingsQuery } from '../chains/chain.ts'
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'
import { type Sums, sumObserved, sumUnlikeBooks, sumWallets } from './holdings.sql.ts'

export interface Difference {
  readonly proof: string
  readonly chain: ChainName
  readonly asset: Asset
  /** Whose, or which row, UTXO or address; null for a sum over the whole gateway. */
  readonly subject: string | null
  readonly expectedAtoms: bigint
  readonly foundAtoms: bigint
}

export interface HoldingProof {
  readonly chain: ChainName
  readonly asset: Asset
  /** The ledger's `wallet`. */
  readonly walletAtoms: bigint
  /** What blocks showed and the ledger does not count yet or any more, by reason. */
  readonly outside: Readonly<Record<string, bigint>>
  /** What blocks gave us less what they took. */
  readonly shownAtoms: bigint
}

/** Sums of the past that need not be added up again. */
export interface PastSums {
  readonly height: number
  readonly observed: Sums
  readonly hotWallet: Sums
  readonly bookedBefore: Date
  readonly wallets: Sums
}

export const NO_PAST: PastSums = {
  height: -1,
  observed: new Map(),
  hotWallet: new Map(),
  bookedBefore: new Date(0),
  wallets: new Map(),
}

const ALL_HEIGHTS = Number.MAX_SAFE_INTEGER

/** Ledger and blocks, summed in one snapshot: what each asset's `wallet` and all that is outside of it come to. */
export async function proveSums(db: Queryable, chain: ChainName, past: PastSums): Promise<HoldingProof[]> {
  const observed = addSums(
    past.observed,
    (await sumObserved(db, chain, { above: past.height, upTo: ALL_HEIGHTS })).atoms,
  )
  const wallets = addSums(
    past.wallets,
    await sumWallets(db, chain, { since: past.bookedBefore, before: null }),
  )
  const outside = await sumUnlikeBooks(db, chain, past.height)
  const assets = new Set([...observed.keys(), ...wallets.keys(), ...outside.map(({ asset }) => asset)])
  return [...assets].sort().map((asset) => ({
    chain,
    asset,
    walletAtoms: wallets.get(asset) ?? 0n,
    outside: Object.fromEntries(
      outside.filter((row) => row.asset === asset).map((row) => [row.reason, row.atoms]),
    ),
    shownAtoms: observed.get(asset) ?? 0n,
  }))
}

export const differencesOf = (holdings: readonly HoldingProof[]): Difference[] =>
  holdings.flatMap(({ chain, asset, walletAtoms, outside, shownAtoms }) => {
    const expectedAtoms = Object.values(outside).reduce((sum, atoms) => sum + atoms, walletAtoms)
    return expectedAtoms === shownAtoms
      ? []
      : [{ proof: 'books = blocks', chain, asset, subject: null, expectedAtoms, foundAtoms: shownAtoms }]
  })

/** Something the chain can be asked about, and what it should hold. */
export interface Holder {
  readonly subject: string
  readonly query: HoldingsQuery
  readonly atoms: Sums
}

export interface Stray extends Omit<Difference, 'proof' | 'chain'> {
  readonly subject: string
}

/**
 * Asks about all holders at once, and by halves about those that do not add up, until each stray is named.
 *
 * @param at - The block that the holders were read at.
 */
export async function findStrays(port: ChainPort, holders: readonly Holder[], at: string): Promise<Stray[]> {
  const [first] = holders
  if (!first) return []
  const found = await port.holdings({
    outpoints: holders.flatMap(({ query }) => query.outpoints),
    addresses: holders.flatMap(({ query }) => query.addresses),
    at,
  })
  const expected = holders.reduce<Sums>((sums, { atoms }) => addSums(sums, atoms), new Map())
  const assets = [...new Set([...expected.keys(), ...(Object.keys(found) as Asset[])])].filter(
    (asset) => (expected.get(asset) ?? 0n) !== (found[asset] ?? 0n),
  )
  if (assets.length === 0) return []
  if (holders.length > 1) {
    const middle = holders.length >> 1
    const halves = [holders.slice(0, middle), holders.slice(middle)]
    return (await Promise.all(halves.map((half) => findStrays(port, half, at)))).flat()
  }
  return assets.map((asset) => ({
    subject: first.subject,
    asset,
    expectedAtoms: expected.get(asset) ?? 0n,
    foundAtoms: found[asset] ?? 0n,
  }))
}

/**
 * Ether that nobody announced: contracts send it without a trace in blocks, and so can anybody at any time. It is
 * recorded by the watcher's daily comparison, or as capital; more than expected is never a reason to stop payouts.
 */
export const isGift = ({ asset, expectedAtoms, foundAtoms }: Stray): boolean =>
  asset === 'ETH' && foundAtoms > expectedAtoms

export const strayDifference = (chain: ChainName, stray: Stray): Difference => ({
  proof: 'blocks = chain',
  chain,
  ...stray,
})

export function addSums(one: Sums, other: Sums): Sums {
  const sums: Sums = new Map(one)
  for (const [asset, atoms] of other) sums.set(asset, (sums.get(asset) ?? 0n) + atoms)
  return sums
}
