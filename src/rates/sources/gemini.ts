/**
 * Gemini: `GET /v1/pubticker/btcusd`, one request a pair, two a second allowed. `volume.timestamp` is the minute of
 * the volume, up to a minute and a half behind the book beside it: it shows a stopped feed, not the age of the price.
 *
 * @see https://docs.gemini.com/rest/market-data
 */
import { member } from '../../core/json.ts'
import type { PairName } from '../pair.ts'
import { getJson, midPrice, readEach, type Source, type SourceOptions } from './source.ts'

const VOLUME_AGE_MS_MAX = 120_000

const PAIRS: readonly PairName[] = ['BTC/USD', 'ETH/USD', 'LTC/USD', 'USDC/USD', 'USDT/USD']

export function gemini(options: SourceOptions = {}): Source {
  const { baseUrl = 'https://api.gemini.com', timeoutMs } = options
  return {
    name: 'gemini',
    readTickers: (signal) =>
      readEach(PAIRS, async (pair) => {
        const url = `${baseUrl}/v1/pubticker/${pair.replace('/', '').toLowerCase()}`
        const body = await getJson(url, signal, timeoutMs)
        const price = midPrice(member(body, 'bid'), member(body, 'ask'))
        const volumeAt = Number(member(member(body, 'volume'), 'timestamp'))
        const at = new Date()
        return price && at.getTime() - volumeAt < VOLUME_AGE_MS_MAX ? { pair, price, at } : null
      }),
  }
}
