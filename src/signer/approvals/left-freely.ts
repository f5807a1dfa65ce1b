/**
 * What left accounts without approvals within the last day, on the signer's own disk: written before it is signed, so that no
 * crash and no row of the database has more of it leave than a policy's bound lets through.
 */
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Asset } from '../../core/assets.ts'
import { invariant } from '../../core/errors.ts'
import { ifThere } from '../../core/files.ts'
import { DAY_MS } from '../../core/time.ts'
import { makeFolder, writeWhole } from '../folder.ts'

export interface Left {
  /** `acct_…` */
  readonly account: string
  readonly asset: Asset
  /** `account/id` */
  readonly withdrawal: string
  /** Gross. */
  readonly atoms: bigint
}

/** `lost`: from here on it is whole; what left before is not known. */
type Row =
  | { readonly at: number; readonly lost: true }
  | (Omit<Left, 'atoms'> & { readonly at: number; readonly atoms: string })

interface Counted {
  readonly at: number
  readonly atoms: bigint
}

/** After so many rows the file is written anew, with those of the last day alone. */
const ROWS_MAX = 50_000

export class LeftFreely {
  readonly #path: string
  readonly #rowsMax: number
  readonly #counted = new Map<string, Map<string, Counted>>()
  #file: FileHandle | null = null
  #lostAt = Number.NEGATIVE_INFINITY
  #rows = 0
  /** Of them, when it was written anew. */
  #keptRows = 0

  private constructor(path: string, rowsMax: number) {
    this.#path = path
    this.#rowsMax = rowsMax
  }

  /**
   * @param hasPolicies - Whether there are policies already: then a file that is not there was lost, and for a day nobody knows what
   *   left; until then nothing leaves without approvals that a bound is for.
   */
  static async open(
    path: string,
    hasPolicies: boolean,
    now = Date.now(),
    rowsMax = ROWS_MAX,
  ): Promise<LeftFreely> {
    await makeFolder(dirname(path))
    const left = new LeftFreely(path, rowsMax)
    const text = await ifThere(readFile(path, 'utf8'))
    if (text === null && hasPolicies) left.#lostAt = now
    // Half a row at the end was written by a crash, before anything was signed for it.
    for (const line of text?.split('\n').slice(0, -1) ?? []) left.#apply(JSON.parse(line))
    await left.#writeAnew(now)
    return left
  }

  #apply(row: Row): void {
    if ('lost' in row) {
      this.#lostAt = row.at
      return
    }
    const { account, asset, withdrawal, at, atoms } = row
    const key = `${account} ${asset}`
    const known = this.#counted.get(key) ?? new Map<string, Counted>()
    this.#counted.set(key, known)
    known.set(withdrawal, { at, atoms: BigInt(atoms) })
  }

  async #writeAnew(now: number): Promise<void> {
    const rows: Row[] = this.#isLost(now) ? [{ at: this.#lostAt, lost: true }] : []
    for (const [key, known] of this.#counted) {
      const [account = '', asset = ''] = key.split(' ')
      for (const [withdrawal, { at, atoms }] of known)
        if (at > now - DAY_MS)
          rows.push({ account, asset: asset as Asset, withdrawal, at, atoms: String(atoms) })
        else known.delete(withdrawal)
      if (known.size === 0) this.#counted.delete(key)
    }
    await this.#file?.close()
    this.#file = null
    const folder = dirname(this.#path)
    await writeWhole(folder, basename(this.#path), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
    this.#file = await open(join(folder, basename(this.#path)), 'a', 0o600)
    this.#rows = rows.length
    this.#keptRows = rows.length
  }

  #isLost(now: number): boolean {
    return this.#lostAt > now - DAY_MS
  }

  /**
   * Gross atoms of a coin that left an account freely within the last day.
   *
   * @returns Null while it is not known.
   */
  sum(account: string, asset: Asset, now: number): bigint | null {
    if (this.#isLost(now)) return null
    let sum = 0n
    for (const { at, atoms } of this.#counted.get(`${account} ${asset}`)?.values() ?? [])
      if (at > now - DAY_MS) sum += atoms
    return sum
  }

  /** How much of that one withdrawal is. */
  countedOf(account: string, asset: Asset, withdrawal: string, now: number): bigint {
    const counted = this.#counted.get(`${account} ${asset}`)?.get(withdrawal)
    return counted && counted.at > now - DAY_MS ? counted.atoms : 0n
  }

  /** On disk when it resolves. One that was counted before counts from now on. */
  async count(left: readonly Left[], now: number): Promise<void> {
    if (left.length === 0) return
    if (!this.#file || this.#rows > Math.max(this.#rowsMax, 2 * this.#keptRows)) await this.#writeAnew(now)
    const file = this.#file
    invariant(file, `${this.#path} is open`)
    const rows = left.map((one): Row => ({ ...one, at: now, atoms: String(one.atoms) }))
    for (const row of rows) this.#apply(row)
    try {
      await file.appendFile(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
      await file.datasync()
    } catch (error) {
      // It may end in half a row: the next time it is written anew.
      this.#file = null
      await file.close()
      throw error
    }
    this.#rows += rows.length
  }

  async close(): Promise<void> {
    await this.#file?.close()
  }
}
