/**
 * Sending what the signer signed. The bytes and their id were written before; here they only go out, as often as it
 * takes. A node that takes them and dies before it answers, and one that has them already, are success alike.
 */
import type { ChainPort } from '../../chains/chain.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { invariant } from '../../core/errors.ts'
import type { Tx } from '../../db/database.ts'
import { together } from '../../db/together.ts'
import { raiseAlert } from '../../ledger/alerts.sql.ts'
import {
  claimToSend,
  markRefusedByNode,
  markSent,
  type SignedTransaction,
} from '../../treasury/signed-transactions.sql.ts'
import { statusAfter, type Withdrawal } from '../../withdrawals/withdrawal.ts'
import { lockPaidBy, updateWithdrawal } from '../../withdrawals/withdrawals.sql.ts'
import type { Gateway } from '../gateway.ts'

const SENT_PER_TURN = 50

/**
 * Sends what is due on a chain.
 *
 * @returns How many the node has now.
 * @throws {OutsideFailure} when the node does not answer; what it did not answer for is due again in half a minute.
 */
export async function broadcastSigned(gateway: Gateway, port: ChainPort): Promise<number> {
  const tip = await port.tip()
  const due = await claimToSend(gateway.db, port.chain, tip.height, SENT_PER_TURN)
  let sent = 0
  for (const transaction of due) {
    crashPoint('broadcast:claimed')
    const outcome = await port.broadcast(transaction.raw)
    crashPoint('broadcast:sent')
    if (outcome.kind === 'refused') await noteRefusal(gateway, transaction, outcome.reason)
    else {
      await gateway.db.transaction((tx) => recordSent(tx, transaction))
      crashPoint('broadcast:recorded')
      sent += 1
    }
  }
  return sent
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
  invariant(status, `transaction ${txid} pays withdrawal ${withdrawal.id}, which is ${withdrawal.status}`)
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
