/**
 * The port to exchange rates. A rate is locked onto a payment as a ratio of integers with its source and time;
 * when there is no quorum of live tickers there is no rate, never a guess.
 */
import type { Asset, Fiat } from '../core/assets.ts'
import type { Ratio } from '../core/ratio.ts'

export interface Rate {
  readonly asset: Asset
  readonly fiat: Fiat
  /** Minor units of the fiat currency per whole coin. */
  readonly ratio: Ratio
  /** `median:bitstamp,coinbase,kraken`, `fixed`, `sandbox`. */
  readonly source: string
  readonly at: Date
}

/** One of the exchanges that rates come from, as it answered last. */
export interface SourceState {
  readonly name: string
  /** When it answered last; null when it has not yet. */
  readonly answeredAt: Date | null
  /** Why it did not, the last time it was asked; null when it did. */
  readonly problem: string | null
  /** What it said of the pair itself, in minor units of the fiat currency per whole coin; null for nothing. */
  price(asset: Asset, fiat: Fiat): Ratio | null
  /** Whether that counts in the rate of now: young enough, and near to what the others say. */
  counts(asset: Asset, fiat: Fiat): boolean
}

export interface Rates {
  /**
   * The rate of a coin now, from memory: no request waits for an exchange.
   *
   * @throws {Refusal} `unavailable`, reason `no_rate`, when no quorum of sources is younger than 60 s.
   */
  rate(asset: Asset, fiat: Fiat): Rate
  /** Age of the oldest rate in use, for readiness; null while one is missing. */
  ageMs(): number | null
  /** Those that are asked; none where the rates are fixed. */
  sources(): readonly SourceState[]
}
