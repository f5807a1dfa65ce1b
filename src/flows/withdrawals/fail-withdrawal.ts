/**
 * Withdrawals that will not arrive: the signer refuses them, or nothing that was signed for them can enter the chain. Each
 * gives its hold back once.
 */

import { raiseAlert } from '../../alerts/alerts.sql.ts'
import { wasDeclined } from '../../approvals/approval-requests.sql.ts'
import { findChainProgress } from '../../chains/chain-progress.sql.ts'
import { type Aside, listAside, setAside } from '../../core/aside.ts'
import { type ChainName, nativeAsset } from '../../core/assets.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { InvariantBroken, invariant } from '../../core/errors.ts'
import { type AccountId, showId, type WithdrawalId } from '../../core/ids.ts'
import { smaller } from '../../core/money.ts'
import type { Tx } from '../../db/database.ts'
import { isOfRows } from '../../db/failures.ts'
import { together } from '../../db/together.ts'
import { announce } from '../../events/announce.sql.ts'
import { isFrozen } from '../../ledger/freezes.sql.ts'
import { listTransfers, post } from '../../ledger/post.sql.ts'
import { lockPayment, lockPayments, markDecisionDue } from '../../payments/payments.sql.ts'
import { addUnresolved } from '../../payments/unresolved-funds.sql.ts'
import { findProvenBlock } from '../../proof/prove-block.sql.ts'
import { freeUtxos, listImpossible, listStranded } from '../../treasury/impossible.sql.ts'
import { isOpen } from '../../treasury/signed-transaction.ts'
import { lockReplacementSet } from '../../treasury/signed-transactions.sql.ts'
import {
  completionCause,
  type FailureReason,
  holdCause,
  isOwnKind,
  releaseCause,
  statusAfter,
  type Withdrawal,
} from '../../withdrawals/withdrawal.ts'
import { withdrawalResource } from '../../withdrawals/withdrawal-resource.ts'
import {
  isSigned,
  listRefused,
  lockPaidBy,
  lockWithdrawal,
  noteKept,
  updateWithdrawal,
} from '../../withdrawals/withdrawals.sql.ts'
import type { Gateway } from '../gateway.ts'
import { returnLoss } from '../payments/book-payment.ts'
import { endImpossible } from './book-fee.ts'

const REFUSED_PER_TURN = 100

/** What people decided, or left undecided, is no alert. */
const WANTED: readonly FailureReason[] = ['cancelled', 'sandbox', 'declined', 'not_approved']

/**
 * Gives back what the ledger holds, to where it was taken from; what the row says may have been tampered with.
 *
 * Who fails several locks all of their payments first.
 *
 * @param costAtoms - Of its own coin, what its call used in vain: that stays with the gateway, which paid it.
 */
export async function fail(
  gateway: Gateway,
  tx: Tx,
  withdrawal: Withdrawal,
  trigger: 'refused' | 'impossible',
  reason: FailureReason,
  costAtoms = 0n,
): Promise<void> {
  const { accountId, id, chain, paymentId } = withdrawal
  const status = statusAfter(withdrawal.status, trigger)
  invariant(
    status === 'failed',
    `withdrawal ${showId('wd', id)} is ${withdrawal.status} and can not fail as ${reason}`,
  )
  // Before any balance, as everywhere.
  const payment = paymentId && (await lockPayment(tx, accountId, paymentId))
  const failed = await updateWithdrawal(tx, withdrawal, { status, txHash: withdrawal.txHash, reason })
  // Only after a deep reorganisation, in which its call reverted.
  if (withdrawal.status === 'completed') await uncomplete(tx, withdrawal)
  const held = await listTransfers(tx, accountId, holdCause(id))
  const back = held.map((transfer) => ({
    ...transfer,
    kept: smaller(costAtoms, transfer.atoms),
  }))
  const given = await post(tx, {
    accountId,
    chain,
    cause: releaseCause(id),
    transfers: back
      .flatMap(({ asset, atoms, kept, debit }) => [
        { asset, debit: 'held' as const, credit: debit, atoms: atoms - kept },
        { asset, debit: 'held' as const, credit: 'network_fees' as const, atoms: kept },
      ])
      .filter(({ atoms }) => atoms > 0n),
  })
  invariant(given, `the hold of withdrawal ${showId('wd', id)} was given back before`)
  for (const { debit, asset, atoms, kept } of back) {
    if (kept > 0n) await noteKept(tx, withdrawal, kept)
    if (debit !== 'unresolved' || !payment || atoms === kept) continue
    await addUnresolved(tx, { accountId, paymentId: payment.id, asset }, atoms - kept)
    await returnLoss(tx, payment, id, { asset, atoms: atoms - kept })
  }
  // With what comes back the payment may be covered after all.
  if (paymentId) await markDecisionDue(tx, [{ accountId, paymentId }])
  if (!isOwnKind(failed.kind))
    await announce(tx, {
      accountId,
      type: 'payout.failed',
      cause: `withdrawal:${id}:failed`,
      data: withdrawalResource(failed),
    })
  gateway.log.warn(
    { chain, withdrawal: showId('wd', id), account: showId('acct', accountId), reason },
    'a withdrawal failed; its hold is given back',
  )
}

async function uncomplete(tx: Tx, { accountId, id, chain }: Withdrawal): Promise<void> {
  const booked = await listTransfers(tx, accountId, completionCause(id))
  await post(tx, {
    accountId,
    chain,
    cause: { kind: 'completion_reversal', subjectId: id, number: 1 },
    transfers: booked.map((transfer) => ({ ...transfer, debit: transfer.credit, credit: transfer.debit })),
  })
}

/**
 * Gives back the holds of withdrawals that the signer will never sign.
 *
 * @param aside - Those that can not be settled now.
 * @returns How many.
 */
export async function failRefused(gateway: Gateway, aside: Aside<WithdrawalId> = new Map()): Promise<number> {
  const refused = await listRefused(gateway.db, REFUSED_PER_TURN, listAside(aside))
  for (const { accountId, id } of refused) {
    try {
      await gateway.db.transaction((tx) => failOne(gateway, tx, accountId, id))
    } catch (error) {
      const shown = showId('wd', id)
      await raiseUnsettled(gateway, shown, `the refused withdrawal ${shown}`, error)
      setAside(aside, id)
    }
    crashPoint('refuse:committed')
  }
  return refused.length
}

async function failOne(gateway: Gateway, tx: Tx, accountId: AccountId, id: WithdrawalId): Promise<void> {
  const withdrawal = await lockWithdrawal(tx, accountId, id)
  if (withdrawal?.status !== 'requested' || withdrawal.refusedReason === null) return
  if (await isSigned(tx, accountId, id)) return
  const reason = (await wasDeclined(tx, accountId, id)) ? 'declined' : withdrawal.refusedReason
  await fail(gateway, tx, withdrawal, 'refused', reason)
  crashPoint('refuse:given-back')
  if (WANTED.includes(reason)) return
  const shown = showId('wd', id)
  await raiseAlert(tx, {
    kind: 'withdrawal_refused',
    accountId,
    subject: shown,
    message: `the signer refused withdrawal ${shown}: ${withdrawal.refusedReason}`,
  })
}

/**
 * Gives back the holds of replacement sets that can never enter a chain with outputs any more; see {@link listImpossible}.
 *
 * Not while its coin is frozen: what spends our own UTXOs is signed with our own keys, and where the books do not know it
 * (a database that was restored) it may be just what pays these withdrawals. Nor before the block that the watcher stands
 * at is proven: what freezes the coin may be in it.
 *
 * @returns How many sets.
 */
export async function giveUpImpossible(gateway: Gateway, chain: ChainName, depth: number): Promise<number> {
  const asset = nativeAsset(chain)
  if (await isFrozen(gateway.db, chain, asset)) return 0
  const sets = await listImpossible(gateway.db, chain, depth)
  if (sets.length === 0) return 0
  const progress = await findChainProgress(gateway.db, chain)
  const proven = await findProvenBlock(gateway.db, chain)
  if (!progress || proven?.hash !== progress.tipHash) return 0
  for (const replacementSet of sets) {
    try {
      await gateway.db.transaction(async (tx) => {
        // The prover may have frozen it since.
        if (!(await isFrozen(tx, chain, asset))) await giveUp(gateway, tx, chain, replacementSet)
      })
    } catch (error) {
      await raiseUnsettled(
        gateway,
        `${chain}:${replacementSet}`,
        `transaction ${replacementSet} of ${chain}`,
        error,
      )
    }
  }
  return sets.length
}

async function giveUp(gateway: Gateway, tx: Tx, chain: ChainName, replacementSet: string): Promise<void> {
  const withdrawals = await lockPaidBy(tx, chain, replacementSet)
  await lockPayments(tx, withdrawals)
  const members = await lockReplacementSet(tx, chain, replacementSet)
  if (members.some((member) => !isOpen(member.status) || member.blockHeight !== null)) return
  await endImpossible(tx, members)
  await freeUtxos(tx, chain, replacementSet)
  await together(
    tx,
    withdrawals,
    ({ paymentId }) => paymentId,
    (one, withdrawal) => fail(gateway, one, withdrawal, 'impossible', 'coins_spent'),
  )
  await raiseAlert(tx, {
    kind: 'payout_impossible',
    accountId: null,
    subject: `${chain}:${replacementSet}`,
    message: `a coin that transaction ${replacementSet} spends was spent by another one; what it paid failed`,
  })
}

/**
 * Tells of what can neither enter the chain now nor be given up: its coins are not spent by another, as far as Beck can see, and may
 * come back. Nobody bumps it meanwhile.
 */
export async function tellStranded({ db }: Gateway, chain: ChainName, depth: number): Promise<void> {
  for (const { replacementSet, coins } of await listStranded(db, chain, depth))
    await raiseAlert(db, {
      kind: 'payout_stranded',
      accountId: null,
      subject: `${chain}:${replacementSet}`,
      message: `a reorganisation took ${coins.join(', ')}, which transaction ${replacementSet} spends, and the node refuses it; it is sent again until they are back. If whoever paid them to us spent what they were made of elsewhere, they never are`,
    })
}

/** What must never be, such as books that do not cover it, stops what it befalls, and nothing else. Any other error goes on. */
export async function raiseUnsettled(
  gateway: Gateway,
  subject: string,
  what: string,
  error: unknown,
): Promise<void> {
  if (!(error instanceof InvariantBroken || isOfRows(error))) throw error
  // What PostgreSQL says of rows may name their values.
  const why = error instanceof InvariantBroken ? error.message : 'the books do not allow it; the log says why'
  gateway.log.error({ subject, err: error }, 'what leaves us can not be settled')
  await raiseAlert(gateway.db, {
    kind: 'payout_unsettled',
    accountId: null,
    subject,
    message: `${what} can not be settled: ${why}`,
  })
}
