/** Local servers that speak the five exchanges' public formats, and misbehave when told to. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'

export type ExchangeName = 'coinbase' | 'kraken' | 'bitstamp' | 'binance' | 'gemini'

export const BEHAVIOURS = [
  'answer',
  'stall',
  'drip',
  'zero',
  'negative',
  'inverted',
  'tenfold',
  'stale',
  'numbers',
  'crossed',
  'empty',
  'garbage',
  'huge',
  'redirect',
  'error',
] as const
export type Behaviour = (typeof BEHAVIOURS)[number]

/** Prices in whole units: `{ 'BTC/USD': 65000 }`. Bid and ask are a tenth of a percent around. */
export type Prices = Readonly<Record<string, number>>

export interface Exchange {
  readonly url: string
  behave(behaviour: Behaviour): void
  price(prices: Prices): void
  /** Takes a pair off the list: `LTC/EUR`. Whoever asks for it is told so, and nothing else. */
  unlist(pair: string): void
  requests(): number
}

const asksForOne = (url: string, names: ReadonlySet<string>): boolean =>
  decodeURIComponent(url)
    .split(/[^A-Z]+/)
    .some((word) => names.has(word))

interface Book {
  readonly bid: string | number
  readonly ask: string | number
  readonly atMs: number
}

export async function startExchange(name: ExchangeName, initial: Prices): Promise<Exchange> {
  let behaviour: Behaviour = 'answer'
  let prices = initial
  let requests = 0
  const unlisted = new Set<string>()
  const server = createServer((request, response) => {
    requests += 1
    if (misbehaved(behaviour, response)) return
    if (asksForOne(request.url ?? '', unlisted)) {
      if (name === 'kraken') response.end('{"error":["EQuery:Unknown asset pair"]}')
      else response.writeHead(400).end('{"code":-1121,"msg":"Invalid symbol."}')
      return
    }
    const books = new Map(
      Object.entries(prices).map(([pair, price]) => [pair, bookOf(price, behaviour)] as const),
    )
    const body = ANSWERS[name](new URL(request.url ?? '/', 'http://x'), books)
    response.writeHead(body === null ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    behave(next) {
      behaviour = next
    },
    price(next) {
      prices = next
    },
    unlist: (pair) =>
      void unlisted.add(pair.replace('/', '').replace('BTC', 'XBT')).add(pair.replace('/', '')),
    requests: () => requests,
  }
}

/** Behaviours that answer nothing of the exchange's format; true when the request is dealt with. */
function misbehaved(behaviour: Behaviour, response: ServerResponse): boolean {
  if (behaviour === 'stall') return true
  if (behaviour === 'drip') {
    response.writeHead(200).write('[')
    return true
  }
  if (behaviour === 'garbage') response.end('<html>maintenance</html>')
  else if (behaviour === 'empty') response.end('null')
  else if (behaviour === 'huge') response.end(`["${'x'.repeat(3_000_000)}"]`)
  else if (behaviour === 'redirect') response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
  else if (behaviour === 'error') response.writeHead(429).end('{}')
  else return false
  return true
}

function bookOf(price: number, behaviour: Behaviour): Book {
  const told = behaviour === 'inverted' ? 1 / price : behaviour === 'tenfold' ? price * 10 : price
  const text = (value: number) => value.toFixed(8)
  const atMs = Date.now() - (behaviour === 'stale' ? 10 * 60_000 : 0)
  if (behaviour === 'zero') return { bid: '0', ask: '0.00000000', atMs }
  if (behaviour === 'negative') return { bid: text(-told), ask: text(-told), atMs }
  if (behaviour === 'numbers') return { bid: told, ask: told, atMs }
  if (behaviour === 'crossed') return { bid: text(told * 1.01), ask: text(told), atMs }
  return { bid: text(told * 0.9995), ask: text(told * 1.0005), atMs }
}

type Answer = (url: URL, books: ReadonlyMap<string, Book>) => unknown

const KRAKEN_NAMES: Readonly<Record<string, string>> = {
  XBTUSD: 'XXBTZUSD',
  XBTEUR: 'XXBTZEUR',
  XBTGBP: 'XXBTZGBP',
  ETHUSD: 'XETHZUSD',
  LTCUSD: 'XLTCZUSD',
  USDTUSD: 'USDTZUSD',
  EURUSD: 'ZEURZUSD',
  GBPUSD: 'ZGBPZUSD',
}

const ANSWERS: Readonly<Record<ExchangeName, Answer>> = {
  coinbase(url, books) {
    const book = books.get((url.pathname.split('/')[2] ?? '').replace('-', '/'))
    const time = book && new Date(book.atMs).toISOString().replace('Z', '123Z')
    return book
      ? { ask: book.ask, bid: book.bid, volume: '9', trade_id: 1, price: book.bid, size: '0.1', time }
      : null
  },
  kraken(url, books) {
    const asked = (url.searchParams.get('pair') ?? '').split(',')
    const result = asked.flatMap((name) => {
      const pair = `${name.slice(0, -3).replace('XBT', 'BTC')}/${name.slice(-3)}`
      const book = books.get(pair)
      const lots = { c: [book?.bid, '0.1'], v: ['1', '2'], t: [1, 2], o: '1' }
      return book
        ? [
            [
              KRAKEN_NAMES[name] ?? name,
              { a: [book.ask, '1', '1.000'], b: [book.bid, '1', '1.000'], ...lots },
            ],
          ]
        : []
    })
    return { error: [], result: Object.fromEntries(result) }
  },
  bitstamp: (_url, books) =>
    Array.from([...books, ['DOGE/USD', bookOf(0.1, 'answer')] as const], ([pair, book]) => ({
      timestamp: String(Math.floor(book.atMs / 1000)),
      last: book.bid,
      bid: book.bid,
      ask: book.ask,
      volume: '1.0',
      pair,
    })),
  binance(url, books) {
    const symbols: unknown = JSON.parse(url.searchParams.get('symbols') ?? '[]')
    return Array.from(books, ([pair, book]) => ({
      symbol: pair.replace('/', ''),
      lastPrice: book.bid,
      bidPrice: book.bid,
      askPrice: book.ask,
      closeTime: book.atMs,
    })).filter(({ symbol }) => Array.isArray(symbols) && symbols.includes(symbol))
  },
  gemini(url, books) {
    const symbol = (url.pathname.split('/')[3] ?? '').toUpperCase()
    const book = books.get(`${symbol.slice(0, -3)}/${symbol.slice(-3)}`)
    return book
      ? { bid: book.bid, ask: book.ask, volume: { USD: '1', timestamp: book.atMs }, last: book.bid }
      : null
  },
}
