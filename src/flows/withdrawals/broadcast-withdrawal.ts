/**
 * Sending what the signer signed. The bytes and their id were written before; here they only go out, as often as it
 * takes. A node that takes them and dies before it answers, and one that has them already, are success alike.
 */
import { raiseAlert } from '../../alerts/alerts.sql.ts'
import type { ChainPort } from '../../chains/chain.ts'
import type { ChainName } from '../../core/assets.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { invariant } from '../../core/errors.ts'
import { showId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { together } from '../../db/together.ts'
import {
  claimToSend,
  markRefusedByNode,
  markSent,
  returnToSend,
  type SignedTransaction,
  type ToSend,
} from '../../treasury/signed-transactions.sql.ts'
import { statusAfter, type Withdrawal } from '../../withdrawals/withdrawal.ts'
import { lockPaidBy, updateWithdrawal } from '../../withdrawals/withdrawals.sql.ts'
import type { Gateway } from '../gateway.ts'

const SENT_PER_TURN = 50

/**
 * Sends what is due on a chain. One that fails is due again in half a minute, and until then what does not need it is sent
 * without it: it may fail every time, as what a proxy before the node finds too large.
 *
 * @returns How many the node has now.
 * @throws {OutsideFailure} when the node does not answer.
 */
export async function broadcastSigned(gateway: Gateway, port: ChainPort): Promise<number> {
  const { chain } = port
  const tip = await port.tip()
  const due = await claimToSend(gateway.db, chain, tip.height, SENT_PER_TURN)
  let sent = 0
  for (const [place, transaction] of due.entries()) {
    try {
      if (await send(gateway, port, transaction)) sent += 1
    } catch (error) {
      const untried = due.slice(place + 1).filter((other) => !isBehind(other, transaction))
      await giveBack(gateway, chain, untried)
      throw error
    }
  }
  return sent
}

/** A node that does not have the one may refuse the other: a nonce behind its own, a child that spends it. */
const isBehind = (other: ToSend, { sender, nonce, replacementSet }: ToSend): boolean =>
  other.replacementSet === replacementSet || (nonce !== null && other.sender === sender)

/** @returns Whether the node has it now. */
async function send(gateway: Gateway, port: ChainPort, transaction: ToSend): Promise<boolean> {
  crashPoint('broadcast:claimed')
  const outcome = await port.broadcast(transaction.raw)
  crashPoint('broadcast:sent')
  if (outcome.kind === 'refused') {
    await noteRefusal(gateway, transaction, outcome.reason)
    return false
  }
  await gateway.db.transaction((tx) => recordSent(tx, transaction))
  crashPoint('broadcast:recorded')
  return true
}

/** Never throws: what is to be told is why they were not tried. */
async function giveBack(gateway: Gateway, chain: ChainName, untried: readonly ToSend[]): Promise<void> {
  if (untried.length === 0) return
  try {
    await returnToSend(
      gateway.db,
      chain,
      untried.map(({ txid }) => txid),
    )
  } catch (error) {
    gateway.log.warn({ chain, err: error }, 'what waits to be sent is due again only in half a minute')
  }
}

/** The node, or a block, has these bytes: what they pay is `broadcast` under this id. */
export async function recordSent(tx: Tx, transaction: SignedTransaction): Promise<void> {
  const { chain, txid, replacementSet, kind } = transaction
  // Withdrawals before their replacement set, as everywhere.
  const paid = kind === 'child' ? [] : await lockPaidBy(tx, chain, replacementSet)
  await markSent(tx, chain, txid)
  await together(
    tx,
    paid,
    () => null,
    (one, withdrawal) => noteSent(one, withdrawal, txid),
  )
}

async function noteSent(tx: Tx, withdrawal: Withdrawal, txid: string): Promise<void> {
  if (withdrawal.status === 'completed' && withdrawal.txHash !== null) return
  // Its call reverted and a deep reorganisation took the block: the nonce is used again all the same.
  if (withdrawal.status === 'failed') return
  const status = statusAfter(withdrawal.status, 'sent')
  invariant(
    status,
    `transaction ${txid} pays withdrawal ${showId('wd', withdrawal.id)}, which is ${withdrawal.status}`,
  )
  if (status !== withdrawal.status || withdrawal.txHash !== txid)
    await updateWithdrawal(tx, withdrawal, { status, txHash: txid })
}

/** A refusal may pass (a parent not mined yet, a nonce before it, a mempool that is full): it is sent again. */
async function noteRefusal(gateway: Gateway, transaction: SignedTransaction, reason: string): Promise<void> {
  const { chain, txid } = transaction
  if (await markRefusedByNode(gateway.db, chain, txid, reason)) return
  gateway.log.warn({ chain, txid, reason }, 'the node refuses a signed transaction; it is sent again')
  if (transaction.sentAt === null)
    await raiseAlert(gateway.db, {
      kind: 'payout_refused',
      accountId: null,
      subject: `${chain}:${txid}`,
      message: `the node refuses transaction ${txid}: ${reason}`,
    })
}
