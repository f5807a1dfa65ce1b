/**
 * Kraken: `GET /0/public/Ticker?pair=XBTUSD,…`, one request for all pairs. The answer names them by Kraken's older
 * names, `a` and `b` are [price, whole lots, lots]. It carries no time, so the answer's counts.
 *
 * @see https://docs.kraken.com/api/docs/rest-api/get-ticker-information
 */
import { OutsideFailure } from '../../core/errors.ts'
import { member } from '../../core/json.ts'
import type { PairName } from '../pair.ts'
import { askTogether, getJson, midPrice, type Source, type SourceOptions } from './source.ts'

/** What is asked for, what the answer calls it, and what it is. */
const PAIRS: readonly (readonly [asked: string, answered: string, pair: PairName])[] = [
  ['XBTUSD', 'XXBTZUSD', 'BTC/USD'],
  ['XBTEUR', 'XXBTZEUR', 'BTC/EUR'],
  ['XBTGBP', 'XXBTZGBP', 'BTC/GBP'],
  ['ETHUSD', 'XETHZUSD', 'ETH/USD'],
  ['ETHEUR', 'XETHZEUR', 'ETH/EUR'],
  ['ETHGBP', 'XETHZGBP', 'ETH/GBP'],
  ['LTCUSD', 'XLTCZUSD', 'LTC/USD'],
  ['LTCEUR', 'XLTCZEUR', 'LTC/EUR'],
  ['LTCGBP', 'LTCGBP', 'LTC/GBP'],
  ['USDCUSD', 'USDCUSD', 'USDC/USD'],
  ['USDCEUR', 'USDCEUR', 'USDC/EUR'],
  ['USDCGBP', 'USDCGBP', 'USDC/GBP'],
  ['USDTUSD', 'USDTZUSD', 'USDT/USD'],
  ['USDTEUR', 'USDTEUR', 'USDT/EUR'],
  ['USDTGBP', 'USDTGBP', 'USDT/GBP'],
  ['EURUSD', 'ZEURZUSD', 'EUR/USD'],
  ['GBPUSD', 'ZGBPZUSD', 'GBP/USD'],
]

export function kraken(options: SourceOptions = {}): Source {
  const { baseUrl = 'https://api.kraken.com', timeoutMs } = options
  return {
    name: 'kraken',
    readTickers: askTogether(PAIRS, async (pairs, signal) => {
      const url = `${baseUrl}/0/public/Ticker?pair=${pairs.map(([asked]) => asked).join(',')}`
      const body = await getJson(url, signal, timeoutMs)
      const at = new Date()
      const result = member(body, 'result')
      if (result === undefined) throw withoutResult(member(body, 'error'))
      return pairs.flatMap(([asked, answered, pair]) => {
        const ticker = member(result, answered) ?? member(result, asked)
        const price = midPrice(member(member(ticker, 'b'), 0), member(member(ticker, 'a'), 0))
        return price ? [{ pair, price, at }] : []
      })
    }),
  }
}

/** Kraken answers 200 to everything and lists what is wrong. */
function withoutResult(errors: unknown): OutsideFailure {
  const shown = JSON.stringify(errors ?? null).slice(0, 200)
  return new OutsideFailure(`Kraken's answer holds no result; its errors: ${shown}`, {
    retryable: !shown.includes('Unknown asset pair'),
  })
}
