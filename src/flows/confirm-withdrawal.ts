/**
 * Following what was sent until a block holds it deep enough: then it is booked, once, and announced. A reorganisation
 * sends it again; what can never enter the chain any more gives its hold back.
 */
import type { ChainPort, FoundTransaction } from '../chains/chain.ts'
import { ASSET_FACTS, type Asset, type ChainName, networkOfChain } from '../core/assets.ts'
import { crashPoint } from '../core/crash-point.ts'
import { InvariantBroken, invariant } from '../core/errors.ts'
import type { Tx } from '../db/database.ts'
import { announce } from '../events/announce.sql.ts'
import { raiseAlert } from '../ledger/alerts.sql.ts'
import { isFrozen } from '../ledger/freezes.sql.ts'
import { GATEWAY } from '../ledger/journal.ts'
import { listTransfers, post } from '../ledger/post.sql.ts'
import { findPayment, lockPayment, markDecisionDue } from '../payments/payments.sql.ts'
import { addUnresolved } from '../payments/unresolved-funds.sql.ts'
import {
  listImpossible,
  listTakenBack,
  listUnderWay,
  lockLine,
  markBlock,
  markFeeBooked,
  releaseAddedCoins,
  releaseCoins,
  reopen,
  type Settling,
  type SignedTransaction,
  setOutcome,
} from '../withdrawals/signed-transactions.sql.ts'
import { finishSweeps, markFunded, recordSwept } from '../withdrawals/sweeps.sql.ts'
import {
  completionCause,
  holdCause,
  releaseCause,
  statusAfter,
  type Withdrawal,
} from '../withdrawals/withdrawal.ts'
import { withdrawalView } from '../withdrawals/withdrawal-view.ts'
import {
  isSigned,
  listRefused,
  lockPaidBy,
  lockWithdrawal,
  updateWithdrawal,
} from '../withdrawals/withdrawals.sql.ts'
import { returnLoss } from './book-payment.ts'
import { recordSent } from './broadcast-withdrawal.ts'
import type { Gateway } from './gateway.ts'
import { drawPayment } from './read-payment.ts'

const REFUSED_PER_TURN = 100

/** Looks where every transaction under way is, and settles those that are deep enough. @returns How many settled. */
export async function confirmSigned(gateway: Gateway, port: ChainPort): Promise<number> {
  const { chain } = port
  for (const { txid, line } of await listTakenBack(gateway.db, chain)) {
    gateway.log.warn({ chain, txid }, 'a reorganisation took a settled transaction of ours; it is sent again')
    await reopen(gateway.db, chain, line)
  }
  const underWay = await listUnderWay(gateway.db, chain)
  if (underWay.length === 0) return 0
  const tip = await port.tip()
  let settled = 0
  for (const transaction of underWay) {
    try {
      if (await follow(gateway, port, transaction, tip.height)) settled += 1
    } catch (error) {
      if (!(error instanceof InvariantBroken)) throw error
      await raiseUnsettled(gateway, transaction, error)
    }
  }
  if (networkOfChain(chain) !== 'ethereum') settled += await giveUpImpossible(gateway, chain)
  if (settled > 0) gateway.wake('deliver')
  return settled
}

/** @returns Whether it settled now. */
async function follow(
  gateway: Gateway,
  port: ChainPort,
  transaction: SignedTransaction,
  tipHeight: number,
): Promise<boolean> {
  const found = await port.findTransaction(transaction.txid, transaction.sinceHeight ?? undefined)
  await followTo(gateway, transaction, found)
  const depth = found?.block ? tipHeight - found.block.height + 1 : 0
  if (depth < confirmationsFor(gateway, transaction.asset)) return false
  const settled = await settle(gateway, transaction)
  if (settled) crashPoint('confirm:committed')
  return settled
}

/** What must never be stops this transaction, and no other. */
async function raiseUnsettled(
  gateway: Gateway,
  { chain, txid }: SignedTransaction,
  error: InvariantBroken,
): Promise<void> {
  gateway.log.error({ chain, txid, err: error }, 'a transaction of ours can not be settled')
  await raiseAlert(gateway.db, {
    kind: 'payout_unsettled',
    accountId: null,
    subject: `${chain}:${txid}`,
    message: `transaction ${txid} of ${chain} can not be settled: ${error.message}`,
  })
}

const confirmationsFor = (gateway: Gateway, asset: Asset): number =>
  gateway.settings.confirmations[asset] ?? ASSET_FACTS[asset].confirmations

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
      await markBlock(tx, chain, txid, { ...block, reverted, paidFeeAtoms })
      await markFunded(tx, chain, transaction.line)
      await recordSwept(tx, chain, transaction, found.tokensMoved ?? [])
    })
  } else if (transaction.blockHash !== null) {
    gateway.log.warn({ chain, txid }, 'a reorganisation took the block of a transaction of ours')
    await markBlock(gateway.db, chain, txid, null)
  }
}

/** Books a transaction that is deep enough, and everything it decides, in one transaction of the database. */
function settle(gateway: Gateway, { chain, txid, line }: SignedTransaction): Promise<boolean> {
  crashPoint('confirm:deep')
  return gateway.db.transaction(async (tx) => {
    // Withdrawals before their line: the signer's placing locks in the same order.
    const withdrawals = await lockPaidBy(tx, chain, line)
    const members = await lockLine(tx, chain, line)
    const mined = members.find((member) => member.txid === txid)
    if (!mined?.isOpen || mined.blockHeight === null) return false
    await setOutcome(tx, chain, txid, mined.reverted ? 'reverted' : 'confirmed')
    await bookFee(tx, mined, mined.paidFeeAtoms ?? mined.feeAtoms)
    if (mined.kind !== 'child') {
      for (const rival of members.filter((member) => member.txid !== txid && excludes(mined, member))) {
        await setOutcome(tx, chain, rival.txid, 'displaced')
        // It had settled before a deep reorganisation.
        await bookFee(tx, rival, 0n)
      }
      await releaseAddedCoins(tx, chain, mined)
      for (const withdrawal of withdrawals) {
        if (withdrawal.status === 'failed') await notePaidAfterFailure(gateway, tx, withdrawal, mined)
        else if (mined.reverted) await fail(gateway, tx, withdrawal, 'impossible', 'reverted')
        else await complete(tx, withdrawal, txid)
      }
      await finishSweeps(tx, chain, mined)
    }
    crashPoint('confirm:booked')
    return true
  })
}

/** A replacement excludes what it replaces; a child lives beside its parent, unless that was displaced itself. */
const excludes = (mined: Settling, other: Settling): boolean =>
  other.isOpen && (other.kind !== 'child' || mined.kind === 'replacement')

/**
 * What the network took: the gateway's cost, against which the fees that merchants were quoted are credited. Brings what
 * is booked to `atoms`: after a reorganisation the same bytes may cost something else, or nothing.
 */
async function bookFee(tx: Tx, of: Settling, atoms: bigint): Promise<void> {
  const { chain, txid, bookedFeeAtoms, feeBookings } = of
  const more = atoms - bookedFeeAtoms
  if (more === 0n) return
  const network = networkOfChain(chain)
  const asset = network === 'bitcoin' ? 'BTC' : network === 'litecoin' ? 'LTC' : 'ETH'
  await post(tx, {
    accountId: GATEWAY,
    chain,
    cause: `transaction:${chain}:${txid}:fee:${feeBookings + 1}`,
    transfers: [
      more > 0n
        ? { asset, debit: 'network_fees', credit: 'wallet', atoms: more }
        : { asset, debit: 'wallet', credit: 'network_fees', atoms: -more },
    ],
  })
  await markFeeBooked(tx, chain, txid, atoms)
}

/**
 * A call that reverted, whose hold was given back, runs again after a reorganisation deeper than the confirmations: its
 * nonce has to be used, or nothing after it could be. When it succeeds this time, the loss is the gateway's.
 */
async function notePaidAfterFailure(
  gateway: Gateway,
  tx: Tx,
  withdrawal: Withdrawal,
  { reverted, txid }: Settling,
): Promise<void> {
  if (reverted) return
  const { accountId, id, chain, asset, netAtoms } = withdrawal
  const isNew = await post(tx, {
    accountId,
    chain,
    cause: `withdrawal:${id}:paid-after-failure`,
    transfers: [{ asset, debit: 'loss', credit: 'wallet', atoms: netAtoms }],
  })
  if (!isNew) return
  await updateWithdrawal(tx, withdrawal, { status: 'failed', txHash: txid, reason: 'paid_after_failure' })
  const message = `withdrawal ${id} had failed and its hold was given back; a deep reorganisation paid it by ${txid}`
  await raiseAlert(tx, { kind: 'payout_after_failure', accountId, subject: id, message })
  gateway.log.error({ chain, withdrawal: id, account: accountId, txid }, message)
}

async function complete(tx: Tx, withdrawal: Withdrawal, txid: string): Promise<void> {
  const { accountId, id, chain, asset, kind, paymentId } = withdrawal
  const status = statusAfter(withdrawal.status, 'confirmed')
  invariant(status === 'completed', `withdrawal ${id} confirmed and is ${withdrawal.status}`)
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
  if (!isNew) return
  if (kind === 'refund' && paymentId) {
    const payment = await findPayment(tx, accountId, paymentId)
    invariant(payment, `refund ${id} names a payment that is not there`)
    await announce(tx, {
      accountId,
      type: 'payment.refunded',
      cause: `payment:${paymentId}:refunded:${id}`,
      data: await drawPayment(tx, payment),
    })
    return
  }
  await announce(tx, {
    accountId,
    type: 'payout.completed',
    cause: `withdrawal:${id}:completed`,
    data: withdrawalView(completed),
  })
}

/** Gives back what the ledger holds, to where it was taken from; what the row says may have been tampered with. */
async function fail(
  gateway: Gateway,
  tx: Tx,
  withdrawal: Withdrawal,
  trigger: 'refused' | 'impossible',
  reason: string,
): Promise<void> {
  const { accountId, id, chain, paymentId } = withdrawal
  const status = statusAfter(withdrawal.status, trigger)
  invariant(status === 'failed', `withdrawal ${id} is ${withdrawal.status} and can not fail as ${reason}`)
  // Before any balance, as everywhere.
  const payment = paymentId && (await lockPayment(tx, accountId, paymentId))
  await updateWithdrawal(tx, withdrawal, { status, txHash: withdrawal.txHash, reason })
  // Only after a deep reorganisation, in which its call reverted.
  if (withdrawal.status === 'completed') await uncomplete(tx, withdrawal)
  const held = await listTransfers(tx, accountId, holdCause(id))
  const given = await post(tx, {
    accountId,
    chain,
    cause: releaseCause(id),
    transfers: held.map((transfer) => ({ ...transfer, debit: transfer.credit, credit: transfer.debit })),
  })
  invariant(given, `the hold of withdrawal ${id} was given back before`)
  for (const { debit, asset, atoms } of held) {
    if (debit !== 'unresolved' || !payment) continue
    await addUnresolved(tx, { accountId, paymentId: payment.id, asset }, atoms)
    await returnLoss(tx, payment, id, { asset, atoms })
  }
  // With what comes back the payment may be covered after all.
  if (paymentId) await markDecisionDue(tx, [{ accountId, paymentId }])
  gateway.log.warn(
    { chain, withdrawal: id, account: accountId, reason },
    'a withdrawal failed; its hold is given back',
  )
}

async function uncomplete(tx: Tx, { accountId, id, chain }: Withdrawal): Promise<void> {
  const booked = await listTransfers(tx, accountId, completionCause(id))
  await post(tx, {
    accountId,
    chain,
    cause: `${completionCause(id)}:back`,
    transfers: booked.map((transfer) => ({ ...transfer, debit: transfer.credit, credit: transfer.debit })),
  })
}

/** Gives back the holds of withdrawals that the signer will never sign. @returns How many. */
export async function failRefused(gateway: Gateway): Promise<number> {
  const refused = await listRefused(gateway.db, REFUSED_PER_TURN)
  for (const { accountId, id } of refused) {
    await gateway.db.transaction(async (tx) => {
      const withdrawal = await lockWithdrawal(tx, accountId, id)
      if (withdrawal?.status !== 'requested' || withdrawal.refusedReason === null) return
      if (await isSigned(tx, accountId, id)) return
      await fail(gateway, tx, withdrawal, 'refused', withdrawal.refusedReason)
      crashPoint('refuse:given-back')
      await raiseAlert(tx, {
        kind: 'withdrawal_refused',
        accountId,
        subject: id,
        message: `the signer refused withdrawal ${id}: ${withdrawal.refusedReason}`,
      })
    })
    crashPoint('refuse:committed')
  }
  return refused.length
}

async function giveUpImpossible(gateway: Gateway, chain: ChainName): Promise<number> {
  const asset = networkOfChain(chain) === 'bitcoin' ? 'BTC' : 'LTC'
  // A restored database may not know the bump of ours that spent the coin, and that paid.
  if (await isFrozen(gateway.db, chain, asset)) return 0
  const lines = await listImpossible(gateway.db, chain, Math.max(6, confirmationsFor(gateway, asset)))
  for (const line of lines) {
    await gateway.db.transaction(async (tx) => {
      const withdrawals = await lockPaidBy(tx, chain, line)
      const members = await lockLine(tx, chain, line)
      if (members.some((member) => !member.isOpen || member.blockHeight !== null)) return
      for (const { txid } of members) await setOutcome(tx, chain, txid, 'impossible')
      await releaseCoins(tx, chain, line)
      for (const withdrawal of withdrawals) await fail(gateway, tx, withdrawal, 'impossible', 'coins_spent')
      await raiseAlert(tx, {
        kind: 'payout_impossible',
        accountId: null,
        subject: `${chain}:${line}`,
        message: `a coin that transaction ${line} spends was spent by another one; what it paid failed`,
      })
    })
  }
  return lines.length
}
