/**
 * Coinbase Exchange: `GET /products/BTC-USD/ticker`, one request a pair, ten a second allowed. `time` is the last
 * trade's. There is no USDC-USD: Coinbase trades the two as one.
 *
 * @see https://docs.cdp.coinbase.com/exchange/reference/exchangerestapi_getproductticker
 */
import { member } from '../../core/json.ts'
import type { PairName } from '../pair.ts'
import { getJson, midPrice, readEach, type Source, type SourceOptions, stampOf } from './source.ts'

const PAIRS: readonly PairName[] = [
  'BTC/USD',
  'BTC/EUR',
  'BTC/GBP',
  'ETH/USD',
  'ETH/EUR',
  'ETH/GBP',
  'LTC/USD',
  'LTC/EUR',
  'LTC/GBP',
  'USDT/USD',
  'USDT/EUR',
  'USDC/EUR',
]

export function coinbase(options: SourceOptions = {}): Source {
  const { baseUrl = 'https://api.exchange.coinbase.com', timeoutMs } = options
  return {
    name: 'coinbase',
    readTickers: (signal) =>
      readEach(PAIRS, async (pair) => {
        const url = `${baseUrl}/products/${pair.replace('/', '-')}/ticker`
        const body = await getJson(url, signal, timeoutMs)
        const price = midPrice(member(body, 'bid'), member(body, 'ask'))
        const at = stampOf(Date.parse(String(member(body, 'time'))))
        return price && at && { pair, price, at }
      }),
  }
}
