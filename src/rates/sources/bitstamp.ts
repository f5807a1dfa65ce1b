/**
 * Bitstamp: `GET /api/v2/ticker/` answers all its pairs, each with `pair`, `bid`, `ask` and `timestamp` (seconds).
 *
 * @see https://www.bitstamp.net/api/#tag/Tickers/operation/GetCurrencyPairTickers
 */
import { OutsideFailure } from '../../core/errors.ts'
import { member } from '../../core/json.ts'
import { parsePair } from '../pair.ts'
import { getJson, midPrice, type Source, type SourceOptions, stampOf } from './source.ts'

export function bitstamp(options: SourceOptions = {}): Source {
  const { baseUrl = 'https://www.bitstamp.net', timeoutMs } = options
  return {
    name: 'bitstamp',
    async readTickers(signal) {
      const body = await getJson(`${baseUrl}/api/v2/ticker/`, signal, timeoutMs)
      if (!Array.isArray(body)) throw new OutsideFailure("Bitstamp's answer is no list", { retryable: true })
      return body.flatMap((ticker: unknown) => {
        const name = member(ticker, 'pair')
        const pair = typeof name === 'string' ? parsePair(name) : null
        const price = midPrice(member(ticker, 'bid'), member(ticker, 'ask'))
        const at = stampOf(Number(member(ticker, 'timestamp')) * 1000)
        return pair && price && at ? [{ pair, price, at }] : []
      })
    },
  }
}
