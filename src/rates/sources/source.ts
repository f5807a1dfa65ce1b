/** What every exchange's file shares: the shape of a ticker, and a careful way to ask for one. */
import { OutsideFailure, withoutCredentials } from '../../core/errors.ts'
import { exchange, textOf } from '../../core/http.ts'
import { compareRatios, type Ratio, ratio } from '../../core/ratio.ts'
import { type PairName, parsePrice } from '../pair.ts'

export interface Ticker {
  readonly pair: PairName
  /** Whole units of the quote currency for one of the base. */
  readonly price: Ratio
  /** When the exchange says it was so; when the answer came, where it does not say. */
  readonly at: Date
}

/** One exchange's public tickers. */
export interface Source {
  readonly name: string
  /** @throws {OutsideFailure} when nothing usable came; a single unusable pair is left out of the result. */
  readTickers(signal: AbortSignal): Promise<readonly Ticker[]>
}

export interface SourceOptions {
  /** Without a slash at its end; the exchange's own by default. */
  readonly baseUrl?: string
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 5_000
/** The longest real answer (all pairs of one exchange) is about 100 kB. */
const BODY_BYTES_MAX = 1_000_000

/**
 * Fetches one JSON document: the whole exchange within the timeout, a bounded body, no redirects.
 *
 * @throws {OutsideFailure} for every way in which no JSON comes.
 */
export async function getJson(url: string, signal: AbortSignal, timeoutMs = TIMEOUT_MS): Promise<unknown> {
  const shown = withoutCredentials(url)
  const headers = { accept: 'application/json', 'accept-encoding': 'gzip', 'user-agent': 'beck' }
  try {
    const answer = await exchange({ url, headers, timeoutMs, bytesMax: BODY_BYTES_MAX, signal })
    if (answer.status >= 200 && answer.status < 300) return JSON.parse(textOf(answer))
    // These two are how exchanges say that they do not list a pair.
    const retryable = answer.status !== 400 && answer.status !== 404
    throw new OutsideFailure(`${shown} answered ${answer.status}`, { retryable })
  } catch (cause) {
    if (cause instanceof OutsideFailure) throw cause
    throw new OutsideFailure(`${shown} gave no usable answer`, { cause, retryable: true })
  }
}

/**
 * The middle of the order book. It is live even where trades are rare; the last trade is not.
 *
 * @param bid - Decimal string: a JSON number has been a float already and is refused.
 * @returns Null when a side is missing, not above zero, crossed, or further than 3 % from the other: a book that wide
 *   tells no price.
 */
export function midPrice(bid: unknown, ask: unknown): Ratio | null {
  const low = typeof bid === 'string' ? parsePrice(bid) : null
  const high = typeof ask === 'string' ? parsePrice(ask) : null
  if (!low || !high || compareRatios(low, high) > 0) return null
  const widest = { numerator: low.numerator * 103n, denominator: low.denominator * 100n }
  return compareRatios(high, widest) > 0 ? null : meanOf(low, high)
}

export const meanOf = (a: Ratio, b: Ratio): Ratio =>
  ratio(a.numerator * b.denominator + b.numerator * a.denominator, 2n * a.denominator * b.denominator)

/**
 * Tickers of an exchange that is asked pair by pair, one after the other: a gentle guest of a public endpoint. A pair
 * that the exchange does not list is left out.
 *
 * @throws {OutsideFailure} the first failure, when there is no ticker because of failures.
 */
export async function readEach(
  pairs: readonly PairName[],
  read: (pair: PairName) => Promise<Ticker | null>,
): Promise<readonly Ticker[]> {
  const tickers: Ticker[] = []
  const failures: unknown[] = []
  for (const pair of pairs) {
    try {
      const ticker = await read(pair)
      if (ticker) tickers.push(ticker)
    } catch (failure) {
      if (isNotListed(failure)) continue
      failures.push(failure)
      // An exchange that stalls is not waited for once per pair.
      if (failures.length === 2) break
    }
  }
  if (tickers.length === 0 && failures.length > 0) throw failures[0]
  return tickers
}

/**
 * Tickers of an exchange that is asked for many pairs at once, and answers none of them when it does not list one. Then
 * each is asked for alone, and what is not listed is left out for as long as this process runs.
 *
 * @param read - Throws an {@link OutsideFailure} that is not retryable when a pair is not listed.
 */
export function askTogether<Asked>(
  pairs: readonly Asked[],
  read: (pairs: readonly Asked[], signal: AbortSignal) => Promise<readonly Ticker[]>,
): (signal: AbortSignal) => Promise<readonly Ticker[]> {
  let listed = pairs
  return async (signal) => {
    try {
      return await read(listed, signal)
    } catch (failure) {
      if (!isNotListed(failure)) throw failure
      const found: Asked[] = []
      for (const pair of listed) {
        try {
          await read([pair], signal)
          found.push(pair)
        } catch (alone) {
          if (!isNotListed(alone)) throw alone
        }
      }
      if (found.length === 0) throw failure
      listed = found
      return read(listed, signal)
    }
  }
}

const isNotListed = (failure: unknown): boolean => failure instanceof OutsideFailure && !failure.retryable

/** A time given by an exchange, never later than now: a clock ahead of ours must not make a price younger. */
export function stampOf(milliseconds: number): Date | null {
  return Number.isFinite(milliseconds) && milliseconds > 0
    ? new Date(Math.min(milliseconds, Date.now()))
    : null
}
