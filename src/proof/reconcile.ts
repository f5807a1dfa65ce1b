/**
 * The whole proof of the books. Every sum is computed on two sides that were written independently: balances against
 * transfers, entries against what they book, the ledger against the blocks, and the blocks against the chain, UTXO by
 * UTXO and address by address. `prove-block.ts` proves after each block what that block changed.
 */
import type { ChainPort } from '../chains/chain.ts'
import { listChainProgress } from '../chains/chain-progress.sql.ts'
import { type ChainName, hasAccounts, isSimulated } from '../core/assets.ts'
import type { Database, Queryable, Tx } from '../db/database.ts'
import { type Freeze, listFreezes, thaw } from '../ledger/freezes.sql.ts'
import { sumGasLeft, sumUnswept, type Unswept } from '../treasury/unswept.sql.ts'
import { atOneBlock, inSnapshot } from './at-block.ts'
import {
  type Difference,
  differencesOf,
  type HoldingProof,
  isGift,
  NO_PAST,
  proveSums,
  type Stray,
  strayDifference,
} from './compare-chain.ts'
import { createLocator, findHotWalletStrays, type Locator, readHotWallet } from './holders.ts'
import { sumObserved } from './holdings.sql.ts'
import { findUnlikeRows, type MoreRows } from './reconcile.sql.ts'
import { walkHolders } from './walk-holders.ts'

export type { Difference, HoldingProof } from './compare-chain.ts'

export interface Proof {
  /** Everything that does not agree; empty when the books balance. */
  readonly differences: readonly Difference[]
  /** How many rows beyond those differ, by proof and coin. */
  readonly more: readonly MoreRows[]
  /** One line per chain and asset: the ledger beside the blocks. */
  readonly holdings: readonly HoldingProof[]
  /** Ether that the chain holds at an address and no block announced. */
  readonly gifts: readonly (Stray & { readonly chain: ChainName })[]
  /** Chains that were asked, holder by holder. */
  readonly compared: readonly ChainName[]
  /** Deposits that lie at their own addresses until they are worth the gas of a sweep. */
  readonly unswept: readonly (Unswept & { readonly chain: ChainName })[]
  /** Ether that sweeps left at addresses of the gas they were given, until it is worth the gas of a sweep. */
  readonly gasLeft: readonly {
    readonly chain: ChainName
    readonly addresses: bigint
    readonly atoms: bigint
  }[]
  /** Chains that could not be compared: the node did not answer, or did not stand where our copy of it does; or a live one has none here. */
  readonly unproven: readonly { readonly chain: ChainName; readonly reason: string }[]
}

/**
 * @param ports - The chains to ask; those whose watcher follows them closely. Others are proven within the database only.
 */
export async function reconcile(db: Database | Tx, ports: readonly ChainPort[]): Promise<Proof> {
  const differences: Difference[] = []
  const holdings: HoldingProof[] = []
  const seen = new Set<ChainName>()
  const more = await inSnapshot(db, async (tx) => {
    const unlike = await findUnlikeRows(tx)
    for (const difference of unlike.differences) differences.push(difference)
    for (const { chain } of await listChainProgress(tx)) {
      seen.add(chain)
      holdings.push(...(await proveSums(tx, chain, NO_PAST)))
    }
    return unlike.more
  })
  differences.push(...differencesOf(holdings))
  const gifts: (Stray & { chain: ChainName })[] = []
  const compared: ChainName[] = []
  const unproven: { chain: ChainName; reason: string }[] = []
  const unswept: Proof['unswept'][number][] = []
  const gasLeft: Proof['gasLeft'][number][] = []
  for (const chain of seen)
    if (!isSimulated(chain) && !ports.some((port) => port.chain === chain))
      unproven.push({ chain, reason: 'no node is set for it here' })
  for (const port of ports) {
    const { chain } = port
    // Of which no block was ever seen: there is nothing to compare.
    if (!seen.has(chain)) continue
    if (hasAccounts(chain)) {
      unswept.push(...(await sumUnswept(db, chain)).map((sum) => ({ ...sum, chain })))
      const gas = await sumGasLeft(db, chain)
      if (gas.atoms > 0n) gasLeft.push({ chain, ...gas })
    }
    const found = await findAllStrays(db, port)
    if ('reason' in found) unproven.push({ chain, reason: found.reason })
    else {
      compared.push(chain)
      for (const { subject, asset, expectedAtoms, foundAtoms } of found.strays) {
        const stray = { subject, asset, expectedAtoms, foundAtoms }
        if (isGift(stray)) gifts.push({ chain, ...stray })
        else differences.push(strayDifference(chain, stray))
      }
    }
  }
  return { differences, more, holdings, gifts, compared, unswept, gasLeft, unproven }
}

const HOLDERS_PER_PAGE = 4_000

/** Every UTXO, or the hot wallet and every address, page by page. */
async function findAllStrays(
  db: Database | Tx,
  port: ChainPort,
): Promise<{ readonly strays: readonly Stray[] } | { readonly reason: string }> {
  const locator = createLocator(db, port)
  const hotWallet = hasAccounts(port.chain) ? await findAllHotWalletStrays(db, port, locator) : { result: [] }
  if ('reason' in hotWallet) return hotWallet
  const { strays, reason } = await walkHolders(db, port, locator, {
    after: '',
    pageLimit: HOLDERS_PER_PAGE,
    goesOn: () => true,
  })
  return reason === null ? { strays: [...hotWallet.result, ...strays] } : { reason }
}

const findAllHotWalletStrays = (db: Database | Tx, port: ChainPort, locator: Locator) =>
  atOneBlock(db, port, {
    async read(tx) {
      const { hotWallet } = await sumObserved(tx, port.chain, { above: -1, upTo: Number.MAX_SAFE_INTEGER })
      return readHotWallet(tx, port.chain, hotWallet)
    },
    ask: (hotWallet, progress) => findHotWalletStrays(port, hotWallet, progress, locator),
  })

export interface KeptFreeze extends Freeze {
  readonly reason: string
}

/**
 * Lifts the freezes of coins whose books agree with their chain again. Only the operator's command does this.
 *
 * @returns What was lifted, and what was not: a coin with a difference, or on a chain that could not be asked, stays frozen; one on
 *   a chain of which no block was ever seen has nothing to compare.
 */
export async function unfreeze(
  db: Queryable,
  proof: Proof,
): Promise<{ readonly lifted: readonly Freeze[]; readonly kept: readonly KeptFreeze[] }> {
  const seen = new Set((await listChainProgress(db)).map((progress) => progress.chain))
  const lifted: Freeze[] = []
  const kept: KeptFreeze[] = []
  for (const { chain, asset } of await listFreezes(db)) {
    const reason = whyFrozen(proof, { chain, asset }, seen.has(chain))
    if (reason !== null) kept.push({ chain, asset, reason })
    else if (await thaw(db, chain, asset)) lifted.push({ chain, asset })
  }
  return { lifted, kept }
}

/** Null where it need not be. */
function whyFrozen(proof: Proof, { chain, asset }: Freeze, isSeen: boolean): string | null {
  if (proof.differences.some((difference) => difference.chain === chain && difference.asset === asset))
    return 'its books do not balance'
  if (!isSeen || proof.compared.includes(chain)) return null
  const unproven = proof.unproven.find((each) => each.chain === chain)
  return `not compared with the chain: ${unproven?.reason ?? 'it was not asked'}`
}
