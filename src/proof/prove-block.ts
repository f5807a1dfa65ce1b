/**
 * After every block the books are proven by what it changed: the ledger against the blocks, from where the last proof
 * stopped adding up, and the blocks against the chain, at the coins or addresses that moved and at a slice of the old
 * ones. Where they disagree the whole proof is taken, and if it disagrees too, the coin pays nothing out any more until
 * the operator has looked.
 */
import type { ChainPort } from '../chains/chain.ts'
import { findChainView } from '../chains/chain-view.sql.ts'
import { ASSETS, type Asset, type ChainName, hasAccounts, networkOf, networkOfChain } from '../core/assets.ts'
import type { Tx } from '../db/database.ts'
import { SENT_BY_CONTRACT } from '../deposits/deposit.ts'
import type { Gateway } from '../flows/gateway.ts'
import { raiseAlert } from '../ledger/alerts.sql.ts'
import { freeze, listFreezes } from '../ledger/freezes.sql.ts'
import { recordReceipts } from '../treasury/receipts.sql.ts'
import {
  addSums,
  type Difference,
  differencesOf,
  findStrays,
  isGift,
  listAddressPlaces,
  listCoinPlaces,
  NO_PAST,
  ownPlace,
  type PastSums,
  type Placed,
  placeUncertain,
  proveSums,
  type Stray,
  strayDifference,
} from './compare-chain.ts'
import { findBookedBefore, listOwnAddresses, sumShown, sumWallets } from './holdings.sql.ts'
import { findProvenBlock, lockTip, markProven, readPastSums, writePastSums } from './prove-block.sql.ts'
import { atOneTip, reconcile } from './reconcile.ts'

/** `unlike`: books and chain disagree, and the coin is frozen. `unproven`: they could not be compared now. */
export type Verdict = 'known' | 'proven' | 'unlike' | 'unproven'

/** What one prover remembers from block to block. */
export interface ProverMemory {
  /** A gift to the hot wallet that was there at the proof before: its atoms, and at which tip. */
  gift?: { readonly atoms: bigint; readonly tipHash: string } | undefined
}

/** No reorganisation that is followed reaches below; the sums of the past grow in steps of half that. */
const BURIED_DEPTH = 100
const PAST_STEP = 50
const MOVED_MAX = 1_000
const SLICE = 100

/** Proves the block that the watcher stands at, unless it is proven already. */
export async function proveBlock(
  gateway: Pick<Gateway, 'db' | 'log'>,
  port: ChainPort,
  memory: ProverMemory = {},
): Promise<Verdict> {
  const { db } = gateway
  const { chain } = port
  const view = await findChainView(db, chain)
  const proven = await findProvenBlock(db, chain)
  if (!view || view.haltedReason !== null) return 'unproven'
  if (proven?.hash === view.tipHash) return 'known'
  const bookedBefore = await findBookedBefore(db)
  const compared = await atOneTip(db, port, (tx) => compareBlock(tx, port, bookedBefore))
  if ('reason' in compared) return 'unproven'

  const { differences, gift } = compared.result
  const whole = differences.length > 0 ? await proveWhole(gateway, port, differences) : 'proven'
  if (whole !== 'proven') return whole
  // What was added up before was wrong, or the whole proof found nothing: the sums begin again.
  const { next, block, assets } = compared.result
  await db.transaction(async (tx) => {
    if (differences.length > 0) await writePastSums(tx, chain, assets, NO_PAST)
    else if (next) await writePastSums(tx, chain, assets, next)
    await markProven(tx, chain, block)
  })
  if (gift !== null) await takeGift(gateway, chain, gift, block.hash, memory)
  else memory.gift = undefined
  return 'proven'
}

interface Comparison {
  readonly differences: readonly Difference[]
  readonly block: { readonly height: number; readonly hash: string; readonly sliceAfter: string }
  readonly assets: readonly Asset[]
  /** Sums of a longer past, when it is time for them. */
  readonly next: PastSums | null
  /** Ether that the hot wallet holds beyond what is known, while nothing of ours is under way. */
  readonly gift: bigint | null
}

async function compareBlock(tx: Tx, port: ChainPort, bookedBefore: Date): Promise<Comparison> {
  const { chain } = port
  const view = await findChainView(tx, chain)
  if (!view) throw new Error(`${chain} was seen a moment ago`)
  const proven = await findProvenBlock(tx, chain)
  const past = await readPastSums(tx, chain)
  const accounts = hasAccounts(chain)
  const uncertain = accounts ? await placeUncertain(tx, port, view.tipHeight) : []
  const holdings = await proveSums(tx, chain, past)

  // A reorganisation may have moved everything above its fork.
  const since = Math.min(proven?.height ?? -1, view.tipHeight) - 1
  const slice = { aboveHeight: -1, after: proven?.sliceAfter ?? '', limit: SLICE }
  const moved = { aboveHeight: Math.max(since, 0), after: '', limit: MOVED_MAX }
  const list = accounts
    ? (of: typeof slice) => listAddressPlaces(tx, chain, of, uncertain)
    : (of: typeof slice) => listCoinPlaces(tx, chain, of)
  const old = await list(slice)
  const places = new Map(
    [...(await list(moved)).places, ...old.places].map((place) => [place.subject, place]),
  )
  const strays = await findStrays(port, [...places.values()], view.tipHash)
  const own = accounts ? await findOwnStrays(tx, port, past, uncertain, view.tipHash) : []
  const gift = own.find(isGift)

  const upTo = buriedHeight(view.tipHeight, uncertain)
  return {
    differences: [
      ...differencesOf(holdings),
      ...[...strays, ...own].filter((stray) => !isGift(stray)).map((stray) => strayDifference(chain, stray)),
    ],
    block: { height: view.tipHeight, hash: view.tipHash, sliceAfter: old.next ?? '' },
    assets: ASSETS.filter((asset) => networkOf(asset) === networkOfChain(chain)),
    next: upTo >= past.height + PAST_STEP ? await lengthen(tx, chain, past, upTo, bookedBefore) : null,
    gift: gift && uncertain.length === 0 ? gift.foundAtoms - gift.expectedAtoms : null,
  }
}

async function findOwnStrays(
  tx: Tx,
  port: ChainPort,
  past: PastSums,
  uncertain: readonly Placed[],
  at: string,
): Promise<Stray[]> {
  const { chain } = port
  const recent = await sumShown(tx, chain, { above: past.height, upTo: Number.MAX_SAFE_INTEGER })
  return findStrays(port, [await ownPlace(tx, chain, addSums(past.own, recent.own), uncertain)], at)
}

const buriedHeight = (tipHeight: number, uncertain: readonly Placed[]): number =>
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
  const shown = await sumShown(tx, chain, { above: past.height, upTo: height })
  const isLater = bookedBefore > past.bookedBefore
  return {
    height,
    shown: addSums(past.shown, shown.atoms),
    own: addSums(past.own, shown.own),
    bookedBefore: isLater ? bookedBefore : past.bookedBefore,
    wallets: isLater
      ? addSums(past.wallets, await sumWallets(tx, chain, { since: past.bookedBefore, before: bookedBefore }))
      : past.wallets,
  }
}

/** When the whole proof disagrees too, what differs is frozen, each coin with its first reasons. */
async function proveWhole(
  gateway: Pick<Gateway, 'db' | 'log'>,
  port: ChainPort,
  seen: readonly Difference[],
): Promise<'proven' | 'unlike' | 'unproven'> {
  const { db, log } = gateway
  const { chain } = port
  const frozen = await listFreezes(db)
  const isFrozen = (asset: Asset) => frozen.some((each) => each.chain === chain && each.asset === asset)
  if (seen.every(({ asset }) => isFrozen(asset))) return 'unlike'
  const { differences, compared } = await reconcile(db, [port])
  const unlike = differences.filter((difference) => difference.chain === chain)
  // When the chain moved on meanwhile, its next block is compared anew.
  if (unlike.length === 0) return compared.includes(chain) ? 'proven' : 'unproven'
  for (const asset of new Set(unlike.map((difference) => difference.asset))) {
    const lines = unlike.filter((difference) => difference.asset === asset)
    const reason = lines.slice(0, 3).map(sayDifference).join('; ').slice(0, 1_000)
    if (!(await freeze(db, chain, asset, reason))) continue
    await raiseAlert(db, {
      kind: 'books_disagree',
      accountId: null,
      subject: `${chain}:${asset}:${lines[0]?.foundAtoms}`,
      message: `withdrawals of ${asset} on ${chain} are frozen: ${reason}; see \`npx beck reconcile\``,
    })
    log.error(
      { chain, asset, differences: lines.length, reason },
      'books and chain disagree: withdrawals of this coin are frozen until `npx beck reconcile --unfreeze`',
    )
  }
  return 'unlike'
}

const sayDifference = ({ proof, subject, expectedAtoms, foundAtoms }: Difference): string =>
  `${subject ?? 'all together'} (${proof}): expected ${expectedAtoms} atoms, found ${foundAtoms}`

/** Ether that stays from one block to the next without any transaction of ours is the operator's capital. */
async function takeGift(
  gateway: Pick<Gateway, 'db' | 'log'>,
  chain: ChainName,
  atoms: bigint,
  tipHash: string,
  memory: ProverMemory,
): Promise<void> {
  const before = memory.gift
  memory.gift = { atoms, tipHash }
  if (before?.atoms !== atoms || before.tipHash === tipHash) return
  const [address] = await listOwnAddresses(gateway.db, chain)
  if (!address) return
  await gateway.db.transaction(async (tx) => {
    const tip = await lockTip(tx, chain)
    if (tip?.hash !== tipHash) return
    const lookup = Buffer.from(address.slice(2), 'hex')
    const output = { lookup, index: SENT_BY_CONTRACT, asset: 'ETH', atoms } as const
    await recordReceipts(tx, chain, `internal:${tipHash}:${address.toLowerCase()}`, [output], tip.height)
    gateway.log.info({ chain, atoms: String(atoms) }, 'the hot wallet received ether that no block announced')
  })
}
