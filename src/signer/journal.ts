/**
 * What this signer ever signed, on its own disk: a line per fact, written and synced before the fact leaves the
 * process. The database may be lost, restored or tampered with; the journal still knows which bytes pay a withdrawal,
 * so that no second transaction is ever signed for it, and how much left within the policy's hours.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Asset, type ChainName, isSimulated } from '../core/assets.ts'
import { InvariantBroken } from '../core/errors.ts'
import { syncPath } from '../core/files.ts'
import { DAY_MS } from '../core/time.ts'
import { paidBy, type SignedEntry } from '../treasury/signed-entry.ts'
import { makeFolder } from './folder.ts'

export type { SignedEntry } from '../treasury/signed-entry.ts'

type Line =
  | { readonly fact: 'signed'; readonly at: number; readonly entry: SignedEntry }
  /** Its rows are committed, and only after this fact is it released for sending. */
  | { readonly fact: 'placed'; readonly chain: ChainName; readonly txid: string }
  /** Its rows can never be committed, and it was never released. */
  | { readonly fact: 'void'; readonly chain: ChainName; readonly txid: string }

export interface Journal {
  /** Each is on disk when it resolves. */
  signed(entry: SignedEntry): Promise<void>
  placed(entry: SignedEntry): Promise<void>
  void(entry: SignedEntry): Promise<void>
  /**
   * Signed, but whether its rows were committed is not known: after a crash, or a lost connection. It was never sent:
   * what is released for sending is known here as placed.
   */
  unsettled(): SignedEntry[]
  /** The line that pays a withdrawal, its first transaction first; empty for none. Named `account/id` as in the entry. */
  payingFor(withdrawal: string): Promise<SignedEntry[]>
  /**
   * The lines of a chain with accounts that may have been sent, by their first transactions, the oldest first: each used a
   * nonce.
   */
  placedLines(chain: ChainName): readonly string[]
  /** A line by its first transaction, which is the first of it. */
  lineOf(chain: ChainName, line: string): Promise<SignedEntry[]>
  /** The line that uses a nonce of a sender, on chains with accounts; empty for none. */
  lineAt(chain: ChainName, sender: string, nonce: bigint): Promise<SignedEntry[]>
  /** Any transaction that was ever signed here and is not void. */
  entryOf(chain: ChainName, txid: string): Promise<SignedEntry | null>
  /** Whether it may have been sent. */
  isPlaced(chain: ChainName, txid: string): boolean
  /** Every line that was bumped, as those of its transactions that may have been sent, the first one first. */
  bumpedLines(): (readonly [chain: ChainName, txid: string])[][]
  /** Whether a write failed: what the file ends in is not known, and only opening it again tells. */
  isBroken(): boolean
  /**
   * Atoms that left since an instant, at most a day back. Void ones count too: what is void is for the database to say,
   * and who owns the database gets no room back by saying so.
   */
  leftSince(asset: Asset, live: boolean, sinceMs: number): bigint
  close(): Promise<void>
}

/** Where a line is in the file. */
interface Place {
  readonly start: number
  readonly length: number
}

/** Each line ends in digits of a hash over it and all before it, so that a cut or edited file is noticed. */
const CHECK_DIGITS = 16

/**
 * Opens the journal file, which one process at a time may do.
 *
 * A file `<path>.copied` beside it says that it was copied from a signer that ran on, and may have sent what here is only
 * signed. All of that then counts as placed: it is never void, nor is anything else signed for what it pays.
 *
 * @throws {InvariantBroken} when a line in the middle is damaged: signing on could pay twice. A torn last line is a
 *   crash in the middle of writing it, before anything depended on it: it is cut off.
 */
export async function openJournal(path: string): Promise<Journal> {
  await makeFolder(dirname(path))
  const file = await open(path, 'a+', 0o600)
  const state = new JournalState()
  let { check, end } = await replay(path, state).catch(async (error) => {
    await file.close()
    throw error
  })
  await file.truncate(end)
  await syncPath(dirname(path))

  // One write after another; after a failed one there is no next, for the file may end in half a line.
  let writing = Promise.resolve()
  let isBroken = false
  const write = (line: Line): Promise<void> => {
    writing = writing.then(async () => {
      const json = JSON.stringify(line)
      const next = checkOf(json, check)
      const row = Buffer.from(`${json} ${next}`)
      await file.appendFile(Buffer.concat([row, Buffer.from('\n')]))
      await file.datasync()
      state.apply(line, { start: end, length: row.length })
      check = next
      end += row.length + 1
    })
    writing.catch(() => {
      isBroken = true
    })
    return writing
  }
  if (await isThere(`${path}.copied`)) {
    for (const { chain, txid } of [...state.unsettled.values()]) await write({ fact: 'placed', chain, txid })
    await rm(`${path}.copied`)
  }
  const read = async (key: string): Promise<SignedEntry | null> => {
    const place = state.entries.get(key)
    if (!place) return null
    const { buffer } = await file.read(Buffer.alloc(place.length), 0, place.length, place.start)
    const line: Line = JSON.parse(buffer.toString('utf8', 0, place.length - CHECK_DIGITS - 1))
    return line.fact === 'signed' ? line.entry : null
  }
  const readAll = async (keys: readonly string[]): Promise<SignedEntry[]> => {
    const entries = await Promise.all(keys.map(read))
    return entries.filter((entry) => entry !== null)
  }
  return {
    signed: (entry) => write({ fact: 'signed', at: Date.now(), entry }),
    placed: ({ chain, txid }) => write({ fact: 'placed', chain, txid }),
    void: ({ chain, txid }) => write({ fact: 'void', chain, txid }),
    unsettled: () => [...state.unsettled.values()],
    payingFor: (withdrawal) => readAll(state.payingFor(withdrawal)),
    placedLines: (chain) => state.placedLines.get(chain) ?? [],
    lineOf: (chain, line) => readAll(state.lineOf(keyOf({ chain, txid: line }))),
    lineAt: (chain, sender, nonce) => readAll(state.lineAt(nonceKey(chain, sender, String(nonce)))),
    entryOf: async (chain, txid) => read(keyOf({ chain, txid })),
    isPlaced: (chain, txid) => state.isPlaced(keyOf({ chain, txid })),
    bumpedLines: () => state.bumpedLines(),
    isBroken: () => isBroken,
    leftSince: (asset, live, sinceMs) => state.leftSince(asset, live, sinceMs),
    async close() {
      await writing.catch(() => {})
      await file.close()
    },
  }
}

/** Reads what is there. @returns The last line's check digits, and where it ends. */
async function replay(path: string, state: JournalState): Promise<{ check: string; end: number }> {
  let check = ''
  let end = 0
  let number = 0
  for await (const { row, isWhole } of rowsOf(path)) {
    number += 1
    const line = isWhole ? readLine(row, check) : null
    if (!line && isWhole)
      throw new InvariantBroken(
        `line ${number} of the signer's journal ${path} is damaged; restore it from a backup before signing on`,
      )
    if (!line) break
    state.apply(line, { start: end, length: row.length })
    check = row.toString('latin1', row.length - CHECK_DIGITS)
    end += row.length + 1
  }
  return { check, end }
}

/** What the lines say together. Of the past only what is asked for is kept: who pays what, and one day of amounts. */
class JournalState {
  readonly unsettled = new Map<string, SignedEntry>()
  readonly entries = new Map<string, Place>()
  readonly placedLines = new Map<ChainName, string[]>()
  /** By the key of its first transaction, a line's keys in the order they were signed. */
  readonly #lines = new Map<string, string[]>()
  /** By withdrawal, the key of the first transaction of the line that pays it. */
  readonly #paying = new Map<string, string>()
  /** By sender and nonce, the key of the first transaction of the line that uses it. */
  readonly #nonces = new Map<string, string>()
  #left: { at: number; live: boolean; asset: Asset; atoms: bigint }[] = []

  apply(line: Line, place: Place): void {
    if (line.fact === 'signed') {
      this.#sign(line.entry, line.at, place)
      return
    }
    const key = keyOf(line)
    const entry = this.unsettled.get(key)
    this.unsettled.delete(key)
    if (line.fact === 'void' && entry) this.#void(entry, key)
    if (line.fact === 'placed' && entry && entry.purpose !== 'outputs' && entry.line === entry.txid) {
      const lines = this.placedLines.get(entry.chain) ?? []
      lines.push(entry.txid)
      this.placedLines.set(entry.chain, lines)
    }
  }

  #sign(entry: SignedEntry, at: number, place: Place): void {
    const key = keyOf(entry)
    const opening = keyOf({ chain: entry.chain, txid: entry.line })
    this.unsettled.set(key, entry)
    this.entries.set(key, place)
    this.#lines.set(opening, [...(this.#lines.get(opening) ?? []), key])
    if (key === opening) {
      for (const withdrawal of paidBy(entry)) this.#paying.set(withdrawal, key)
      if (entry.purpose !== 'outputs') this.#nonces.set(nonceKey(entry.chain, entry.sender, entry.nonce), key)
    }
    const live = !isSimulated(entry.chain)
    this.#left = this.#left.filter((left) => left.at > at - DAY_MS)
    for (const { asset, atoms } of entry.leaves) this.#left.push({ at, live, asset, atoms: BigInt(atoms) })
  }

  #void(entry: SignedEntry, key: string): void {
    const opening = keyOf({ chain: entry.chain, txid: entry.line })
    this.entries.delete(key)
    this.#lines.set(
      opening,
      (this.#lines.get(opening) ?? []).filter((each) => each !== key),
    )
    if (key !== opening) return
    for (const withdrawal of paidBy(entry))
      if (this.#paying.get(withdrawal) === key) this.#paying.delete(withdrawal)
    if (entry.purpose === 'outputs') return
    const used = nonceKey(entry.chain, entry.sender, entry.nonce)
    if (this.#nonces.get(used) === key) this.#nonces.delete(used)
  }

  lineOf(opening: string): readonly string[] {
    return this.#lines.get(opening) ?? []
  }

  payingFor(withdrawal: string): readonly string[] {
    return this.lineOf(this.#paying.get(withdrawal) ?? '')
  }

  lineAt(nonce: string): readonly string[] {
    return this.lineOf(this.#nonces.get(nonce) ?? '')
  }

  bumpedLines(): ReturnType<Journal['bumpedLines']> {
    return [...this.#lines.values()]
      .map((keys) => keys.filter((key) => this.isPlaced(key)))
      .filter((keys) => keys.length > 1)
      .map((keys) => keys.map((key) => key.split(' ') as [ChainName, string]))
  }

  isPlaced(key: string): boolean {
    return this.entries.has(key) && !this.unsettled.has(key)
  }

  leftSince(asset: Asset, live: boolean, sinceMs: number): bigint {
    return this.#left
      .filter((left) => left.asset === asset && left.live === live && left.at >= sinceMs)
      .reduce((sum, left) => sum + left.atoms, 0n)
  }
}

const keyOf = ({ chain, txid }: { chain: ChainName; txid: string }): string => `${chain} ${txid}`

const nonceKey = (chain: ChainName, sender: string, nonce: string): string => `${chain} ${sender} ${nonce}`

const checkOf = (json: string, before: string): string =>
  createHash('sha256').update(before).update(json).digest('hex').slice(0, CHECK_DIGITS)

function readLine(row: Buffer, before: string): Line | null {
  const json = row.toString('utf8', 0, Math.max(0, row.length - CHECK_DIGITS - 1))
  if (row.toString('latin1', row.length - CHECK_DIGITS) !== checkOf(json, before)) return null
  return JSON.parse(json)
}

async function* rowsOf(path: string): AsyncGenerator<{ row: Buffer; isWhole: boolean }> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of createReadStream(path)) {
    rest = Buffer.concat([rest, chunk])
    for (let at = rest.indexOf(0x0a); at >= 0; at = rest.indexOf(0x0a)) {
      yield { row: rest.subarray(0, at), isWhole: true }
      rest = rest.subarray(at + 1)
    }
  }
  if (rest.length > 0) yield { row: rest, isWhole: false }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
