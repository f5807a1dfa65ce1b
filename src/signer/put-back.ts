/**
 * What a restored database forgot of transactions that it knows: their bumps. Without them it would take the UTXOs of a
 * payout for spent by somebody else, and wait for a transaction that was replaced long ago. Payouts that it forgot as a
 * whole are put back when they are asked for again; see `isPaid`. On chains with accounts all sets are, for each used a
 * nonce.
 */
import type { ChainName } from '../core/assets.ts'
import { listForgotten, listOpenSets, listUnknown } from '../treasury/restore-signed.sql.ts'
import { putBackSet, type Signer } from './context.ts'
import { logWaiting } from './log-waiting.ts'
import { reserveSet } from './place.ts'

/** How many sets are compared with the database at once. */
const COMPARED_SETS = 500

/** To be called when the signer starts, and when the database began another era. @returns How many sets. */
export async function putBackBumps(signer: Signer): Promise<number> {
  let putBack = 0
  whole.delete(signer.journal)
  for await (const sets of pagesOf(signer.journal.bumpedSets(), () => COMPARED_SETS)) {
    const ours = sets.filter(([first]) => first && signer.vault.has(first.chain))
    for (const set of await listForgotten(signer.db, ours)) if (await putBackSet(signer, set)) putBack += 1
  }
  return putBack
}

/**
 * Chains with accounts: puts back every set that was sent and that the database does not know, newest first until it knows
 * one. Each used a nonce that nothing new may use, and moved UTXOs that would be taken for strangers'.
 */
export async function putBackSentSets(signer: Signer, chain: ChainName): Promise<void> {
  const forgotten: string[] = []
  // The newest alone first: with it the database knows all of them, at nearly every turn.
  let size = 1
  for await (const some of pagesOf(signer.journal.placedSets(chain), () => size)) {
    const unknown = await listUnknown(signer.db, chain, some)
    forgotten.push(...unknown)
    if (unknown.length < some.length) break
    size = COMPARED_SETS
  }
  for (const replacementSet of forgotten.reverse()) {
    const entries = await signer.journal.placedOf(chain, replacementSet)
    if (await putBackSet(signer, entries)) continue
    logWaiting(
      signer,
      chain,
      replacementSet,
      'the database forgot it, and it cannot be put back; look into it',
    )
  }
}

/** Open sets that have all that they spend, since the journal was compared with the database. */
const whole = new WeakMap<Signer['journal'], Map<ChainName, ReadonlySet<string>>>()

/**
 * Chains with outputs: reserves what open sets spend and a restored database had not read again when they were put back. To be called
 * before anything new is signed. A UTXO that never comes keeps its set open, and the log says so; the node refuses what spends it.
 */
export async function reserveAgain(signer: Signer, chain: ChainName): Promise<void> {
  const { db, journal } = signer
  const sets = whole.get(journal) ?? new Map<ChainName, ReadonlySet<string>>()
  whole.set(journal, sets)
  const before = sets.get(chain)
  const now = new Set<string>()
  for (const { replacementSet } of await listOpenSets(db, chain)) {
    if (before?.has(replacementSet) || (await reserveSet(db, await journal.placedOf(chain, replacementSet))))
      now.add(replacementSet)
    else
      logWaiting(
        signer,
        chain,
        replacementSet,
        'a coin that it spends is in no block that was read, or is another transaction’s; look into it if it stays so',
      )
  }
  sets.set(chain, now)
}

async function* pagesOf<Item>(items: AsyncIterable<Item>, size: () => number): AsyncGenerator<Item[]> {
  let page: Item[] = []
  for await (const item of items) {
    page.push(item)
    if (page.length < size()) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}
