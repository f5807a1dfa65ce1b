/** What is never so whatever becomes of time: when days end, and when the database is set back to a copy. */
import type { SimulatedStorage } from '../../src/chains/simulated/chain-store.ts'
import type { Asset } from '../../src/core/assets.ts'
import type { DailyBalance } from '../../src/ledger/daily-balances.sql.ts'
import { fixedRates } from '../../src/rates/fixed.ts'
import { fiatValue } from '../../src/rates/quote.ts'
import { TEST_RATES } from '../rates.ts'
import type { Tables } from './rows/tables.ts'

const rates = fixedRates(TEST_RATES)
const worthOf = (asset: Asset, atoms: bigint): bigint =>
  fiatValue(atoms, asset, rates.rate(asset, 'USD').ratio)
const show = ({ availableMinor, pendingMinor }: DailyBalance): string =>
  `${availableMinor} and ${pendingMinor}`

/** Remembers what no database may make undone. */
export class TimeChecker {
  readonly #tables: Tables
  readonly #storage: SimulatedStorage
  /** Where withdrawals were to go, and whose addresses are, whatever the database has forgotten since. */
  readonly #destinations = new Map<string, string>()
  readonly #addresses = new Map<string, string>()
  readonly #sentWhileStopped: string[] = []
  #isStopped = false
  /** What accounts could withdraw when days ended: atoms by `account asset`, by day. */
  readonly #midnights = new Map<string, ReadonlyMap<string, bigint>>()
  readonly #closes = new Map<string, DailyBalance>()

  constructor(tables: Tables, storage: SimulatedStorage) {
    this.#tables = tables
    this.#storage = storage
  }

  /** From here on nothing moves until the operator has looked. What days were said to have brought is gone too. */
  setBack(): void {
    this.#isStopped = true
    this.#midnights.clear()
    this.#closes.clear()
  }

  resume(): void {
    this.#isStopped = false
  }

  noteMidnight(day: string): void {
    const available = [...this.#tables.balances].filter(([key]) => key.endsWith(' available'))
    this.#midnights.set(day, new Map(available.map(([key, atoms]) => [key.replace(' available', ''), atoms])))
  }

  noteBroadcast(txid: string): void {
    if (this.#isStopped) this.#sentWhileStopped.push(`${txid} was sent while time did not go forward`)
  }

  /** @param payingOf - The transactions that the node took and that pay a destination. */
  async check(payingOf: (destination: string) => Iterable<string>): Promise<string[]> {
    return [
      ...this.#sentWhileStopped,
      ...this.#handedOut(),
      ...this.#days(),
      ...(await this.#paidOnce(payingOf)),
    ]
  }

  /** An address is one payment's. */
  #handedOut(): string[] {
    const wrong: string[] = []
    for (const { id, address } of this.#tables.payments.values()) {
      const before = this.#addresses.get(address) ?? id
      if (before !== id) wrong.push(`${address} was handed out for ${before} and for ${id}`)
      this.#addresses.set(address, id)
    }
    return wrong
  }

  /** What is kept of a day is what was there when it ended, and never changes. */
  #days(): string[] {
    const { dailyBalances, closedDays } = this.#tables
    const wrong: string[] = []
    for (const [key, close] of dailyBalances) {
      const before = this.#closes.get(key)
      if (before && show(before) !== show(close))
        wrong.push(`the close ${key} was ${show(before)}, and is ${show(close)}`)
      this.#closes.set(key, close)
    }
    for (const day of closedDays.keys()) {
      const worth = new Map<string, bigint>()
      for (const [key, atoms] of this.#midnights.get(day) ?? []) {
        const [account = '', asset = ''] = key.split(' ')
        worth.set(account, (worth.get(account) ?? 0n) + worthOf(asset as Asset, atoms))
      }
      for (const [account, minor] of worth) {
        const kept = dailyBalances.get(`${account} USD ${day}`)?.availableMinor ?? 0n
        if (kept !== minor) wrong.push(`${account} had ${minor} when ${day} ended, its close says ${kept}`)
      }
    }
    return wrong
  }

  /** A withdrawal that the database has forgotten, too, is paid by one transaction at most. */
  async #paidOnce(payingOf: (destination: string) => Iterable<string>): Promise<string[]> {
    const { withdrawals } = this.#tables
    const wrong: string[] = []
    for (const { id, destination } of withdrawals.values()) this.#destinations.set(id, destination)
    if (this.#destinations.size === withdrawals.size) return wrong
    for (const [id, destination] of this.#destinations) {
      if (withdrawals.has(id)) continue
      const there = await this.#storage.reads.transactions([...payingOf(destination)])
      if (there.size > 1) wrong.push(`withdrawal ${id} is paid by ${[...there.keys()].join(' and ')}`)
    }
    return wrong
  }

  checkEnd(): string[] {
    const wrong = this.#isStopped ? ['time does not go forward again'] : []
    for (const day of this.#midnights.keys())
      if (!this.#tables.closedDays.has(day)) wrong.push(`${day} was never closed`)
    return wrong
  }
}
