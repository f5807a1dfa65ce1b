/**
 * One poll of a chain by the watcher that leads it: follow blocks by their hashes from our tip to the node's, walk back
 * where they do not match, then read the mempool; each block and each batch in a transaction of its own that carries
 * the leader's epoch. Polling twice changes nothing; a crash anywhere is continued by the next poll.
 */
import { raiseAlert } from '../../alerts/alerts.sql.ts'
import {
  type Block,
  type BlockRef,
  type ChainPort,
  REORGANISATION_DEPTH_MAX,
  WrongChain,
} from '../../chains/chain.ts'
import {
  advanceTip,
  type ChainProgress,
  fence,
  findBlockHash,
  findChainProgress,
  haltChain,
  type Lease,
  markPolled,
  openChain,
} from '../../chains/chain-progress.sql.ts'
import { POLL_AGE_MS_MAX } from '../../chains/poll-age.ts'
import { hasAccounts, isSimulated } from '../../core/assets.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { invariant, OutsideFailure } from '../../core/errors.ts'
import { AT_ONCE, type SpareTime } from '../../core/spare-time.ts'
import {
  forgetBuriedInputs,
  listDepositsInNoBlock,
  listPaymentsReachingConfirmations,
  markMempoolPresence,
  markReplaced,
} from '../../deposits/deposits.sql.ts'
import { markDecisionDue } from '../../payments/payments.sql.ts'
import { recordAddressSpends } from '../../proof/address-spends.sql.ts'
import { markUtxosSpent } from '../../treasury/utxos.sql.ts'
import { readDatabaseTime } from '../database-time.sql.ts'
import type { Gateway } from '../gateway.ts'
import { askEtherCheck } from './check-ether.sql.ts'
import { whileRenewing } from './keep-lease.ts'
import { listWatchedEtherAddresses, matchOwn } from './own-addresses.sql.ts'
import { recordDeposits } from './record-deposits.ts'
import { undoBlocksAbove } from './undo-blocks.sql.ts'

/** Nothing of a poll rests any more when the chain was last seen so long ago: its payments are refused when it is twice as long. */
const RESTS_UNTIL_AGE_MS = POLL_AGE_MS_MAX / 2
/** Blocks followed before the caller hears of it, unless he says otherwise: keeps one turn short during catch-up. */
const BLOCKS_PER_POLL = 50

export interface Poll {
  readonly blocks: number
  /** The node's tip is not reached yet: poll again at once; where no block came, later, for of several nodes behind one URL some are late. */
  readonly behind: boolean
}

export interface PollOptions {
  readonly blocksMax?: number
  /** Of the watcher that polls. */
  readonly spareTime?: SpareTime
}

/**
 * First contact pins the chain's identity and begins at its tip, for live payments are taken only of a chain in sight; later contacts
 * compare. A simulated chain is followed from its first block: whoever tries the sandbox may pay and mine before a watcher is there.
 *
 * @throws {WrongChain}
 */
export async function meetChain(gateway: Gateway, port: ChainPort): Promise<void> {
  const identity = await port.identity()
  const known = await findChainProgress(gateway.db, port.chain)
  if (known) {
    if (known.identity !== identity) throw new WrongChain(port.chain, known.identity, identity)
    return
  }
  const hash = isSimulated(port.chain) ? await port.blockHash(0) : (await port.tip()).hash
  invariant(hash, 'a simulated chain has a first block')
  const block = await port.readBlock(hash)
  const first = { identity, ...block, time: new Date(block.timeMs) }
  const below = await hashesBelow(port, block.height)
  await gateway.db.transaction((tx) => openChain(tx, port.chain, first, below))
}

/** Hashes of the blocks under the one Beck begins at, newest first, so that a fork below it is found too. */
async function hashesBelow(port: ChainPort, height: number): Promise<BlockRef[]> {
  const below: BlockRef[] = []
  while (below.length < REORGANISATION_DEPTH_MAX && height - below.length > 0) {
    const wanted = height - below.length - 1
    const hash = await port.blockHash(wanted)
    if (hash === null) break
    below.push({ height: wanted, hash })
  }
  return below
}

/**
 * Brings our rows up to the node's.
 *
 * @param options.blocksMax - Followed at most; the rest is left to the next poll.
 * @throws {StaleLease} when the lease is over; nothing of this poll is written then.
 * @throws {OutsideFailure} when the node fails; what was followed so far is kept.
 */
export async function observeChain(
  gateway: Gateway,
  port: ChainPort,
  lease: Lease,
  { blocksMax = BLOCKS_PER_POLL, spareTime = AT_ONCE }: PollOptions = {},
): Promise<Poll> {
  spareTime.look()
  const startedAt = await readDatabaseTime(gateway.db)
  const tip = await port.tip()
  const progress = await gateway.db.transaction((tx) => fence(tx, lease))
  if (progress.haltedReason)
    throw new OutsideFailure(`${port.chain} is halted: ${progress.haltedReason}`, { retryable: false })
  return whileRenewing(gateway, lease, (progressed) =>
    follow(gateway, port, lease, { progress, tip, startedAt, blocksMax, spareTime, progressed }),
  )
}

/** From our tip to the node's, then what waits. */
async function follow(
  gateway: Gateway,
  port: ChainPort,
  lease: Lease,
  from: {
    readonly progress: ChainProgress
    readonly tip: BlockRef
    readonly startedAt: Date
    readonly progressed: () => void
  } & Required<PollOptions>,
): Promise<Poll> {
  const { tip, startedAt, blocksMax, progressed } = from
  let { progress } = from
  const spareTime = from.spareTime.atMost(RESTS_UNTIL_AGE_MS - (progress.pollAgeMs ?? RESTS_UNTIL_AGE_MS))
  const fork = await findFork(gateway, port, lease, progress, tip)
  if (fork !== null) progress = await rollBack(gateway, lease, fork)

  let blocks = 0
  while (progress.tipHeight < tip.height && blocks < blocksMax) {
    const hash = await port.blockHash(progress.tipHeight + 1)
    if (hash === null) break
    // While the chain is not in sight, its payments wait.
    const pace = progress.tipHeight + 1 < tip.height ? AT_ONCE : spareTime
    const accounts = port.etherAt ? await listWatchedEtherAddresses(gateway.db, port.chain) : []
    const block = await port.readBlock(hash, { accounts, spareTime: pace })
    // The chain moved under us: the next poll finds the fork.
    if (block.parentHash !== progress.tipHash) return { blocks, behind: true }
    crashPoint('observe:block-read')
    progress = await applyBlock(gateway, lease, block, pace)
    crashPoint('observe:block-committed')
    blocks += 1
    progressed()
  }
  const behind = progress.tipHeight < tip.height
  if (!behind) {
    await observeMempool(gateway, port, lease, { spareTime, progressed })
    await gateway.db.transaction(async (tx) => {
      await fence(tx, lease)
      await markPolled(tx, port.chain, startedAt)
    })
  }
  gateway.wake('settle')
  return { blocks, behind }
}

/** Writes one block: its deposits, what its spends replace, and whose confirmations it completes. */
export async function applyBlock(
  gateway: Gateway,
  lease: Lease,
  block: Block,
  spareTime: SpareTime = AT_ONCE,
): Promise<ChainProgress> {
  const at: BlockRef = { height: block.height, hash: block.hash }
  const time = new Date(block.timeMs)
  const { pieces } = block
  const own = await matchOwn(gateway.db, lease.chain, block.transactions, { pieces, spareTime })
  return gateway.db.transaction(async (tx) => {
    const progress = await fence(tx, lease)
    // A sibling that took the lead and gave it back may have written this block already.
    if (progress.tipHash !== block.parentHash) return progress
    const touched = await recordDeposits(gateway, tx, lease.chain, own, {
      block: at,
      time,
    })
    await markUtxosSpent(tx, lease.chain, block.height, own.spends)
    const replaced = await markReplaced(tx, lease.chain, own.spends, block.height)
    const confirmed = await listPaymentsReachingConfirmations(tx, lease.chain, block.height)
    await forgetBuriedInputs(tx, lease.chain, block.height - REORGANISATION_DEPTH_MAX)
    await recordAddressSpends(tx, lease.chain, block)
    await advanceTip(tx, lease.chain, { ...at, parentHash: block.parentHash, time })
    await markDecisionDue(tx, [...touched, ...replaced, ...confirmed])
    if (block.missedAccounts?.length) await askEtherCheck(tx, lease.chain)
    if (touched.length > 0) crashPoint('observe:block-written')
    return { ...progress, tipHeight: block.height, tipHash: block.hash, tipTime: time }
  })
}

/**
 * The height of the last block we share with the node; null when our tip is on its chain.
 *
 * A node whose tip is lower than ours is late: it restarted and connects its blocks, or it is another watcher's, which led
 * until now. On chains with outputs that is so whatever its tip is: fewer blocks are less work, and those that really take the
 * place of ours outgrow them. Proof of stake may end lower, with other blocks in the place of ours. A block that either side
 * does not have is no difference.
 *
 * @throws {OutsideFailure} while the node is late, and when it does not have a block that is not above its tip. Behind the
 *   URLs of providers stand many nodes, and the one that answers may be behind the one that told the tip: that is no
 *   reorganisation.
 * @see docs/decisions/0005-confirmed-stays-confirmed.md
 */
async function findFork(
  gateway: Gateway,
  port: ChainPort,
  lease: Lease,
  { tipHeight, tipHash }: ChainProgress,
  tip: BlockRef,
): Promise<number | null> {
  const { chain } = port
  const isLower = tip.height < tipHeight
  const late = () =>
    new OutsideFailure(
      `the node for ${chain} is at block ${tip.height} and does not have ours at ${tipHeight} yet; waiting for it`,
      { retryable: true },
    )
  if (isLower && !hasAccounts(chain)) throw late()
  const lowest = tipHeight - REORGANISATION_DEPTH_MAX
  let differing = 0
  for (let height = Math.min(tipHeight, tip.height); height >= lowest; height--) {
    const ours = height === tipHeight ? tipHash : await findBlockHash(gateway.db, chain, height)
    if (ours === null) break
    const hash = await port.blockHash(height)
    if (hash === null)
      throw new OutsideFailure(
        `the node for ${chain} is at block ${tip.height} and does not have block ${height}; are several nodes behind its URL?`,
        { retryable: true },
      )
    if (hash !== ours) differing += 1
    else if (differing > 0) return height
    else if (isLower) break
    else return null
  }
  if (differing < REORGANISATION_DEPTH_MAX) throw late()
  const reason = `the node's chain does not meet ours within ${REORGANISATION_DEPTH_MAX} blocks below ${tipHeight}`
  await gateway.db.transaction(async (tx) => {
    await fence(tx, lease)
    await haltChain(tx, chain, reason)
    await raiseAlert(tx, {
      kind: 'chain_halted',
      accountId: null,
      subject: `${chain}:${tipHash}`,
      message: reason,
    })
  })
  throw new OutsideFailure(`${chain}: ${reason}`, { retryable: false })
}

/** Forgets our blocks above the fork; their deposits are in no block until the chain shows them again. */
function rollBack(gateway: Gateway, lease: Lease, forkHeight: number): Promise<ChainProgress> {
  return gateway.db.transaction(async (tx) => {
    const before = await fence(tx, lease)
    const { payments, blocks } = await undoBlocksAbove(tx, lease.chain, forkHeight)
    await markDecisionDue(tx, payments)
    gateway.log.warn(
      { chain: lease.chain, fork: forkHeight, blocks, from: before.tipHash },
      'a reorganisation took blocks',
    )
    return fence(tx, lease)
  })
}

/** Sightings before any block, replacements, and what vanished. */
async function observeMempool(
  gateway: Gateway,
  port: ChainPort,
  lease: Lease,
  { spareTime, progressed }: { readonly spareTime: SpareTime; readonly progressed: () => void },
): Promise<void> {
  const mempool = await port.lookAtMempool(lease.since)
  if (mempool) {
    for await (const transactions of mempool.added) {
      const own = await matchOwn(gateway.db, port.chain, transactions, { spareTime })
      progressed()
      // Of a mempool that nobody has read yet, a hundred thousand transactions concern nobody here.
      if (own.paying.length === 0 && own.spends.length === 0) continue
      await gateway.db.transaction(async (tx) => {
        await fence(tx, lease)
        const touched = await recordDeposits(gateway, tx, port.chain, own, {
          block: null,
          time: await readDatabaseTime(tx),
        })
        const replaced = await markReplaced(tx, port.chain, own.spends, null)
        await markDecisionDue(tx, [...touched, ...replaced])
        if (touched.length > 0) crashPoint('observe:sighting-written')
      })
      crashPoint('observe:sighting-committed')
    }
  }
  const waiting = await listDepositsInNoBlock(gateway.db, port.chain)
  if (waiting.length === 0) return
  const isThere = (txKey: string): boolean => mempool?.has(txKey) ?? false
  await gateway.db.transaction(async (tx) => {
    await fence(tx, lease)
    await markDecisionDue(
      tx,
      await markMempoolPresence(
        tx,
        port.chain,
        waiting.filter(({ txKey }) => isThere(txKey)).map(({ txKey }) => txKey),
        waiting.filter(({ txKey }) => !isThere(txKey)).map(({ txKey }) => txKey),
      ),
    )
  })
}
