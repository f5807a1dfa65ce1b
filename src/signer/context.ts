/** What each kind of signing works with. */
import type { ChainName } from '../core/assets.ts'
import { crashPoint } from '../core/crash-point.ts'
import type { Log } from '../core/log.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Database } from '../db/database.ts'
import { OWN_BRANCH } from '../wallets/derivation.ts'
import type { SignerConfig } from './config.ts'
import type { Journal, SignedEntry } from './journal.ts'
import { type ChangePlace, listUnreleased, type Placing, place, release, restoreLine } from './place.sql.ts'
import { spanTooShort } from './policy.ts'
import { markRefused, type Requested } from './requests.sql.ts'
import type { Vault } from './vault.ts'

export interface Signer {
  readonly db: Database
  readonly secrets: Secrets
  readonly journal: Journal
  readonly config: Pick<SignerConfig, 'limits' | 'allowlistWaitMs' | 'folder' | 'confirmations' | 'tokens'>
  readonly vault: Vault
  readonly log: Log
}

/** How the journal names a withdrawal. */
export const nameOf = (request: Pick<Requested, 'accountId' | 'id'>): string =>
  `${request.accountId}/${request.id}`

/** Journals a signed transaction, places it and releases it: after this the worker may send it, or it is void. */
export async function commit(signer: Signer, entry: SignedEntry): Promise<Placing> {
  crashPoint('signer:signed')
  await signer.journal.signed(entry)
  crashPoint('signer:journaled')
  return settle(signer, entry)
}

/** Places a journaled transaction whose fate is open; it was never released. */
export async function settle(signer: Signer, entry: SignedEntry): Promise<Placing> {
  const placing = await place(signer.db, entry, changePlace(signer, entry))
  crashPoint('signer:placed')
  const fields = { chain: entry.chain, txid: entry.txid, kind: entry.kind, pays: entry.withdrawals.length }
  if (placing === 'placed') {
    await signer.journal.placed(entry)
    crashPoint('signer:placing-journaled')
    await release(signer.db, entry.chain, entry.txid)
    crashPoint('signer:released')
    signer.log.info(fields, 'signed')
  } else {
    await signer.journal.void(entry)
    signer.log.warn(fields, 'a signed transaction is void: what it needs was taken meanwhile')
  }
  return placing
}

/** What was placed by this signer and, for a crash in between, not released. */
export async function releasePlaced(signer: Signer): Promise<void> {
  for (const { chain, txid } of await listUnreleased(signer.db))
    if (signer.journal.isPlaced(chain, txid)) await release(signer.db, chain, txid)
}

function changePlace(signer: Signer, { chain, change }: SignedEntry): ChangePlace | null {
  const keys = signer.vault.get(chain)
  return keys && change
    ? { series: keys.series, script: keys.address(OWN_BRANCH, BigInt(change.position)).lookup }
    : null
}

/**
 * Deals with a withdrawal that the journal knows as paid though the database knows nothing of it: the database was
 * restored or tampered with. What was sent is put back, to be sent and followed as before. Never is another transaction
 * signed for it, and never is its hold given back here: it may have been paid.
 */
export async function restorePaid(
  signer: Signer,
  request: Requested,
  line: readonly SignedEntry[],
): Promise<void> {
  if (await putBackLine(signer, line)) return
  logWaiting(signer, request.chain, request.id, 'its signed transaction cannot be put back; look into it')
}

/** Puts back what the database does not know of a line that may have been sent. @returns False when it cannot be. */
export async function putBackLine(signer: Signer, line: readonly SignedEntry[]): Promise<boolean> {
  if (!(await restoreLine(signer.db, line, (entry) => changePlace(signer, entry)))) return false
  for (const { chain, txid } of line) await release(signer.db, chain, txid)
  signer.log.error(
    { chain: line[0]?.chain, line: line[0]?.txid, pays: line[0]?.withdrawals },
    'the database had lost a signed transaction; the journal gave it back',
  )
  return true
}

export async function refuse(signer: Signer, request: Requested, reason: string): Promise<void> {
  await markRefused(signer.db, request, reason)
  crashPoint('signer:refused')
  signer.log.error(
    { chain: request.chain, withdrawal: request.id, account: request.accountId, reason },
    'a withdrawal is refused; its hold is given back',
  )
}

/** What alone exceeds a limit together with its fee would wait for ever. */
export async function refuseIfTooLarge(signer: Signer, request: Requested, feeAtoms: bigint): Promise<void> {
  const span = spanTooShort(signer.config.limits, request.asset, request.netAtoms + feeAtoms)
  if (span) await refuse(signer, request, `limit_per_${span}`)
}

/** Says once why something waits, not at every turn. */
const waiting = new Map<string, string>()
export function logWaiting(signer: Signer, chain: ChainName, what: string, reason: string): void {
  if (waiting.get(`${chain} ${what}`) === reason) return
  if (waiting.size > 10_000) waiting.clear()
  waiting.set(`${chain} ${what}`, reason)
  signer.log.warn({ chain, what, reason }, 'a withdrawal waits')
}
