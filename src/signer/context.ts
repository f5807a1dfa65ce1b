/** What each kind of signing works with. */
import type { ChainName } from '../core/assets.ts'
import { crashPoint } from '../core/crash-point.ts'
import { showId, type WithdrawalId } from '../core/ids.ts'
import type { Log } from '../core/log.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Database } from '../db/database.ts'
import { listPlaced, markReady } from '../treasury/place-signed.sql.ts'
import { nameOf, opensSet, type PaidWithdrawal, paidBy, type SignedEntry } from '../treasury/signed-entry.ts'
import { INTERNAL_BRANCH } from '../wallets/derivation.ts'
import type { FailureReason, WaitingFor, Withdrawal } from '../withdrawals/withdrawal.ts'
import {
  clearSigning,
  listCancelWanted,
  listSigning,
  markRefused,
  markSigning,
  noteWaiting,
} from '../withdrawals/withdrawals.sql.ts'
import type { Approvals } from './approvals/approvals.ts'
import { expireRequestOf, reopenRequestOf } from './approvals/seen-approvals.sql.ts'
import type { SignerConfig } from './config.ts'
import type { Journal } from './journal.ts'
import { forgetWaiting, logWaiting } from './log-waiting.ts'
import { type ChangeAddress, type Placing, paidOf, place, restoreSet } from './place.ts'
import { spanTooShort } from './policy.ts'
import { listGatheredFor, nextNonce, type Requested } from './requests.sql.ts'
import type { Vault } from './vault.ts'

export interface Signer {
  readonly db: Database
  readonly secrets: Secrets
  readonly journal: Journal
  readonly approvals: Approvals
  readonly config: Pick<
    SignerConfig,
    'limits' | 'allowlistWaitMs' | 'folder' | 'confirmations' | 'tokens' | 'modes'
  >
  readonly vault: Vault
  /** The database's, by time's arrow: in another one it lost commits, and is compared with the journal again. */
  readonly era?: number | undefined
  readonly log: Log
  /** How long a turn scans what waits on one chain; five seconds unless told. */
  readonly scanMs?: number
  /** Aborted when the signer is to end. */
  readonly stopping?: AbortSignal
}

/** As many withdrawals of one transaction are named in a line of the log; what else it pays the database says. */
const NAMED_IN_LOG = 20

const paysInLog = (entry: SignedEntry) => ({
  pays: paidBy(entry).slice(0, NAMED_IN_LOG).map(publicId),
  payouts: paidBy(entry).length,
})

/** A withdrawal of the journal as merchants know it. */
const publicId = (name: string): string => showId('wd', name.slice(name.indexOf('/') + 1) as WithdrawalId)

/** Journals a signed transaction, places it and makes it ready: after this the worker may send it, or it is void. */
export const commit = async (signer: Signer, entry: SignedEntry): Promise<Placing> =>
  (await mayBeJournaled(signer, entry)) ? journalAndPlace(signer, entry) : 'taken'

/**
 * The last look before a signed transaction is written down. What is void counts against the operator's limits, so what it pays is
 * marked here: nobody can cancel it in between. Payouts on chains with outputs were marked before they were signed, so that one that
 * is cancelled holds up none of the hundreds beside it; they are marked again, because signing may have taken longer than the
 * marks of a signer are believed for.
 *
 * @returns False when it must not be; then this marked nothing.
 */
export async function mayBeJournaled(signer: Signer, entry: SignedEntry): Promise<boolean> {
  // Two signatures under one id differ in the amounts that rows gave for its UTXOs: put together they may be valid and
  // give the difference to the miner. And two withdrawals that one transaction pays would be one that is not paid.
  if (await signer.journal.entryOf(entry.chain, entry.txid)) {
    logWaiting(signer, entry.chain, entry.txid, 'it was signed before, and the database does not know')
    return false
  }
  const paid = opensSet(entry) ? paidOf(entry) : []
  if (paid.length === 0) return true
  return signer.db.transaction(async (tx) => {
    const marked = await markSigning(tx, paid)
    if (marked.length === paid.length) return true
    await clearSigning(tx, marked)
    return false
  })
}

/** @param entry - One that {@link mayBeJournaled}. */
export async function journalAndPlace(signer: Signer, entry: SignedEntry): Promise<Placing> {
  crashPoint('signer:marked')
  crashPoint('signer:signed')
  await signer.journal.signed(entry)
  crashPoint('signer:journaled')
  return finishPlacing(signer, entry)
}

/**
 * Does what lies between the marks of withdrawals and the journal. Where it fails, or comes to nothing, the marks are taken off:
 * nothing was written down, so all of them may be cancelled, and the next turn does not mark them anew for ever.
 *
 * @param work - Resolves to null when nothing is to be journaled.
 */
export async function whileMarked<Done>(
  signer: Signer,
  marked: readonly PaidWithdrawal[],
  work: () => Promise<Done | null>,
): Promise<Done | null> {
  let done: Done | null
  try {
    done = await work()
  } catch (error) {
    // What stays marked for a database that is away, `clearMarks` takes off.
    await unmark(signer, marked).catch(() => {})
    throw error
  }
  if (done === null) await unmark(signer, marked)
  return done
}

/** Places a journaled transaction whose fate is open; it was never ready to be sent. */
export async function finishPlacing(signer: Signer, entry: SignedEntry): Promise<Placing> {
  const placing = await place(signer.db, entry, changeAddress(signer, entry))
  crashPoint('signer:placed')
  const fields = { chain: entry.chain, txid: entry.txid, kind: entry.kind, ...paysInLog(entry) }
  if (placing === 'placed') {
    await signer.journal.placed(entry)
    crashPoint('signer:placing-journaled')
    await markReady(signer.db, entry)
    crashPoint('signer:ready')
    for (const name of paidBy(entry)) forgetWaiting(entry.chain, publicId(name))
    signer.log.info(fields, 'signed')
  } else {
    await signer.journal.void(entry)
    await unmark(signer, paidOf(entry))
    signer.log.warn(fields, 'a signed transaction is void: what it needs was taken meanwhile')
  }
  return placing
}

/**
 * Nothing is signed for them now, and they may be cancelled again; but for those that UTXOs were gathered for, which the gateway would
 * pay for alone.
 */
export async function unmark(signer: Signer, paid: readonly PaidWithdrawal[]): Promise<void> {
  if (paid.length === 0) return
  await signer.db.transaction(async (tx) => {
    const gathered = new Set((await listGatheredFor(tx, paid)).map(nameOf))
    await clearSigning(
      tx,
      paid.filter((each) => !gathered.has(nameOf(each))),
    )
  })
}

/** A signer that lives needs a moment between a mark and its placing; one that marked longer ago died in between. */
const SIGNING_SECONDS_MAX = 60

/**
 * Unmarks withdrawals that were to be signed for, and of which the journal knows nothing. To be called when nothing in the journal is
 * pending.
 *
 * @param isFirst - Since this process began: then what it marked before is as good as old.
 */
export async function clearMarks(signer: Signer, isFirst: boolean): Promise<void> {
  const marked = await listSigning(signer.db, [...signer.vault.keys()], isFirst ? 0 : SIGNING_SECONDS_MAX)
  const unknown: Withdrawal[] = []
  for (const withdrawal of marked)
    if ((await signer.journal.payingFor(nameOf(withdrawal))).length === 0) unknown.push(withdrawal)
  await unmark(signer, unknown)
}

/** What was placed by this signer and, for a crash in between, is not ready to be sent. */
export async function readyPlaced(signer: Signer): Promise<void> {
  for (const { chain, txid } of await listPlaced(signer.db)) {
    if (!(await signer.journal.isPlaced(chain, txid))) continue
    const entry = await signer.journal.entryOf(chain, txid)
    if (entry) await markReady(signer.db, entry)
  }
}

function changeAddress(signer: Signer, entry: SignedEntry): ChangeAddress | null {
  const keys = signer.vault.get(entry.chain)
  if (!keys || entry.purpose !== 'outputs' || !entry.change) return null
  return { series: keys.series, script: keys.address(INTERNAL_BRANCH, BigInt(entry.change.position)).lookup }
}

/**
 * Whether the journal knows what pays a withdrawal, though the database knows nothing of it: the database was restored or
 * tampered with. What was sent is put back, to be sent and followed as before. Never is another transaction signed for it,
 * and never is its hold given back here: it may have been paid.
 *
 * @param known - Names of withdrawals whose transactions were dealt with in this look, each once for all that it pays.
 */
export async function isPaid(
  signer: Signer,
  withdrawal: Pick<Withdrawal, 'accountId' | 'chain' | 'id'>,
  known: Set<string>,
): Promise<boolean> {
  if (known.has(nameOf(withdrawal))) return true
  const set = await signer.journal.payingFor(nameOf(withdrawal))
  const [opening] = set
  if (!opening) return false
  for (const name of paidBy(opening)) known.add(name)
  if (!(await putBackSet(signer, set)))
    logWaiting(
      signer,
      withdrawal.chain,
      showId('wd', withdrawal.id),
      'its signed transaction cannot be put back; look into it',
    )
  return true
}

/**
 * The next nonce of a sender. One that the journal knows as used is never used again: a restored database forgot what
 * used it, so that is put back first, and no two transactions ever wait for the same nonce.
 *
 * @returns Null while it is not known.
 */
export async function unusedNonce(signer: Signer, chain: ChainName, sender: string): Promise<bigint | null> {
  for (;;) {
    const nonce = await nextNonce(signer.db, chain, sender)
    if (nonce === null) return null
    const set = await signer.journal.setAt(chain, sender, nonce)
    if (set.length === 0) return nonce
    if (await putBackSet(signer, set)) continue
    logWaiting(signer, chain, `nonce ${nonce}`, 'what was signed under it cannot be put back; look into it')
    return null
  }
}

/** Puts back what the database does not know of a set that may have been sent. @returns False when it cannot be. */
export async function putBackSet(signer: Signer, set: readonly SignedEntry[]): Promise<boolean> {
  if (!(await restoreSet(signer.db, set, (entry) => changeAddress(signer, entry)))) return false
  for (const entry of set) await markReady(signer.db, entry)
  const [opening] = set
  signer.log.error(
    { chain: opening?.chain, txid: opening?.txid, ...(opening && paysInLog(opening)) },
    'the database had lost a signed transaction; the journal gave it back',
  )
  return true
}

/** Says in the log and to the merchant why a request waits. */
export async function keepWaiting(
  signer: Signer,
  request: Requested,
  waitingFor: WaitingFor,
  reason: string,
): Promise<void> {
  logWaiting(signer, request.chain, showId('wd', request.id), reason)
  if (request.waitingFor !== waitingFor) await noteWaiting(signer.db, request, waitingFor)
  if (waitingFor === 'approval' && request.approval?.status === 'approved')
    await reopenRequestOf(signer.db, request)
}

/** What is wanted no longer, and that the journal knows nothing of, is never signed: its hold is given back. */
export async function cancelWanted(signer: Signer, chain: ChainName): Promise<void> {
  const known = new Set<string>()
  for (const request of await listCancelWanted(signer.db, chain)) {
    if (await isPaid(signer, request, known)) continue
    await signer.approvals.forget(request)
    await markRefused(signer.db, request, 'cancelled')
  }
}

export async function refuse(signer: Signer, request: Requested, reason: FailureReason): Promise<void> {
  await signer.approvals.forget(request)
  // What its mark is left for: nothing is being signed.
  const gathered = await listGatheredFor(signer.db, [request])
  if (gathered.length > 0) await signer.db.transaction((tx) => clearSigning(tx, gathered))
  await markRefused(signer.db, request, reason)
  crashPoint('signer:refused')
  if (reason === 'not_approved') await expireRequestOf(signer.db, request)
  forgetWaiting(request.chain, showId('wd', request.id))
  signer.log.error(
    {
      chain: request.chain,
      withdrawal: showId('wd', request.id),
      account: showId('acct', request.accountId),
      reason,
    },
    'a withdrawal is refused; its hold is given back',
  )
}

/** What alone exceeds a limit together with its fee would wait for ever. @returns Whether it is refused. */
export async function refuseIfTooLarge(
  signer: Signer,
  request: Requested,
  feeAtoms: bigint,
): Promise<boolean> {
  const span = spanTooShort(signer.config.limits, request.asset, request.netAtoms + feeAtoms)
  if (span) await refuse(signer, request, `limit_per_${span}`)
  return span !== null
}
