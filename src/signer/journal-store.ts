/** The journal's file, the table beside it, and what the rows behind the table say. */
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Asset, ChainName } from '../core/assets.ts'
import { InvariantBroken } from '../core/errors.ts'
import { syncPath } from '../core/files.ts'
import type { SignedEntry } from '../treasury/signed-entry.ts'
import { CHECK_DIGITS, checkIn, readRow, rowsOf, writeRow } from './chained-rows.ts'
import { type ByteRange, type JournalIndex, openIndex, sequenceKey, writeIndex } from './journal-index.ts'
import { type JournalRow, JournalTail, keyOf } from './journal-tail.ts'

/** What is not in the table yet is kept in memory, by keys. A row of one withdrawal has three. */
const KEYS_PER_ROW = 10

export class JournalStore {
  readonly #path: string
  readonly #file: FileHandle
  #index: JournalIndex | null = null
  #tail = new JournalTail(null)
  /** Of what is in the file: the last row's check digits, where it ends, how many rows. */
  #check = ''
  #end = 0
  #rows = 0

  constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
  }

  /** Reads the rows that no table knows, all of them when there is none. */
  async replay(rowsPerIndex: number): Promise<void> {
    this.#index = await openIndex(`${this.#path}.index`)
    if (this.#index) await this.#follow(this.#index)
    for await (const { row, isWhole } of rowsOf(this.#path, this.#end)) {
      const fact = isWhole ? readRow<JournalRow>(row, this.#check) : null
      if (!fact && isWhole)
        throw new InvariantBroken(
          `line ${this.#rows + 1} of the signer's journal ${this.#path} is damaged; restore it from a backup before signing on`,
        )
      if (!fact) break
      this.#apply(fact, row)
      await this.index(rowsPerIndex)
    }
    await this.#file.truncate(this.#end)
    await syncPath(dirname(this.#path))
  }

  async #follow({ foot }: JournalIndex): Promise<void> {
    const before = Buffer.alloc(CHECK_DIGITS + 1)
    const { bytesRead } = await this.#file.read(before, 0, before.length, foot.end - before.length)
    if (bytesRead < before.length || before.toString('latin1') !== `${foot.check}\n`)
      throw new InvariantBroken(
        `the signer's journal ${this.#path} held ${foot.rows} lines before, and now ends earlier or is another one; restore the newest one from a backup before signing on. Only if you are sure that nothing newer was ever signed, remove ${this.#path}.index`,
      )
    this.#tail = new JournalTail(foot)
    this.#check = foot.check
    this.#end = foot.end
    this.#rows = foot.rows
  }

  async append(fact: JournalRow): Promise<void> {
    const row = writeRow(fact, this.#check)
    await this.#file.appendFile(Buffer.concat([row, Buffer.from('\n')]))
    await this.#file.datasync()
    this.#apply(fact, row)
  }

  #apply(fact: JournalRow, row: Buffer): void {
    this.#tail.apply(fact, { start: this.#end, length: row.length })
    this.#check = checkIn(row)
    this.#end += row.length + 1
    this.#rows += 1
  }

  /** Writes the table anew once so many rows, or ten times as many keys, are not in it, and the fate of none is open. */
  async index(rowsPerIndex: number): Promise<void> {
    const { rows, keys, pending } = this.#tail
    if ((rows < rowsPerIndex && keys < KEYS_PER_ROW * rowsPerIndex) || pending.size > 0) return
    const foot = { end: this.#end, check: this.#check, rows: this.#rows, ...this.#tail.summary() }
    this.#index = await writeIndex(`${this.#path}.index`, this.#index, this.#tail.added(), foot)
    this.#tail = new JournalTail(foot)
  }

  pending(): SignedEntry[] {
    return [...this.#tail.pending.values()].map(({ entry }) => entry)
  }

  isPending(chain: ChainName, txid: string): boolean {
    return this.#tail.pending.has(keyOf.transaction(chain, txid))
  }

  leftSince(asset: Asset, live: boolean, sinceMs: number): bigint {
    return this.#tail.leftSince(asset, live, sinceMs)
  }

  async #find(key: string): Promise<ByteRange[]> {
    // Together: what is in the tail now may be in the table a moment later, and in both never.
    const [index, tail] = [this.#index, this.#tail]
    return [...((await index?.find(key)) ?? []), ...tail.find(key)]
  }

  async isKnown(key: string): Promise<boolean> {
    return (await this.#find(key)).length > 0
  }

  async entries(key: string): Promise<SignedEntry[]> {
    const ranges = await this.#find(key)
    return Promise.all(ranges.map((range) => this.#read(range)))
  }

  /** A sequence backwards. */
  async *sequence(name: string): AsyncGenerator<SignedEntry> {
    for (let number = this.#tail.lengthOf(name) - 1; number >= 0; number--)
      yield* await this.entries(sequenceKey(name, number))
  }

  async #read({ start, length }: ByteRange): Promise<SignedEntry> {
    const before = start === 0 ? 0 : CHECK_DIGITS + 1
    const bytes = Buffer.alloc(before + length)
    await this.#file.read(bytes, 0, bytes.length, start - before)
    const fact = readRow<JournalRow>(
      bytes.subarray(before),
      bytes.toString('latin1', 0, Math.max(0, before - 1)),
    )
    if (fact?.fact !== 'signed')
      throw new InvariantBroken(
        `the signer's journal ${this.#path} is damaged at byte ${start}; restore it from a backup before signing on`,
      )
    return fact.entry
  }

  async close(): Promise<void> {
    await this.#index?.close()
    await this.#file.close()
  }
}
