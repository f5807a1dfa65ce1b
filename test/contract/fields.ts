/** What the contract's bodies and queries take, and what they refuse. */

/** A field of a body, by values. */
export interface Field {
  readonly required?: true
  readonly takes: readonly unknown[]
  /** Answered with 400, naming the field. */
  readonly refuses: readonly unknown[]
  /** Understood, and refused by the business with 422. */
  readonly declines?: readonly unknown[]
}

/** A field of a query. */
export interface Parameter {
  readonly takes: readonly string[]
  readonly refuses: readonly string[]
}

export const ASSETS = ['BTC', 'LTC', 'ETH', 'USDC', 'USDT']
const FIATS = ['USD', 'EUR', 'GBP']
export const STATUSES = [
  'pending',
  'detected',
  'completed',
  'overpaid',
  'underpaid',
  'expired',
  'failed',
  'cancelled',
]
export const EVENTS = [
  'payment.created',
  'payment.confirming',
  'payment.completed',
  'payment.expired',
  'payment.refunded',
  'payout.completed',
]

/** No text at all. */
export const NO_TEXT = [null, 7, true, [], {}]
const NO_NUMBER = [null, '10', '', true, [], {}]
export const long = (length: number) => 'ü'.repeat(length)
export const keys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${i}`, i]))

export const asset: Field = {
  required: true,
  takes: ASSETS,
  refuses: [...NO_TEXT, 'btc', 'DOGE', '', '__proto__'],
}
export const fiat: Field = { takes: FIATS, refuses: [...NO_TEXT, 'usd', 'CHF', ''] }
export const amount = (required?: true): Field => ({
  ...(required ? { required } : {}),
  takes: [0.5, 1, 19.99, 1_000_000],
  refuses: [...NO_NUMBER, 0, -1, 1.001, 1e-7, 1e300],
  declines: [0.49, 0.01, 1_000_000.01, 9e12],
})
export const reference: Field = {
  takes: ['', 'order-1', long(255), '𝒶'.repeat(255)],
  refuses: [...NO_TEXT, long(256)],
}
export const email: Field = {
  takes: ['a@b.example', 'Ann+1@Shop.Example', `${'a'.repeat(244)}@b.example`],
  refuses: [...NO_TEXT, '', 'ann', '@', 'a@', '@b', 'a b@c.example', `${'a'.repeat(245)}@b.example`],
}
export const redirect: Field = {
  takes: ['https://shop.example/thanks?o=7#x', 'http://localhost:3000/', `https://s.example/${'x'.repeat(2_030)}`],
  refuses: [...NO_TEXT, '', '/thanks', 'javascript:alert(1)', 'data:text/html,x', 'ftp://s.example', `https://s.example/${'x'.repeat(2_031)}`],
} // biome-ignore format: a table
export const PAGING = {
  page: { takes: ['1', '2', '9007199254740991'], refuses: ['0', '-1', '1.5', 'one', '', '1e1', '99999999999999999999'] },
  limit: { takes: ['1', '25', '100'], refuses: ['0', '101', '-1', 'all', ''] },
  order: { takes: ['asc', 'desc'], refuses: ['ASC', 'up', ''] },
  start_date: { takes: ['2026-01-31', '2026-01-31T12:00:00Z', '2026-01-31T12:00:00.123+02:00'], refuses: ['', 'today', '2026-02-30', '31.01.2026', '1767225600'] },
  end_date: { takes: ['2026-01-31', '2026-01-31T12:00:00Z'], refuses: ['', 'today', '2026-13-01', '2026-01-31T25:00:00Z'] },
} // biome-ignore format: a table
export const sort = (takes: readonly string[]): Parameter => ({
  takes,
  refuses: ['', 'name', 'ID', 'constructor', 'id;--'],
})
export const words = (takes: readonly string[]): Parameter => {
  const [first = '', second] = takes
  const otherCase = first === first.toUpperCase() ? first.toLowerCase() : first.toUpperCase()
  return {
    takes: [...takes, takes.join(',')],
    refuses: ['', ',', `${first},`, 'nothing', `${first}, ${second}`, otherCase],
  }
}
export const isOrNot: Parameter = { takes: ['is', 'is_not'], refuses: ['', 'not', 'IS'] }
export const anyText: Parameter = { takes: ['x', '%', "' or 1=1 --", 'ü'], refuses: ['\0'] }
export const bound: Parameter = {
  takes: ['0', '10', '10.5', '10.55'],
  refuses: ['', 'x', '-1', '1.001', '1e3', '0x10'],
}
export const count: Parameter = { takes: ['0', '3'], refuses: ['', 'x', '-1', '1.5'] }

/** Of the simulated Litecoin, the coin that `order` names. */
export const WALLET = 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0'
export const order: Readonly<Record<string, Field>> = {
  asset: { required: true, takes: ['LTC'], refuses: asset.refuses },
  amount: {
    required: true,
    takes: ['0.01', '0.00100001', '1', '1.0'],
    refuses: [null, 1, true, [], {}, '', '0', '-1', '+1', '1e-3', '1,5', ' 1', '.5', '1.', '01', '0.000000001', 'NaN', '9'.repeat(90)],
    declines: ['0.00000001', '100000'],
  },
  destination_address: {
    required: true,
    takes: [WALLET],
    refuses: [...NO_TEXT, '', 'wallet', WALLET.slice(0, -1), `${WALLET.slice(0, -1)}q`, WALLET.toUpperCase().replace('TLTC', 'tltc'), 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9', 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx', `0x${'1'.repeat(40)}`, 'x'.repeat(129)],
  },
} // biome-ignore format: a table
