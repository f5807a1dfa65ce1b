/** A signer's journal in memory. */
import type { Journal, SignedEntry } from '../../src/signer/journal.ts'
import { paidBy } from '../../src/treasury/signed-entry.ts'

/** A journal that survives the end of its process, as the one on disk does; a process may end around each fact. */
export function memoryJournal(tick: () => Promise<void>): Journal {
  const entries = new Map<string, SignedEntry>()
  const pending = new Map<string, SignedEntry>()
  const settle = async ({ txid }: SignedEntry) => {
    await tick()
    pending.delete(txid)
  }
  const setOf = (replacementSet: string) =>
    [...entries.values()].filter((entry) => entry.replacementSet === replacementSet)
  return {
    async signed(entry) {
      await tick()
      entries.set(entry.txid, entry)
      pending.set(entry.txid, entry)
    },
    placed: settle,
    async void(entry) {
      await settle(entry)
      entries.delete(entry.txid)
    },
    pending: () => [...pending.values()],
    async payingFor(withdrawal) {
      const opening = [...entries.values()].find(
        (entry) => entry.replacementSet === entry.txid && paidBy(entry).includes(withdrawal),
      )
      return opening ? setOf(opening.replacementSet) : []
    },
    setAt: async (chain, sender, nonce) => {
      const opening = [...entries.values()].find(
        (entry) =>
          entry.purpose !== 'outputs' &&
          entry.chain === chain &&
          entry.sender === sender &&
          entry.nonce === String(nonce) &&
          entry.replacementSet === entry.txid,
      )
      return opening ? setOf(opening.replacementSet) : []
    },
    async *placedSets(chain) {
      for (const { chain: at, txid, replacementSet, purpose } of [...entries.values()].reverse())
        if (at === chain && purpose !== 'outputs' && replacementSet === txid && !pending.has(txid)) yield txid
    },
    placedOf: async (_chain, replacementSet) =>
      setOf(replacementSet).filter(({ txid }) => !pending.has(txid)),
    entryOf: async (_chain, txid) => entries.get(txid) ?? null,
    isPlaced: async (_chain, txid) => entries.has(txid) && !pending.has(txid),
    async *bumpedSets() {
      for (const { txid, replacementSet } of entries.values()) {
        const set = txid === replacementSet ? setOf(txid).filter((entry) => !pending.has(entry.txid)) : []
        if (set.length > 1) yield set
      }
    },
    isBroken: () => false,
    leftSince: () => 0n,
    close: async () => {},
  }
}
