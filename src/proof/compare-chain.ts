/**
 * The ledger against the blocks, and the blocks against what the chain says it holds for us now. What disagrees is
 * named: the coin, or the address.
 */
import type { ChainPort, HoldingsQuery, TokensMoved } from '../chains/chain.ts'
import { type Asset, type ChainName, nativeAsset } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'
import {
  findAddresses,
  listFundedAddresses,
  listOwnAddresses,
  listUncertain,
  listUnspent,
  type Sums,
  sumAddresses,
  sumShown,
  sumUnlikeBooks,
  sumWallets,
  type UncertainTransaction,
} from './holdings.sql.ts'

export interface Difference {
  readonly proof: string
  readonly chain: ChainName
  readonly asset: Asset
  /** Whose, or which row, coin or address; null for a sum over the whole gateway. */
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
  readonly shown: Sums
  readonly own: Sums
  readonly bookedBefore: Date
  readonly wallets: Sums
}

export const NO_PAST: PastSums = {
  height: -1,
  shown: new Map(),
  own: new Map(),
  bookedBefore: new Date(0),
  wallets: new Map(),
}

const ALL_HEIGHTS = Number.MAX_SAFE_INTEGER

/** Ledger and blocks, summed in one snapshot: what each asset's `wallet` and all that is outside of it come to. */
export async function proveSums(db: Queryable, chain: ChainName, past: PastSums): Promise<HoldingProof[]> {
  const shown = addSums(
    past.shown,
    (await sumShown(db, chain, { above: past.height, upTo: ALL_HEIGHTS })).atoms,
  )
  const wallets = addSums(
    past.wallets,
    await sumWallets(db, chain, { since: past.bookedBefore, before: null }),
  )
  const outside = await sumUnlikeBooks(db, chain, past.height)
  const assets = new Set([...shown.keys(), ...wallets.keys(), ...outside.map(({ asset }) => asset)])
  return [...assets].sort().map((asset) => ({
    chain,
    asset,
    walletAtoms: wallets.get(asset) ?? 0n,
    outside: Object.fromEntries(
      outside.filter((row) => row.asset === asset).map((row) => [row.reason, row.atoms]),
    ),
    shownAtoms: shown.get(asset) ?? 0n,
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
export interface Place {
  readonly subject: string
  readonly query: HoldingsQuery
  readonly atoms: Sums
}

/** Which coins or addresses to ask the chain about. */
export interface Slice {
  readonly aboveHeight: number
  /** Only places behind this one, in their order. */
  readonly after: string
  readonly limit: number
}

/** Places of one slice, from the same snapshot as the sums; `next` is where a following slice begins. */
export interface PlaceSlice {
  readonly places: readonly Place[]
  readonly next: string | null
}

export async function listCoinPlaces(db: Queryable, chain: ChainName, slice: Slice): Promise<PlaceSlice> {
  const asset = nativeAsset(chain)
  const coins = await listUnspent(db, chain, slice)
  const last = coins.at(-1)
  return {
    places: coins.map(({ txid, index, atoms }) => ({
      subject: `coin ${txid}:${index}`,
      query: { outpoints: [{ txid, index }], addresses: [] },
      atoms: new Map([[asset, atoms]]),
    })),
    next: last && coins.length === slice.limit ? `${last.txid}:${last.index}` : null,
  }
}

/** Our transactions that only the chain can place, with where it has them now. */
export type Placed = UncertainTransaction & {
  readonly now: { reverted: boolean; feeAtoms: bigint; swept: readonly SweptFrom[] } | null
}

/** Tokens of an address of ours that a batch brought to the hot wallet. */
interface SweptFrom {
  readonly address: string
  readonly asset: Asset
  readonly atoms: bigint
}

/** @param tipHeight - What a node shows above it does not count yet. */
export async function placeUncertain(db: Queryable, port: ChainPort, tipHeight: number): Promise<Placed[]> {
  const placed: Placed[] = []
  for (const transaction of await listUncertain(db, port.chain)) {
    const found = await port.findTransaction(transaction.txid)
    placed.push({
      ...transaction,
      now:
        found?.block && found.block.height <= tipHeight
          ? {
              reverted: found.reverted ?? false,
              feeAtoms: found.feeAtoms ?? transaction.feeAtoms,
              swept: await sweptBy(db, port.chain, transaction, found.tokensMoved ?? []),
            }
          : null,
    })
  }
  return placed
}

/** What a transaction moves from its own sender is its value, and counted as such. */
async function sweptBy(
  db: Queryable,
  chain: ChainName,
  { sender }: UncertainTransaction,
  moved: readonly TokensMoved[],
): Promise<SweptFrom[]> {
  const addresses = await findAddresses(
    db,
    chain,
    moved.map(({ from }) => from),
  )
  return moved.flatMap(({ asset, atoms }, position) => {
    const address = addresses[position]
    return address && address !== sender ? [{ address, asset, atoms }] : []
  })
}

export async function listAddressPlaces(
  db: Queryable,
  chain: ChainName,
  slice: Slice,
  uncertain: readonly Placed[],
): Promise<PlaceSlice> {
  const addresses = await listFundedAddresses(db, chain, slice)
  const txids = uncertain.map(({ txid }) => txid)
  const held = new Map<string, Sums>(addresses.map((address) => [address, new Map()]))
  const add = (address: string, asset: Asset, atoms: bigint) => {
    const sums = held.get(address)
    sums?.set(asset, (sums.get(asset) ?? 0n) + atoms)
  }
  for (const { address, asset, atoms } of await sumAddresses(db, chain, addresses, txids))
    add(address, asset, atoms)
  for (const { sender, asset, valueAtoms, now } of uncertain) {
    if (!now) continue
    add(sender, asset, now.reverted ? 0n : -valueAtoms)
    add(sender, 'ETH', -now.feeAtoms)
    for (const { address, asset: token, atoms } of now.swept) add(address, token, -atoms)
  }
  const last = addresses.at(-1)
  return {
    places: [...held].map(([address, atoms]) => ({
      subject: `address ${address}`,
      query: { outpoints: [], addresses: [address] },
      atoms,
    })),
    next: last && addresses.length === slice.limit ? last : null,
  }
}

/** The hot wallet, with what retired ones still hold. @param own - What our rows say it holds. */
export async function ownPlace(
  db: Queryable,
  chain: ChainName,
  own: Sums,
  uncertain: readonly Placed[],
): Promise<Place> {
  const atoms: Sums = new Map(own)
  const add = (asset: Asset, amount: bigint) => atoms.set(asset, (atoms.get(asset) ?? 0n) + amount)
  for (const { isOwn, asset, valueAtoms, feeAtoms, blockHeight, reverted, swept, now } of uncertain) {
    const move = (sign: bigint, failed: boolean, fee: bigint) => {
      add(asset, failed ? 0n : isOwn ? -sign * valueAtoms : sign * valueAtoms)
      if (isOwn) add('ETH', -sign * fee)
    }
    if (blockHeight !== null) {
      move(-1n, reverted, feeAtoms)
      for (const moved of swept) add(moved.asset, -moved.atoms)
    }
    if (now) {
      move(1n, now.reverted, now.feeAtoms)
      for (const moved of now.swept) add(moved.asset, moved.atoms)
    }
  }
  return {
    subject: 'the hot wallet',
    query: { outpoints: [], addresses: await listOwnAddresses(db, chain) },
    atoms,
  }
}

export interface Stray {
  readonly subject: string
  readonly asset: Asset
  readonly expectedAtoms: bigint
  readonly foundAtoms: bigint
}

/**
 * Asks about all places at once, and by halves about those that do not add up, until each stray is named.
 *
 * @param at - The block that the places were read at.
 */
export async function findStrays(port: ChainPort, places: readonly Place[], at: string): Promise<Stray[]> {
  const [first] = places
  if (!first) return []
  const found = await port.holdings({
    outpoints: places.flatMap(({ query }) => query.outpoints),
    addresses: places.flatMap(({ query }) => query.addresses),
    at,
  })
  const expected = places.reduce<Sums>((sums, { atoms }) => addSums(sums, atoms), new Map())
  const assets = [...new Set([...expected.keys(), ...(Object.keys(found) as Asset[])])].filter(
    (asset) => (expected.get(asset) ?? 0n) !== (found[asset] ?? 0n),
  )
  if (assets.length === 0) return []
  if (places.length > 1) {
    const middle = places.length >> 1
    return [
      ...(await findStrays(port, places.slice(0, middle), at)),
      ...(await findStrays(port, places.slice(middle), at)),
    ]
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
