/** A signer's journal in memory. */
import type { Journal, SignedEntry } from '../../src/signer/journal.ts'
import { paidBy } from '../../src/treasury/signed-entry.ts'

/** A journal that survives the end of its process, as the one on disk does; a process may end around each fact. */
export function memoryJournal(tick: () => Promise<void>): Journal {
  const entries = new Map<string, SignedEntry>()
  const unsettled = new Map<string, SignedEntry>()
  const settle = async ({ txid }: SignedEntry) => {
    await tick()
    unsettled.delete(txid)
  }
  const lineOf = (line: string) => [...entries.values()].filter((entry) => entry.line === line)
  return {
    async signed(entry) {
      await tick()
      entries.set(entry.txid, entry)
      unsettled.set(entry.txid, entry)
    },
    placed: settle,
    async void(entry) {
      await settle(entry)
      entries.delete(entry.txid)
    },
    unsettled: () => [...unsettled.values()],
    async payingFor(withdrawal) {
      const opening = [...entries.values()].find(
        (entry) => entry.line === entry.txid && paidBy(entry).includes(withdrawal),
      )
      return opening ? lineOf(opening.line) : []
    },
    lineAt: async (chain, sender, nonce) => {
      const opening = [...entries.values()].find(
        (entry) =>
          entry.purpose !== 'outputs' &&
          entry.chain === chain &&
          entry.sender === sender &&
          entry.nonce === String(nonce) &&
          entry.line === entry.txid,
      )
      return opening ? lineOf(opening.line) : []
    },
    async *placedLines(chain) {
      for (const { chain: at, txid, line, purpose } of [...entries.values()].reverse())
        if (at === chain && purpose !== 'outputs' && line === txid && !unsettled.has(txid)) yield txid
    },
    placedOf: async (_chain, line) => lineOf(line).filter(({ txid }) => !unsettled.has(txid)),
    entryOf: async (_chain, txid) => entries.get(txid) ?? null,
    isPlaced: async (_chain, txid) => entries.has(txid) && !unsettled.has(txid),
    async *bumpedLines() {},
    isBroken: () => false,
    leftSince: () => 0n,
    close: async () => {},
  }
}
