/**
 * Placing: the rows of a journaled transaction enter the database in one transaction, or never. Its bytes follow when it
 * is ready to be sent, and it is that once the journal says that it was placed: so what the journal does not know as placed
 * was never sent, and nobody, not even the database's owner, has seen the bytes of what is void. All of it can be repeated
 * after any crash and any lost answer.
 */
import { raiseAlert } from '../alerts/alerts.sql.ts'
import { crashPoint } from '../core/crash-point.ts'
import { invariant } from '../core/errors.ts'
import type { AccountId, WithdrawalId } from '../core/ids.ts'
import type { Database, Tx } from '../db/database.ts'
import { sqlState } from '../db/failures.ts'
import { UNIQUE_VIOLATION } from '../db/sqlstate.ts'
import {
  advanceBatch,
  advanceSweep,
  expectChange,
  insertPayouts,
  insertSigned,
  isKnown,
  lockOpenSet,
  reserveUtxos,
  Taken,
  takeDeployment,
  takeNonce,
} from '../treasury/place-signed.sql.ts'
import {
  listNotKnownAsPaid,
  lockIfOpen,
  raiseUsedNonce,
  restoreBatch,
  restoreDeployment,
  restoreSweep,
  searchFromTip,
  takeUtxosBack,
} from '../treasury/restore-signed.sql.ts'
import { opensSet, type PaidWithdrawal, paidBy, type SignedEntry } from '../treasury/signed-entry.ts'
import { raiseNextChange } from '../wallets/wallets.sql.ts'
import { isPayable } from '../withdrawals/withdrawal.ts'
import { lockByIds } from '../withdrawals/withdrawals.sql.ts'

/** `taken`: what it needs was given to another transaction, or what it pays is no longer payable. */
export type Placing = 'placed' | 'taken'

/** Where change of a placed transaction goes. */
export interface ChangeAddress {
  readonly series: string
  readonly script: Uint8Array
}

/**
 * Locks, in this order: the withdrawals it pays by their keys, its replacement set, its nonce, its UTXOs. Whoever signs for
 * the same withdrawals waits at the first of them and finds them taken.
 */
export async function place(
  db: Database,
  entry: SignedEntry,
  change: ChangeAddress | null,
): Promise<Placing> {
  try {
    return await db.transaction((tx) => placeIn(tx, entry, change), {
      ifCommitted: async (after) => ((await isKnown(after, entry.chain, entry.txid)) ? 'placed' : undefined),
    })
  } catch (error) {
    if (isTaken(error)) return 'taken'
    throw error
  }
}

/** Whether an error says that what a replacement set needs is another one's. */
const isTaken = (error: unknown): boolean => error instanceof Taken || sqlState(error) === UNIQUE_VIOLATION

/** The withdrawals that an entry pays. */
export const paidOf = (entry: SignedEntry): PaidWithdrawal[] =>
  paidBy(entry).map((name) => {
    const [accountId, id] = name.split('/')
    return { accountId: accountId as AccountId, id: id as WithdrawalId }
  })

async function placeIn(tx: Tx, entry: SignedEntry, change: ChangeAddress | null): Promise<Placing> {
  const paid = paidOf(entry)
  const found = await lockByIds(tx, paid)
  if (await isKnown(tx, entry.chain, entry.txid)) return 'placed'
  if (opensSet(entry)) {
    if (found.filter(isPayable).length !== paid.length) throw new Taken()
    if (entry.purpose !== 'outputs') await takeNonce(tx, entry)
  }
  // A bump pays what its set pays, in a restored database too that has forgotten some of it.
  else await lockOpenSet(tx, entry)
  await insertSigned(tx, entry, 'placed')
  if (opensSet(entry)) await insertPayouts(tx, entry, paid)
  if (entry.purpose === 'outputs') await reserveUtxos(tx, entry)
  else if (opensSet(entry)) await advance(tx, entry)
  await noteChange(tx, entry, change)
  crashPoint('signer:placing')
  return 'placed'
}

async function advance(tx: Tx, entry: SignedEntry): Promise<void> {
  if (entry.purpose === 'gas' || entry.purpose === 'sweep') await advanceSweep(tx, entry)
  if (entry.purpose === 'batch') await advanceBatch(tx, entry)
  if (entry.purpose === 'deploy') await takeDeployment(tx, entry)
}

async function noteChange(tx: Tx, entry: SignedEntry, place: ChangeAddress | null): Promise<void> {
  if (entry.purpose !== 'outputs' || !entry.change || !place) return
  await expectChange(tx, entry, entry.change, place.script)
  await raiseNextChange(tx, entry.chain, place.series, BigInt(entry.change.position) + 1n)
}

/**
 * Puts back a replacement set, or what is missing of one, that the journal knows as sent and the database does not: it was
 * restored from a backup, or tampered with. The chain may have taken it long ago, so neither spent UTXOs nor used nonces
 * speak against it; something else that was signed for the same withdrawals, UTXOs or nonce does.
 *
 * @returns False when it cannot be put back.
 */
export async function restoreSet(
  db: Database,
  entries: readonly SignedEntry[],
  changeOf: (entry: SignedEntry) => ChangeAddress | null,
): Promise<boolean> {
  const [opening] = entries
  invariant(opening && opensSet(opening), 'a replacement set begins with the transaction that names it')
  try {
    await db.transaction((tx) => restoreIn(tx, opening, entries, changeOf))
    return true
  } catch (error) {
    if (isTaken(error)) return false
    throw error
  }
}

/**
 * What a replacement set spends, given to it again as far as the database knows it: a set that was put back before the watcher had
 * read the blocks of its UTXOs again has none of them, and others might be paid with them.
 *
 * @returns Whether nothing is missing.
 */
export async function reserveSet(db: Database, entries: readonly SignedEntry[]): Promise<boolean> {
  const [opening] = entries
  if (!opening) return true
  try {
    return await db.transaction(async (tx) => {
      if (!(await lockIfOpen(tx, opening))) return true
      let isWhole = true
      for (const entry of entries)
        if (entry.purpose === 'outputs' && !(await takeUtxosBack(tx, entry))) isWhole = false
      return isWhole
    })
  } catch (error) {
    if (isTaken(error)) return false
    throw error
  }
}

async function restoreIn(
  tx: Tx,
  opening: SignedEntry,
  entries: readonly SignedEntry[],
  changeOf: (entry: SignedEntry) => ChangeAddress | null,
): Promise<void> {
  // Withdrawals of its batch that were requested after the backup are gone: the proof of the books shows what they took.
  const paid = (await lockByIds(tx, paidOf(opening))).filter(({ status }) => status === 'requested')
  if (opening.purpose !== 'outputs') await raiseUsedNonce(tx, opening)
  for (const entry of entries) {
    await insertSigned(tx, entry, 'recovered')
    if (entry.purpose === 'outputs') await takeUtxosBack(tx, entry)
    await searchFromTip(tx, entry.chain, entry.txid)
    await noteChange(tx, entry, changeOf(entry))
  }
  await insertPayouts(tx, opening, await listNotKnownAsPaid(tx, opening, paid))
  if (opening.purpose === 'gas' || opening.purpose === 'sweep') await restoreSweep(tx, opening)
  if (opening.purpose === 'batch') await restoreBatch(tx, opening)
  if (opening.purpose === 'deploy') await restoreDeployment(tx, opening)
  // What was sent and forgotten is for the operator to look at, whatever becomes of it.
  const { chain, replacementSet } = opening
  await raiseAlert(tx, {
    kind: 'signed_transaction_restored',
    accountId: null,
    subject: `${chain}:${replacementSet}`,
    message: `the database had lost the signed transaction ${replacementSet} of ${chain}; the signer put it back from its journal`,
  })
}
