/** What each kind of signing works with. */
import type { ChainName } from '../core/assets.ts'
import { crashPoint } from '../core/crash-point.ts'
import type { Log } from '../core/log.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Database } from '../db/database.ts'
import { OWN_BRANCH } from '../wallets/derivation.ts'
import type { SignerConfig } from './config.ts'
import type { Journal, SignedEntry } from './journal.ts'
import { type Placing, place } from './place.sql.ts'
import { markRefused, type Requested } from './requests.sql.ts'
import type { ChainKeys, Vault } from './vault.ts'

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

/** Journals a signed transaction and places it: after this the worker may send it, or it is void. */
export async function commit(signer: Signer, entry: SignedEntry): Promise<Placing> {
  crashPoint('signer:signed')
  await signer.journal.signed(entry)
  crashPoint('signer:journaled')
  return settle(signer, entry)
}

/** Places a journaled transaction whose fate is open. */
export async function settle(signer: Signer, entry: SignedEntry): Promise<Placing> {
  const placing = await place(signer.db, entry, changePlace(signer.vault.get(entry.chain), entry))
  crashPoint('signer:placed')
  const fields = { chain: entry.chain, txid: entry.txid, kind: entry.kind, pays: entry.withdrawals.length }
  if (placing === 'placed') {
    await signer.journal.placed(entry)
    signer.log.info(fields, 'signed')
  } else {
    await signer.journal.void(entry)
    signer.log.warn(fields, 'a signed transaction is void: what it needs was taken meanwhile')
  }
  return placing
}

const changePlace = (keys: ChainKeys | undefined, { change }: SignedEntry) =>
  keys && change
    ? { series: keys.series, script: keys.address(OWN_BRANCH, BigInt(change.position)).lookup }
    : null

/**
 * Deals with a withdrawal that the journal says is paid already though the database knows nothing of it: the database
 * was restored or tampered with. Its bytes are placed again; when that cannot be, it is refused for good. Never is
 * another transaction signed for it.
 */
export async function placeAgain(signer: Signer, request: Requested, entry: SignedEntry): Promise<void> {
  const placing = await place(signer.db, entry, changePlace(signer.vault.get(entry.chain), entry))
  const fields = { chain: entry.chain, txid: entry.txid, withdrawal: request.id }
  if (placing === 'placed') {
    signer.log.warn(fields, 'the database had lost a signed transaction; the journal gave it back')
    return
  }
  await refuse(signer, request, 'signed_before')
}

export async function refuse(signer: Signer, request: Requested, reason: string): Promise<void> {
  await markRefused(signer.db, request, reason)
  signer.log.error(
    { chain: request.chain, withdrawal: request.id, account: request.accountId, reason },
    'a withdrawal is refused; its hold is given back',
  )
}

/** Says once why something waits, not at every turn. */
const waiting = new Map<string, string>()
export function logWaiting(signer: Signer, chain: ChainName, what: string, reason: string): void {
  if (waiting.get(`${chain} ${what}`) === reason) return
  if (waiting.size > 10_000) waiting.clear()
  waiting.set(`${chain} ${what}`, reason)
  signer.log.warn({ chain, what, reason }, 'a withdrawal waits')
}
