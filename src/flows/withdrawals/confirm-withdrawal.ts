/**
 * Following what was sent until a block holds it deep enough: then it is booked, once, and announced. A reorganisation
 * sends it again; what can never enter the chain any more gives its hold back.
 */
import { raiseAlert } from '../../alerts/alerts.sql.ts'
import type { BlockRef, ChainPort, FoundTransaction } from '../../chains/chain.ts'
import { findBlockHash } from '../../chains/chain-progress.sql.ts'
import { hasAccounts, nativeAsset } from '../../core/assets.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { InvariantBroken, invariant, OutsideFailure } from '../../core/errors.ts'
import { showId } from '../../core/ids.ts'
import { formatCoins } from '../../core/money.ts'
import type { Tx } from '../../db/database.ts'
import { together } from '../../db/together.ts'
import { markOwn } from '../../deposits/deposits.sql.ts'
import { announce } from '../../events/announce.sql.ts'
import { post } from '../../ledger/post.sql.ts'
import { findPayment, lockPayments, markDecisionDue } from '../../payments/payments.sql.ts'
import { recordGasFunding } from '../../treasury/gas-funding.sql.ts'
import { freeAddedUtxos } from '../../treasury/impossible.sql.ts'
import { hasReverted, isOpen } from '../../treasury/signed-transaction.ts'
import {
  end,
  listTakenBack,
  listUnderWay,
  lockReplacementSet,
  markMined,
  markUnmined,
  reopen,
  type SetMember,
  type SignedTransaction,
} from '../../treasury/signed-transactions.sql.ts'
import { finishSweeps, markFunded, recordSwept } from '../../treasury/sweeps.sql.ts'
import { forgetUnexpectedDepositsOf } from '../../treasury/unexpected-deposits.sql.ts'
import { listSpendHeights } from '../../treasury/utxos.sql.ts'
import { completionCause, isOwnKind, statusAfter, type Withdrawal } from '../../withdrawals/withdrawal.ts'
import { withdrawalResource } from '../../withdrawals/withdrawal-resource.ts'
import { lockPaidBy, updateWithdrawal } from '../../withdrawals/withdrawals.sql.ts'
import { confirmationsOf, type Gateway } from '../gateway.ts'
import { drawPayment } from '../payments/read-payment.ts'
import { bookFee } from './book-fee.ts'
import { recordSent } from './broadcast-withdrawal.ts'
import { fail, giveUpImpossible, raiseUnsettled, tellStranded } from './fail-withdrawal.ts'
import { giveUpDisplaced } from './give-up-displaced.ts'

/** Finds every transaction under way in the chain, and books those that are deep enough. @returns How many ended. */
export async function confirmSigned(gateway: Gateway, port: ChainPort): Promise<number> {
  const { chain } = port
  for (const { txid, replacementSet } of await listTakenBack(gateway.db, chain)) {
    gateway.log.warn({ chain, txid }, 'a reorganisation took a settled transaction of ours; it is sent again')
    await reopen(gateway.db, chain, replacementSet)
  }
  let underWay = await listUnderWay(gateway.db, chain, null)
  if (underWay.length === 0) return 0
  const tip = await port.tip()
  let finished = 0
  const failures: unknown[] = []
  while (underWay.length > 0) {
    const seenAt = hasAccounts(chain)
      ? new Map<string, number>()
      : await listSpendHeights(
          gateway.db,
          chain,
          underWay.map(({ txid }) => txid),
        )
    for (const transaction of underWay) {
      try {
        if (await follow(gateway, port, transaction, tip.height, seenAt.get(transaction.txid))) finished += 1
      } catch (error) {
        if (error instanceof InvariantBroken)
          await raiseUnsettled(
            gateway,
            `${chain}:${transaction.txid}`,
            `transaction ${transaction.txid} of ${chain}`,
            error,
          )
        // A node that answers and can not tell of this one may well tell of the others.
        else if (error instanceof OutsideFailure && (await port.tip())) failures.push(error)
        else throw error
      }
    }
    underWay = await listUnderWay(gateway.db, chain, underWay.at(-1)?.txid ?? null)
  }
  if (failures.length > 0) {
    if (finished > 0) gateway.wake('deliver')
    throw failures[0]
  }
  if (hasAccounts(chain)) finished += await giveUpDisplaced(gateway, port)
  else {
    const depth = Math.max(6, confirmationsOf(gateway.settings, nativeAsset(chain)))
    finished += await giveUpImpossible(gateway, chain, depth)
    await tellStranded(gateway, chain, depth)
  }
  if (finished > 0) gateway.wake('deliver')
  return finished
}

/** @returns Whether it ended now. */
async function follow(
  gateway: Gateway,
  port: ChainPort,
  transaction: SignedTransaction,
  tipHeight: number,
  seenAtHeight: number | undefined,
): Promise<boolean> {
  const found = await port.findTransaction(transaction.txid, seenAtHeight)
  await followTo(gateway, transaction, found)
  const depth = found?.block ? tipHeight - found.block.height + 1 : 0
  if (!found?.block || depth < confirmationsOf(gateway.settings, transaction.asset)) return false
  // Of several nodes behind one URL, one may follow another chain than the watcher does.
  const ours = await findBlockHash(gateway.db, transaction.chain, found.block.height)
  if (ours !== null && ours !== found.block.hash) return false
  const finished = await finish(gateway, transaction)
  if (finished) crashPoint('confirm:committed')
  return finished
}

/** Writes where the chain shows it now. */
async function followTo(
  gateway: Gateway,
  transaction: SignedTransaction,
  found: FoundTransaction | null,
): Promise<void> {
  const { chain, txid, feeAtoms } = transaction
  // The worker may have died between sending and writing so.
  if (found && transaction.sentAt === null) await gateway.db.transaction((tx) => recordSent(tx, transaction))
  if (found?.block) {
    const { block, reverted = false, feeAtoms: paidFeeAtoms = feeAtoms } = found
    if (block.hash === transaction.blockHash) return
    await gateway.db.transaction(async (tx) => {
      await markMined(tx, chain, txid, { ...block, reverted, paidFeeAtoms })
      await markFunded(tx, chain, transaction.replacementSet)
      await recordSwept(tx, chain, transaction, found.tokensMoved ?? [])
      if (hasAccounts(chain)) await disown(tx, transaction, block)
      if (transaction.kind === 'sweep' || transaction.kind === 'batch') crashPoint('sweep:mined')
    })
  } else if (transaction.blockHash !== null) {
    gateway.log.warn({ chain, txid }, 'a reorganisation took the block of a transaction of ours')
    await markUnmined(gateway.db, chain, txid)
  }
}

/**
 * The watcher took it for a stranger's when it read the block: after a restore it may be quicker than the signer, whose
 * journal gives back what was signed since the backup. What it moved is then neither anybody's deposit nor capital.
 */
async function disown(tx: Tx, { chain, txid }: SignedTransaction, block: BlockRef): Promise<void> {
  const unexpected = await forgetUnexpectedDepositsOf(tx, chain, txid)
  const taken = await markOwn(tx, chain, txid, block.height)
  for (const { address, atoms } of [...unexpected, ...taken])
    await recordGasFunding(tx, { chain, txid, address, atoms, blockHeight: block.height })
  await markDecisionDue(tx, taken)
}

/** Books a transaction that is deep enough, and everything it decides, in one transaction of the database. */
function finish(gateway: Gateway, { chain, txid, replacementSet }: SignedTransaction): Promise<boolean> {
  crashPoint('confirm:deep')
  return gateway.db.transaction(async (tx) => {
    // Withdrawals before their replacement set: the signer's placing locks in the same order.
    const withdrawals = await lockPaidBy(tx, chain, replacementSet)
    await lockPayments(tx, withdrawals)
    const members = await lockReplacementSet(tx, chain, replacementSet)
    const mined = members.find((member) => member.txid === txid)
    if (!mined || !isOpen(mined.status) || mined.blockHeight === null) return false
    await end(tx, mined, 'buried')
    await bookFee(tx, mined, mined.paidFeeAtoms ?? mined.feeAtoms)
    if (mined.kind !== 'child') {
      for (const rival of members.filter((member) => member.txid !== txid && excludes(mined, member))) {
        await end(tx, rival, 'displaced')
        // It had ended before a deep reorganisation.
        await bookFee(tx, rival, 0n)
      }
      await freeAddedUtxos(tx, chain, mined)
      // A bulk payout is a thousand of them; refunds of one payment show each other.
      await together(
        tx,
        withdrawals,
        ({ paymentId }) => paymentId,
        (one, withdrawal) => {
          if (withdrawal.status === 'failed') return notePaidAfterFailure(gateway, one, withdrawal, mined)
          if (hasReverted(mined.status)) return failReverted(gateway, one, withdrawal, mined)
          return complete(gateway, one, withdrawal, txid)
        },
      )
      await finishSweeps(tx, chain, { txid, replacementSet, reverted: hasReverted(mined.status) })
    }
    crashPoint('confirm:booked')
    return true
  })
}

/** A replacement excludes what it replaces; a child lives beside its parent, unless that was displaced itself. */
const excludes = (mined: SetMember, other: SetMember): boolean =>
  isOpen(other.status) && (other.kind !== 'child' || mined.kind === 'replacement')

/**
 * A call that reverted, whose hold was given back, runs again after a reorganisation deeper than the confirmations: its
 * nonce has to be used, or nothing after it could be. When it succeeds this time, the loss is the gateway's.
 */
async function notePaidAfterFailure(
  gateway: Gateway,
  tx: Tx,
  withdrawal: Withdrawal,
  { status, txid }: SetMember,
): Promise<void> {
  if (hasReverted(status)) return
  const { accountId, id, chain, asset, netAtoms } = withdrawal
  const isNew = await post(tx, {
    accountId,
    chain,
    cause: { kind: 'paid_after_failure', subjectId: id, number: 1 },
    transfers: [{ asset, debit: 'loss', credit: 'wallet', atoms: netAtoms }],
  })
  if (!isNew) return
  await updateWithdrawal(tx, withdrawal, { status: 'failed', txHash: txid, reason: 'paid_after_failure' })
  const shown = showId('wd', id)
  const message = `withdrawal ${shown} had failed and its hold was given back; a deep reorganisation paid it by ${txid}`
  await raiseAlert(tx, { kind: 'payout_after_failure', accountId, subject: shown, message })
  gateway.log.error({ chain, withdrawal: shown, account: showId('acct', accountId), txid }, message)
}

async function complete(gateway: Gateway, tx: Tx, withdrawal: Withdrawal, txid: string): Promise<void> {
  const { accountId, id, chain, asset, kind, paymentId } = withdrawal
  const status = statusAfter(withdrawal.status, 'confirmed')
  invariant(status === 'completed', `withdrawal ${showId('wd', id)} confirmed and is ${withdrawal.status}`)
  const completed = await updateWithdrawal(tx, withdrawal, { status, txHash: txid })
  const isNew = await post(tx, {
    accountId,
    chain,
    cause: completionCause(id),
    transfers: [
      { asset, debit: 'held', credit: 'wallet', atoms: withdrawal.netAtoms },
      { asset, debit: 'held', credit: 'fees', atoms: withdrawal.feeAtoms },
      { asset, debit: 'held', credit: 'network_fees', atoms: withdrawal.networkFeeAtoms },
    ],
  })
  if (!isNew || isOwnKind(kind)) return
  if (kind === 'refund' && paymentId) {
    const payment = await findPayment(tx, accountId, paymentId)
    invariant(payment, `refund ${showId('wd', id)} names a payment that is not there`)
    await announce(tx, {
      accountId,
      type: 'payment.refunded',
      cause: `payment:${paymentId}:refunded:${id}`,
      data: await drawPayment(gateway, tx, payment),
    })
    return
  }
  await announce(tx, {
    accountId,
    type: 'payout.completed',
    cause: `withdrawal:${id}:completed`,
    data: withdrawalResource(completed),
  })
}

/** The receiver, or the token, does not take the coins: a blocked address, a contract without a way to be paid. */
async function failReverted(
  gateway: Gateway,
  tx: Tx,
  withdrawal: Withdrawal,
  { txid, chain, paidFeeAtoms, feeAtoms }: SetMember,
): Promise<void> {
  const { accountId, id, asset, destination } = withdrawal
  const paid = paidFeeAtoms ?? feeAtoms
  // A token's call can use no more than was quoted for it: its code is the token's, not the receiver's.
  await fail(
    gateway,
    tx,
    withdrawal,
    'impossible',
    'reverted',
    asset === 'ETH' ? paid : withdrawal.networkFeeAtoms,
  )
  await raiseAlert(tx, {
    kind: 'payout_reverted',
    accountId,
    subject: `${chain}:${txid}`,
    message: `withdrawal ${showId('wd', id)} of ${asset} to ${destination} reverted in ${txid} of ${chain}: its hold is given back, less what its gas of ${formatCoins(paid, 'ETH')} cost`,
  })
}
