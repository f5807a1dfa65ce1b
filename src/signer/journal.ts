/**
 * What this signer ever signed, on its own disk: a row per fact, written and synced before the fact leaves the
 * process. The database may be lost, restored or tampered with; the journal still knows which bytes pay a withdrawal,
 * so that no second transaction is ever signed for it, and how much left within the policy's hours.
 *
 * A table beside it says where what is (`journal-index.ts`), so that opening it costs the same however much was signed.
 */
import { access, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Asset, ChainName } from '../core/assets.ts'
import type { SignedEntry } from '../treasury/signed-entry.ts'
import { makeFolder } from './folder.ts'
import { JournalStore } from './journal-store.ts'
import { type JournalRow, keyOf, SEQUENCES } from './journal-tail.ts'

export type { SignedEntry } from '../treasury/signed-entry.ts'

export interface Journal {
  /** Each is on disk when it resolves. */
  signed(entry: SignedEntry): Promise<void>
  placed(entry: SignedEntry): Promise<void>
  void(entry: SignedEntry): Promise<void>
  /**
   * Signed, but whether its rows were committed is not known: after a crash, or a lost connection. It was never sent:
   * what is ready to be sent is known here as placed.
   */
  pending(): SignedEntry[]
  /** The replacement set that pays a withdrawal, its first transaction first; empty for none. Named `account/id` as in the entry. */
  payingFor(withdrawal: string): Promise<SignedEntry[]>
  /** The replacement sets of a chain with accounts that may have been sent, by their first transactions, the newest first: each used a nonce. */
  placedSets(chain: ChainName): AsyncIterable<string>
  /** Those of a set that may have been sent, by its first transaction, which comes first. */
  placedOf(chain: ChainName, replacementSet: string): Promise<SignedEntry[]>
  /** The replacement set that uses a nonce of a sender, on chains with accounts; empty for none. */
  setAt(chain: ChainName, sender: string, nonce: bigint): Promise<SignedEntry[]>
  /** Any transaction that was ever signed here and is not void. */
  entryOf(chain: ChainName, txid: string): Promise<SignedEntry | null>
  /** Whether it may have been sent. */
  isPlaced(chain: ChainName, txid: string): Promise<boolean>
  /** Every replacement set that was bumped, the one bumped last first, as those of its transactions that may have been sent, the first one first. */
  bumpedSets(): AsyncIterable<SignedEntry[]>
  /** Whether a write failed: what the file ends in is not known, and only opening it again tells. */
  isBroken(): boolean
  /**
   * Atoms that left since an instant, at most a day back; up to a minute before it is counted with it. Void ones count
   * too: what is void is for the database to say, and who owns the database gets no room back by saying so.
   */
  leftSince(asset: Asset, live: boolean, sinceMs: number): bigint
  close(): Promise<void>
}

/** After so many rows the table beside the journal is written anew; opening it reads no more than these. */
const ROWS_PER_INDEX = 10_000
/** While a table is made from the whole journal, it is written more rarely: each time all of it is. */
const ROWS_PER_INDEX_ANEW = 200_000

/**
 * Opens the journal file, which one process at a time may do.
 *
 * A file `<path>.copied` beside it says that it was copied from a signer that ran on, and may have sent what here is only
 * signed. All of that then counts as placed: it is never void, nor is anything else signed for what it pays.
 *
 * @throws {InvariantBroken} when a row in the middle is damaged, or rows are gone that were there before: signing on could
 *   pay twice. A torn last row is a crash in the middle of writing it, before anything depended on it: it is cut off.
 *   Damage in what the table knows is found when its row is read.
 */
export async function openJournal(path: string, rowsPerIndex = ROWS_PER_INDEX): Promise<Journal> {
  await makeFolder(dirname(path))
  const file = await open(path, 'a+', 0o600)
  const store = new JournalStore(path, file)
  try {
    await store.replay(Math.max(rowsPerIndex, ROWS_PER_INDEX_ANEW))
    await store.index(rowsPerIndex)
  } catch (error) {
    await store.close()
    throw error
  }

  // One write after another; after a failed one there is no next, for the file may end in half a row.
  let writing = Promise.resolve()
  let isBroken = false
  const write = (row: JournalRow): Promise<void> => {
    writing = writing.then(async () => {
      await store.append(row)
      await store.index(rowsPerIndex)
    })
    writing.catch(() => {
      isBroken = true
    })
    return writing
  }
  if (await isThere(`${path}.copied`)) {
    for (const { chain, txid } of store.pending()) await write({ fact: 'placed', chain, txid })
    await rm(`${path}.copied`)
  }
  const first = async (key: string): Promise<SignedEntry | null> => (await store.entries(key)).at(0) ?? null
  const setOf = (chain: ChainName, replacementSet: string) =>
    store.entries(keyOf.transaction(chain, replacementSet))
  const openedBy = async (key: string): Promise<SignedEntry[]> => {
    const opening = (await store.entries(key)).at(-1)
    return opening ? setOf(opening.chain, opening.replacementSet) : []
  }
  const placedOf = async (chain: ChainName, replacementSet: string): Promise<SignedEntry[]> =>
    (await setOf(chain, replacementSet)).filter(({ txid }) => !store.isPending(chain, txid))
  return {
    signed: (entry) => write({ fact: 'signed', at: Date.now(), entry }),
    placed: ({ chain, txid }) => write({ fact: 'placed', chain, txid }),
    void: ({ chain, txid }) => write({ fact: 'void', chain, txid }),
    pending: () => store.pending(),
    payingFor: (withdrawal) => openedBy(keyOf.withdrawal(withdrawal)),
    async *placedSets(chain) {
      for await (const entry of store.sequence(SEQUENCES.sets(chain))) yield entry.txid
    },
    placedOf,
    setAt: (chain, sender, nonce) => openedBy(keyOf.nonce(chain, sender, String(nonce))),
    entryOf: (chain, txid) => first(keyOf.transaction(chain, txid)),
    isPlaced: async (chain, txid) =>
      !store.isPending(chain, txid) && (await store.isKnown(keyOf.transaction(chain, txid))),
    async *bumpedSets() {
      const seen = new Set<string>()
      for await (const { chain, replacementSet } of store.sequence(SEQUENCES.bumps)) {
        const key = keyOf.transaction(chain, replacementSet)
        if (seen.has(key)) continue
        seen.add(key)
        yield await placedOf(chain, replacementSet)
      }
    },
    isBroken: () => isBroken,
    leftSince: (asset, live, sinceMs) => store.leftSince(asset, live, sinceMs),
    async close() {
      await writing.catch(() => {})
      await store.close()
    },
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
