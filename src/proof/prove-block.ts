/**
 * After every block the books are proven by what it changed: the ledger against the blocks, from where the last proof
 * stopped adding up, and the blocks against the chain, at the hot wallet, at the UTXOs or addresses that moved, and at as
 * many of the old ones as the time allows. Where they disagree, and disagree again when everything is added up anew at
 * another moment, the coin pays nothing out any more until the operator has looked.
 */
import { raiseAlert } from '../alerts/alerts.sql.ts'
import type { ChainPort } from '../chains/chain.ts'
import { findChainProgress } from '../chains/chain-progress.sql.ts'
import { ASSETS, type Asset, type ChainName, hasAccounts, networkOf, networkOfChain } from '../core/assets.ts'
import { MINUTE_MS, SECOND_MS } from '../core/time.ts'
import type { Database, Tx } from '../db/database.ts'
import type { Gateway } from '../flows/gateway.ts'
import { atOneBlock, readsPastBlocks } from './at-block.ts'
import {
  addSums,
  type Difference,
  differencesOf,
  isGift,
  NO_PAST,
  type PastSums,
  proveSums,
  strayDifference,
} from './compare-chain.ts'
import { areFrozen, freezeUnlike } from './freeze-unlike.ts'
import {
  createLocator,
  findHotWalletStrays,
  findPageStrays,
  type Locator,
  readHotWallet,
  readPage,
} from './holders.ts'
import { findBookedBefore, sumObserved, sumWallets, type UncertainTransaction } from './holdings.sql.ts'
import {
  findProofAge,
  findProvenBlock,
  markProven,
  markStillProven,
  readPastSums,
  writePastSums,
} from './prove-block.sql.ts'
import { type GiftMemory, takeGift } from './take-gift.ts'
import { findSliceStrays, walkHolders } from './walk-holders.ts'

/** `unlike`: books and chain disagree, and the coin is frozen. `unproven`: they could not be compared now. */
export type Verdict = 'known' | 'proven' | 'unlike' | 'unproven'

/** What one prover remembers from block to block. */
export interface ProverMemory extends GiftMemory {
  /** Since when nothing could be proven, by `performance.now()`, and why. */
  unproven?: { readonly sinceMs: number; readonly reason: string } | undefined
}

/** No reorganisation that is followed reaches below; the sums of the past grow in steps of half that. */
const BURIED_DEPTH = 100
const PAST_STEP = 50
const MOVED_MAX = 2_000
/** Old holders that a proof looks at again: UTXOs one short page; addresses, which are asked about hundreds at once, for a while. */
const OLD_UTXOS = 100
const OLD_ADDRESSES_PER_PAGE = 1_000
const OLD_ADDRESSES_MS = 2 * SECOND_MS
/** Books that nothing proved for so long are something to look at. */
const OVERDUE_MS = 5 * MINUTE_MS
/** Tried by this process for as long: nobody does while Beck is stopped, and when it starts its watcher catches up first. */
const TRIED_MS = MINUTE_MS

/** Proves the block that the watcher stands at, unless it is proven already. No transaction is open while a node is asked. */
export async function proveBlock(
  gateway: Pick<Gateway, 'db' | 'log'>,
  port: ChainPort,
  memory: ProverMemory = {},
): Promise<Verdict> {
  const outcome = await prove(gateway, port, memory)
  if (typeof outcome === 'string') {
    if (outcome !== 'unlike') memory.unproven = undefined
    return outcome
  }
  await noteUnproven(gateway, port.chain, outcome.reason, memory)
  return 'unproven'
}

async function prove(
  gateway: Pick<Gateway, 'db' | 'log'>,
  port: ChainPort,
  memory: ProverMemory,
): Promise<Exclude<Verdict, 'unproven'> | { readonly reason: string }> {
  const { db } = gateway
  const { chain } = port
  const progress = await findChainProgress(db, chain)
  const proven = await findProvenBlock(db, chain)
  if (!progress) return { reason: 'its watcher has not seen it yet' }
  if (progress.haltedReason !== null) return { reason: `its watcher stopped: ${progress.haltedReason}` }
  if (proven?.hash === progress.tipHash) {
    await markStillProven(db, chain)
    return 'known'
  }
  const locator = createLocator(db, port)
  const compared = await compareBlock(db, port, locator, 'sums of before')
  if ('reason' in compared) return compared
  const seen = compared.result.differences
  if (seen.length > 0) {
    if (await areFrozen(db, chain, seen)) return 'unlike'
    // Once more, at another moment and with nothing of what was added up before.
    const again = await compareBlock(db, port, createLocator(db, port), 'no sums')
    if ('reason' in again) return again
    if (again.result.differences.length > 0) return freezeUnlike(gateway, chain, again.result.differences)
  }
  const { next, block, assets, gift } = compared.result
  const old = await proveOld(gateway, port, locator, { after: proven?.sliceAfter ?? '', tipHash: block.hash })
  if (old === 'unlike' || 'reason' in old) return old
  await db.transaction(async (tx) => {
    // What was added up before was wrong: the sums begin again.
    if (seen.length > 0) await writePastSums(tx, chain, assets, NO_PAST)
    else if (next) await writePastSums(tx, chain, assets, next)
    await markProven(tx, chain, { ...block, sliceAfter: old.next ?? '' })
  })
  if (gift !== null) await takeGift(gateway, chain, gift, block.hash, memory)
  else memory.gift = undefined
  return 'proven'
}

/** What can not be proven is said when it begins or changes, and is an alert once it lasts. */
async function noteUnproven(
  { db, log }: Pick<Gateway, 'db' | 'log'>,
  chain: ChainName,
  reason: string,
  memory: ProverMemory,
): Promise<void> {
  const { sinceMs, reason: before } = memory.unproven ?? { sinceMs: performance.now(), reason: null }
  memory.unproven = { sinceMs, reason }
  if (reason !== before) log.warn({ chain, reason }, 'books and chain could not be compared now')
  const triedForMs = performance.now() - sinceMs
  const ageMs = (await findProofAge(db, chain)) ?? triedForMs
  if (ageMs < OVERDUE_MS || triedForMs < TRIED_MS) return
  await raiseAlert(db, {
    kind: 'proof_overdue',
    accountId: null,
    subject: chain,
    message: `the books of ${chain} were not proven against their chain for ${Math.floor(OVERDUE_MS / MINUTE_MS)} minutes or more: ${reason}`,
  })
}

interface Comparison {
  readonly differences: readonly Difference[]
  readonly block: { readonly height: number; readonly hash: string }
  readonly assets: readonly Asset[]
  /** Sums of a longer past, when it is time for them. */
  readonly next: PastSums | null
  /** Ether that the hot wallet holds beyond what is known, while nothing of ours is under way. */
  readonly gift: bigint | null
}

/** The ledger against the blocks, and the blocks against the chain at the hot wallet and where the last blocks moved something. */
async function compareBlock(
  db: Database,
  port: ChainPort,
  locator: Locator,
  by: 'sums of before' | 'no sums',
) {
  const { chain } = port
  const bookedBefore = await findBookedBefore(db)
  return atOneBlock(db, port, {
    async read(tx, progress) {
      const proven = await findProvenBlock(tx, chain)
      const past = by === 'no sums' ? NO_PAST : await readPastSums(tx, chain)
      // A reorganisation may have moved everything above its fork.
      const since = Math.min(proven?.height ?? -1, progress.tipHeight) - 1
      const recent = await sumObserved(tx, chain, { above: past.height, upTo: Number.MAX_SAFE_INTEGER })
      const moved = await readPage(tx, chain, {
        aboveHeight: Math.max(since, 0),
        after: '',
        limit: MOVED_MAX,
      })
      const upTo = buriedHeight(progress.tipHeight, moved.uncertain)
      return {
        holdings: await proveSums(tx, chain, past),
        moved,
        hotWallet: hasAccounts(chain)
          ? await readHotWallet(tx, chain, addSums(past.hotWallet, recent.hotWallet))
          : null,
        next: upTo >= past.height + PAST_STEP ? await lengthen(tx, chain, past, upTo, bookedBefore) : null,
      }
    },
    async ask({ holdings, moved, hotWallet, next }, progress): Promise<Comparison> {
      const strays = await findPageStrays(port, moved, progress, locator)
      const hotWalletStrays = hotWallet ? await findHotWalletStrays(port, hotWallet, progress, locator) : []
      const gift = hotWalletStrays.find(isGift)
      return {
        differences: [
          ...differencesOf(holdings),
          ...[...strays, ...hotWalletStrays]
            .filter((stray) => !isGift(stray))
            .map((stray) => strayDifference(chain, stray)),
        ],
        block: { height: progress.tipHeight, hash: progress.tipHash },
        assets: ASSETS.filter((asset) => networkOf(asset) === networkOfChain(chain)),
        next,
        gift: gift && hotWallet?.uncertain.length === 0 ? gift.foundAtoms - gift.expectedAtoms : null,
      }
    },
  })
}

/**
 * Goes on with the walk over all old holders where the last proof stopped, until its time is over or the next block is there:
 * what that one shows is looked at first.
 */
async function proveOld(
  gateway: Pick<Gateway, 'db' | 'log'>,
  port: ChainPort,
  locator: Locator,
  { after, tipHash }: { readonly after: string; readonly tipHash: string },
): Promise<'unlike' | { readonly reason: string } | { readonly next: string | null }> {
  const { db } = gateway
  const { chain } = port
  const began = performance.now()
  const walk = await walkHolders(
    db,
    port,
    locator,
    readsPastBlocks(port)
      ? {
          after,
          pageLimit: OLD_ADDRESSES_PER_PAGE,
          goesOn: (_, newest) =>
            performance.now() - began < OLD_ADDRESSES_MS && (newest ?? tipHash) === tipHash,
        }
      : { after, pageLimit: OLD_UTXOS, goesOn: (pages) => pages === 0 },
  )
  const slices = new Set(walk.strays.filter((stray) => !isGift(stray)).map(({ slice }) => slice))
  const unlike: Difference[] = []
  for (const slice of slices) {
    const again = await findSliceStrays(db, port, slice, createLocator(db, port))
    if ('reason' in again) return again
    unlike.push(
      ...again.strays.filter((stray) => !isGift(stray)).map((stray) => strayDifference(chain, stray)),
    )
  }
  if (unlike.length > 0)
    return (await areFrozen(db, chain, unlike)) ? 'unlike' : freezeUnlike(gateway, chain, unlike)
  return walk.reason === null ? { next: walk.next } : { reason: walk.reason }
}

const buriedHeight = (tipHeight: number, uncertain: readonly UncertainTransaction[]): number =>
  uncertain.reduce(
    (height, { blockHeight }) => (blockHeight === null ? height : Math.min(height, blockHeight - 1)),
    tipHeight - BURIED_DEPTH,
  )

async function lengthen(
  tx: Tx,
  chain: ChainName,
  past: PastSums,
  height: number,
  bookedBefore: Date,
): Promise<PastSums> {
  const observed = await sumObserved(tx, chain, { above: past.height, upTo: height })
  const isLater = bookedBefore > past.bookedBefore
  return {
    height,
    observed: addSums(past.observed, observed.atoms),
    hotWallet: addSums(past.hotWallet, observed.hotWallet),
    bookedBefore: isLater ? bookedBefore : past.bookedBefore,
    wallets: isLater
      ? addSums(past.wallets, await sumWallets(tx, chain, { since: past.bookedBefore, before: bookedBefore }))
      : past.wallets,
  }
}
