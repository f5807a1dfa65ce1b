/**
 * Binance: `GET /api/v3/ticker/24hr?symbols=["BTCEUR",…]`, one request for all pairs; `closeTime` in milliseconds.
 * Binance trades no dollar, so it counts in euro; the stablecoins in euro are traded the other way round.
 * The market-data host serves the same answers without an account's limits.
 *
 * @see https://developers.binance.com/docs/binance-spot-api-docs/rest-api/market-data-endpoints
 */
import { OutsideFailure } from '../../core/errors.ts'
import { member } from '../../core/json.ts'
import { invert, type PairName } from '../pair.ts'
import { askTogether, getJson, midPrice, type Source, type SourceOptions, stampOf } from './source.ts'

const PAIRS: readonly (readonly [symbol: string, pair: PairName, inverted: boolean])[] = [
  ['BTCEUR', 'BTC/EUR', false],
  ['ETHEUR', 'ETH/EUR', false],
  ['LTCEUR', 'LTC/EUR', false],
  ['EURUSDC', 'USDC/EUR', true],
  ['EURUSDT', 'USDT/EUR', true],
]

export function binance(options: SourceOptions = {}): Source {
  const { baseUrl = 'https://data-api.binance.vision', timeoutMs } = options
  return {
    name: 'binance',
    readTickers: askTogether(PAIRS, async (pairs, signal) => {
      const symbols = encodeURIComponent(JSON.stringify(pairs.map(([symbol]) => symbol)))
      const body = await getJson(`${baseUrl}/api/v3/ticker/24hr?symbols=${symbols}`, signal, timeoutMs)
      if (!Array.isArray(body)) throw new OutsideFailure("Binance's answer is no list", { retryable: true })
      return pairs.flatMap(([symbol, pair, inverted]) => {
        const ticker: unknown = body.find((entry: unknown) => member(entry, 'symbol') === symbol)
        const price = midPrice(member(ticker, 'bidPrice'), member(ticker, 'askPrice'))
        const at = stampOf(Number(member(ticker, 'closeTime')))
        return price && at ? [{ pair, price: inverted ? invert(price) : price, at }] : []
      })
    }),
  }
}
