/**
 * The whole proof of the books. Every sum is computed on two sides that were written independently: balances against
 * transfers, entries against what they book, the ledger against the blocks, and the blocks against the chain, coin by
 * coin and address by address. `prove-block.ts` proves after each block what that block changed.
 */
import type { ChainPort } from '../chains/chain.ts'
import { type ChainView, findChainView, listChainViews } from '../chains/chain-view.sql.ts'
import { type ChainName, hasAccounts } from '../core/assets.ts'
import { OutsideFailure } from '../core/errors.ts'
import type { Database, Queryable, Tx } from '../db/database.ts'
import { listFreezes, thaw } from '../ledger/freezes.sql.ts'
import { sumGasLeft, sumUnswept, type Unswept } from '../treasury/sweeps.sql.ts'
import {
  type Difference,
  differencesOf,
  findStrays,
  type HoldingProof,
  isGift,
  listAddressPlaces,
  listCoinPlaces,
  NO_PAST,
  ownPlace,
  type PlaceSlice,
  placeUncertain,
  proveSums,
  type Slice,
  type Stray,
  strayDifference,
} from './compare-chain.ts'
import { sumShown } from './holdings.sql.ts'
import { PROOFS } from './reconcile.sql.ts'

export type { Difference, HoldingProof } from './compare-chain.ts'

export interface Proof {
  /** Everything that does not agree; empty when the books balance. */
  readonly differences: readonly Difference[]
  /** One line per chain and asset: the ledger beside the blocks. */
  readonly holdings: readonly HoldingProof[]
  /** Ether that the chain holds at an address and no block announced. */
  readonly gifts: readonly (Stray & { readonly chain: ChainName })[]
  /** Chains that were asked and stood still meanwhile. */
  readonly compared: readonly ChainName[]
  /** Deposits that lie at their own addresses until they are worth the gas of a sweep. */
  readonly unswept: readonly (Unswept & { readonly chain: ChainName })[]
  /** Ether that sweeps left at addresses of the gas they were given, until it is worth the gas of a sweep. */
  readonly gasLeft: readonly {
    readonly chain: ChainName
    readonly addresses: bigint
    readonly atoms: bigint
  }[]
  /** Chains that could not be compared: their tip and our view of it did not hold still, or the node did not answer. */
  readonly unproven: readonly { readonly chain: ChainName; readonly reason: string }[]
}

/**
 * @param ports - The chains to ask; those whose watcher follows them closely. Others are proven within the database only.
 */
export async function reconcile(db: Database | Tx, ports: readonly ChainPort[]): Promise<Proof> {
  const differences: Difference[] = []
  const holdings: HoldingProof[] = []
  await inSnapshot(db, async (tx) => {
    for (const prove of PROOFS) differences.push(...(await prove(tx)))
    for (const { chain } of await listChainViews(tx)) holdings.push(...(await proveSums(tx, chain, NO_PAST)))
  })
  differences.push(...differencesOf(holdings))
  const gifts: (Stray & { chain: ChainName })[] = []
  const compared: ChainName[] = []
  const unproven: { chain: ChainName; reason: string }[] = []
  const unswept: Proof['unswept'][number][] = []
  const gasLeft: Proof['gasLeft'][number][] = []
  for (const port of ports) {
    const { chain } = port
    if (hasAccounts(chain)) {
      unswept.push(...(await sumUnswept(db, chain)).map((sum) => ({ ...sum, chain })))
      const gas = await sumGasLeft(db, chain)
      if (gas.atoms > 0n) gasLeft.push({ chain, ...gas })
    }
    const strays = await atOneTip(db, port, (tx, view) => findAllStrays(tx, port, view))
    if ('reason' in strays) unproven.push({ chain, reason: strays.reason })
    else {
      compared.push(chain)
      for (const stray of strays.result) {
        if (isGift(stray)) gifts.push({ chain, ...stray })
        else differences.push(strayDifference(chain, stray))
      }
    }
  }
  return { differences, holdings, gifts, compared, unswept, gasLeft, unproven }
}

/** Everything the reads of `work` see is of one moment. */
const inSnapshot = <Result>(db: Database | Tx, work: (tx: Tx) => Promise<Result>): Promise<Result> =>
  'inTransaction' in db
    ? work(db)
    : db.transaction(async (tx) => {
        await tx.query('set transaction isolation level repeatable read, read only')
        return work(tx)
      })

const TRIES_MAX = 5

/** The chain and our view of it are compared at one block: before and after, the node stands where our snapshot does. */
export async function atOneTip<Result>(
  db: Database | Tx,
  port: ChainPort,
  compare: (tx: Tx, view: ChainView) => Promise<Result>,
): Promise<{ result: Result } | { reason: string }> {
  try {
    for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
      const compared = await inSnapshot(db, async (tx) => {
        const view = await findChainView(tx, port.chain)
        const isThere = async () => (await port.tip()).hash === view?.tipHash
        if (!view || !(await isThere())) return null
        const result = await compare(tx, view)
        return (await isThere()) ? { result } : null
      })
      if (compared) return compared
    }
    return { reason: 'its tip moved while it was compared, or Beck is behind it; try again' }
  } catch (error) {
    if (error instanceof OutsideFailure) return { reason: error.message }
    throw error
  }
}

const PLACES_PER_PAGE = 2_000

/** Every coin, or every address, page by page. */
async function findAllStrays(tx: Tx, port: ChainPort, view: ChainView): Promise<Stray[]> {
  const { chain } = port
  const accounts = hasAccounts(chain)
  const uncertain = accounts ? await placeUncertain(tx, port, view.tipHeight) : []
  const strays: Stray[] = []
  if (accounts) {
    const { own } = await sumShown(tx, chain, { above: -1, upTo: Number.MAX_SAFE_INTEGER })
    strays.push(...(await findStrays(port, [await ownPlace(tx, chain, own, uncertain)], view.tipHash)))
  }
  let after: string | null = ''
  while (after !== null) {
    const slice: Slice = { aboveHeight: -1, after, limit: PLACES_PER_PAGE }
    const page: PlaceSlice = accounts
      ? await listAddressPlaces(tx, chain, slice, uncertain)
      : await listCoinPlaces(tx, chain, slice)
    strays.push(...(await findStrays(port, page.places, view.tipHash)))
    after = page.next
  }
  return strays
}

/**
 * Lifts the freezes of coins whose books agree with their chain again. Only the operator's command does this.
 *
 * @returns What was lifted. A coin with a difference, or on a chain that could not be asked, stays frozen.
 */
export async function unfreeze(
  db: Queryable,
  proof: Proof,
): Promise<{ readonly chain: ChainName; readonly asset: string }[]> {
  const lifted = []
  for (const { chain, asset } of await listFreezes(db)) {
    const isProven =
      proof.compared.includes(chain) &&
      !proof.differences.some((difference) => difference.chain === chain && difference.asset === asset)
    if (isProven && (await thaw(db, chain, asset))) lifted.push({ chain, asset })
  }
  return lifted
}
