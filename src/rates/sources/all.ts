/** The exchanges Beck asks. Any two of them that agree make a price. */
import { binance } from './binance.ts'
import { bitstamp } from './bitstamp.ts'
import { coinbase } from './coinbase.ts'
import { gemini } from './gemini.ts'
import { kraken } from './kraken.ts'
import type { Source } from './source.ts'

export const allSources = (): readonly Source[] => [coinbase(), kraken(), bitstamp(), binance(), gemini()]
