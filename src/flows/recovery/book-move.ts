/**
 * Chains with accounts: a transaction in the chain that an address of ours sent and Beck did not sign. The operator emptied the
 * hot wallet of a keystore that was replaced, somebody sent something from it by another program, or the database and the
 * journal have both forgotten it. Becomes one of our transactions, with what its receipt says that it moved and cost. What came
 * back to the gateway's own addresses was taken for capital when the watcher read it: it left as capital too, so the two cancel
 * out and its gas is all that it cost.
 */
import type { ChainPort, ChainTransaction, FoundTransaction, Output } from '../../chains/chain.ts'
import { findBlockHash, findChainProgress } from '../../chains/chain-progress.sql.ts'
import type { ChainName } from '../../core/assets.ts'
import { conflict, OutsideFailure } from '../../core/errors.ts'
import { SECOND_MS } from '../../core/time.ts'
import type { Database, Tx } from '../../db/database.ts'
import { isOpen } from '../../treasury/signed-transaction.ts'
import { isLookupOf } from '../../wallets/derivation.ts'
import { findCurrentWallet } from '../../wallets/wallets.sql.ts'
import { readDestination } from '../../withdrawals/destination.ts'
import type { Gateway } from '../gateway.ts'
import { listOwnTransactions, matchOwnAddresses } from '../watching/own-addresses.sql.ts'
import {
  type FoundMove,
  findOwnAddress,
  findRival,
  freeNonce,
  insertMove,
  lockArrival,
  type OwnAddress,
  type Rival,
} from './book-move.sql.ts'
import { insertPaid, lockPayable, type OpenWithdrawal } from './book-spend.sql.ts'
import { type BookedSpend, bookFrom, bookLoss, tooFresh, unknown } from './spend-entry.ts'

/** Two epochs: what Ethereum's finality is made of. No reorganisation takes back what was booked by hand. */
const FINAL_DEPTH = 64

/** What the chain shows of a transaction that an address of ours sent. */
interface Move extends Omit<FoundMove, 'replacementSet'> {
  readonly timeMs: number
  /** Whom it paid, and at which place of its outputs; null when it paid nobody and cost its gas only. */
  readonly receiver: Receiver | null
}

interface Receiver {
  readonly lookup: Uint8Array
  readonly index: number
  /**
   * `own`: an address of ours that no payment has. `payment`: one of a payment, which counts it as its buyer's. `gas`: the same,
   * for ether of a hot wallet, which is what sweeps of tokens need there.
   */
  readonly is: 'stranger' | 'own' | 'payment' | 'gas'
}

/**
 * Reads what it did; null when it is no stranger.
 *
 * @throws {Refusal} `spend_not_found`, `spend_too_fresh`, `spend_not_ours`; `spend_unclear` for what cannot be booked.
 */
export async function readMove(db: Database, port: ChainPort, txid: string): Promise<Move | null> {
  const { chain } = port
  if ((await listOwnTransactions(db, chain, [txid])).has(txid)) return null
  const found = await port.findTransaction(txid)
  const block = found?.block
  const progress = await findChainProgress(db, chain)
  if (!block || !progress || block.height > progress.tipHeight) throw unknown(chain, txid)
  const depth = progress.tipHeight - block.height + 1
  if (depth < FINAL_DEPTH) throw tooFresh(txid, depth, FINAL_DEPTH)
  // Of several nodes behind one URL, one may follow another chain than the watcher does.
  const ours = await findBlockHash(db, chain, block.height)
  const { transactions, timeMs } = await port.readBlock(block.hash)
  const transaction = transactions.find(({ key }) => key === txid)
  const [spent] = transaction?.inputs ?? []
  if (!transaction || !spent || (ours !== null && ours !== block.hash)) throw unknown(chain, txid)
  const lookup = Buffer.from(spent.txid, 'hex').subarray(-20)
  const sender = await requireHotWallet(db, chain, txid, lookup)
  const left = await readWhatLeft(db, chain, transaction, found, lookup)
  return {
    chain,
    txid,
    asset: left?.asset ?? 'ETH',
    valueAtoms: left?.atoms ?? 0n,
    feeAtoms: feeOf(found, txid),
    sender: sender.address,
    nonce: BigInt(spent.index),
    reverted: found.reverted ?? false,
    block,
    timeMs,
    receiver: left && (await findReceiver(db, chain, transaction, left)),
  }
}

async function requireHotWallet(
  db: Database,
  chain: ChainName,
  txid: string,
  lookup: Uint8Array,
): Promise<OwnAddress> {
  const sender = await findOwnAddress(db, chain, lookup)
  if (!sender || !isLookupOf(chain, sender.address, lookup))
    throw conflict(
      'spend_not_ours',
      `transaction ${txid} was sent by 0x${Buffer.from(lookup).toString('hex')}, which is no address of Beck's`,
    )
  if (!sender.isHotWallet)
    throw conflict(
      'spend_of_deposit_address',
      `transaction ${txid} was sent by ${sender.address}, an address for deposits; book-spend knows what left a hot wallet only`,
    )
  return sender
}

function feeOf({ feeAtoms }: FoundTransaction, txid: string): bigint {
  if (feeAtoms !== undefined) return feeAtoms
  throw new OutsideFailure(`the node does not tell what transaction ${txid} cost`, { retryable: true })
}

/** One credit that a transaction took from its sender. */
type Left = Output & { readonly from: Uint8Array }

/**
 * What it took from its sender, as its value and its logs say; null for nothing.
 *
 * @throws {Refusal} `spend_unclear` when that is more than one thing, or when it took something of other addresses of ours.
 */
async function readWhatLeft(
  db: Database,
  chain: ChainName,
  { key, outputs }: ChainTransaction,
  { tokensMoved = [] }: FoundTransaction,
  sender: Uint8Array,
): Promise<Left | null> {
  const tokens = outputs.filter(({ asset }) => asset !== 'ETH')
  const moves: Left[] = [
    ...outputs.filter(({ asset }) => asset === 'ETH').map((output) => ({ ...output, from: sender })),
    ...tokens.map((output, place) => ({ ...output, from: tokensMoved[place]?.from ?? new Uint8Array() })),
  ]
  const agrees = tokens.every(({ asset, atoms }, place) => {
    const moved = tokensMoved[place]
    return moved?.asset === asset && moved.atoms === atoms
  })
  if (!agrees || tokens.length !== tokensMoved.length)
    throw new OutsideFailure(`the node tells two things of what transaction ${key} moved`, {
      retryable: true,
    })
  const own: Left[] = []
  for (const move of moves) if (await findOwnAddress(db, chain, move.from)) own.push(move)
  if (own.length > 1 || own.some(({ from }) => !Buffer.from(from).equals(sender)))
    throw conflict(
      'spend_unclear',
      `transaction ${key} took ${own.length} sums from addresses of Beck's; what took more than one, or one of another address than its sender's, cannot be booked`,
    )
  return own[0] ?? null
}

async function findReceiver(
  db: Database,
  chain: ChainName,
  transaction: ChainTransaction,
  { lookup, index, asset }: Left,
): Promise<Receiver> {
  const issued = (await matchOwnAddresses(db, chain, [transaction])).find(lookup)
  const isGas = issued && asset === 'ETH'
  return { lookup, index, is: isGas ? 'gas' : issued ? 'payment' : issued === null ? 'own' : 'stranger' }
}

/** Makes it one of our transactions, and books what it took. */
export async function bookMove(
  { secrets }: Pick<Gateway, 'secrets'>,
  tx: Tx,
  move: Move,
  options: { readonly loss: boolean },
): Promise<BookedSpend> {
  const { chain, txid, asset, valueAtoms, feeAtoms, receiver } = move
  const rival = await findRival(tx, chain, move)
  const paid = await findPaid(secrets, tx, move, rival)
  const replacementSet = await placeOf(tx, move, rival, paid)
  const booked = {
    asset,
    paid: paid.map(({ id }) => id),
    feeAtoms,
    lossAtoms: 0n,
    movedAtoms: 0n,
    gasAtoms: 0n,
  }
  if (receiver?.is === 'gas') {
    // The worker finds it, and that what the payment counted is none of its buyer's.
    await insertMove(tx, { ...move, replacementSet }, 'gas')
    return { ...booked, gasAtoms: valueAtoms }
  }
  await insertMove(tx, { ...move, replacementSet }, 'payout')
  if (replacementSet === txid) await insertPaid(tx, move, paid)
  if (valueAtoms === 0n || paid.length > 0) return booked
  const spend = { chain, txid, replacementSet, asset }
  if (receiver?.is !== 'own') {
    await bookLoss(tx, spend, valueAtoms, options.loss)
    return { ...booked, lossAtoms: valueAtoms }
  }
  await requireArrival(tx, move, receiver)
  await bookFrom(tx, 'capital', spend, valueAtoms)
  return { ...booked, movedAtoms: valueAtoms }
}

/** The withdrawal that it paid, to the atom, if any: one of the set that was signed with its nonce; else one that nothing was signed for. */
async function findPaid(
  secrets: Gateway['secrets'],
  tx: Tx,
  { chain, txid, asset, valueAtoms, receiver, timeMs }: Move,
  rival: Rival | null,
): Promise<readonly OpenWithdrawal[]> {
  if (receiver?.is !== 'stranger') return []
  const wallet = await findCurrentWallet(tx, secrets, chain)
  if (!wallet) return []
  const isPaid = (withdrawal: OpenWithdrawal): boolean =>
    withdrawal.asset === asset &&
    withdrawal.netAtoms === valueAtoms &&
    Buffer.from(readDestination(asset, wallet.mode, withdrawal.destination).lookup).equals(receiver.lookup)
  if (rival && isOpen(rival.status)) {
    const ofSet = await lockPayable(tx, chain, rival.replacementSet)
    return ofSet.length === 1 ? ofSet.filter(isPaid) : []
  }
  // Nobody pays what is asked for later; blocks are dated in whole seconds.
  const isEarlier = ({ createdAt }: OpenWithdrawal) => createdAt.getTime() < timeMs + SECOND_MS
  const alike = (await lockPayable(tx, chain, null)).filter((each) => isEarlier(each) && isPaid(each))
  if (alike.length > 1)
    throw conflict(
      'spend_unclear',
      `transaction ${txid} may have paid any of ${alike.length} withdrawals that wait: cancel or pay the others first`,
    )
  return alike
}

/**
 * The replacement set that it belongs to: the one that was signed with its nonce, where it pays the same; else its own.
 *
 * @throws {Refusal} `spend_displaces` while that other set is not given up.
 */
async function placeOf(
  tx: Tx,
  { chain, txid }: Move,
  rival: Rival | null,
  paid: readonly OpenWithdrawal[],
): Promise<string> {
  if (!rival) return txid
  if (isOpen(rival.status) && paid.length > 0) return rival.replacementSet
  if (rival.status !== 'impossible')
    throw conflict(
      'spend_displaces',
      `Beck signed ${rival.replacementSet} with the nonce that transaction ${txid} used, and has not given it up yet; book it once the alert \`nonce_taken\` says so`,
    )
  await freeNonce(tx, chain, rival)
  return txid
}

/** @throws {Refusal} `spend_unclear` where the watcher did not take it for capital, in that block: it would not cancel out. */
async function requireArrival(tx: Tx, move: Move, { index }: Receiver): Promise<void> {
  const { chain, txid, asset, valueAtoms: atoms, block } = move
  if (await lockArrival(tx, chain, { txid, index, asset, atoms, height: block.height })) return
  throw conflict(
    'spend_unclear',
    `transaction ${txid} paid an address of Beck's, and Beck did not see it arrive there in block ${block.height}: it may not have known the address yet`,
  )
}
