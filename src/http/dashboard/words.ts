/** Values as people read them: money, coins, times, statuses. */
import { type Asset, type Fiat, NETWORKS, type Network, networkOf } from '../../core/assets.ts'
import { fiatToNumber, formatAmount, formatCoins } from '../../core/money.ts'
import { DAY_MS, MINUTE_MS, utcDay } from '../../core/time.ts'
import { type Html, html } from '../hosted/html.ts'
import { memo } from '../hosted/language.ts'
import { isToken } from '../hosted/networks.ts'

const currencyFormat = memo((currency) => new Intl.NumberFormat('en', { style: 'currency', currency }))

export const fiat = (amount: number | bigint, currency: Fiat): string =>
  currencyFormat(currency).format(typeof amount === 'bigint' ? fiatToNumber(amount) : amount)

/** Whole coins, without their name and with it. */
export { formatAmount as decimal, formatCoins as coins }

export const count = (value: number | bigint): string => value.toLocaleString('en')

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`

export const networkName = (network: Network): string =>
  network.replace(/^./, (letter) => letter.toUpperCase())

/** Where a coin is sent to, a token's network by its standard, as exchanges call it: `Ethereum (ERC-20)`. */
export const coinNetwork = (asset: Asset): string =>
  `${networkName(networkOf(asset))}${isToken(asset) ? ' (ERC-20)' : ''}`

export const NETWORK_CHOICES = NETWORKS.map((network) => [network, networkName(network)] as const)

const timeFormat = memo(
  (timeZone) =>
    new Intl.DateTimeFormat('en-GB', {
      timeZone,
      day: '2-digit',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
    }),
)

/** An instant in the merchant's zone; a script says how long ago that was. */
export function time(at: Date | string | null, zone = 'UTC'): Html | null {
  if (at === null) return null
  const date = typeof at === 'string' ? new Date(at) : at
  return html`<time datetime="${date.toISOString()}">${timeFormat(zone).format(date)}</time>`
}

/** A place's, or UTC: an offset such as `+02:00` means the opposite to PostgreSQL, which reads it as POSIX does. */
export const isTimeZone = (zone: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return zone.length <= 60 && !/^[+-]/.test(zone)
  } catch {
    return false
  }
}

const clockOf = memo(
  (timeZone) =>
    new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    }),
)

/** How far a zone's clocks are ahead of UTC at an instant. */
function offsetMs(zone: string, at: number): number {
  const parts = clockOf(zone).formatToParts(at)
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value)
  const shown = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'))
  return shown - Math.floor(at / 1_000) * 1_000
}

/** An instant by a zone's clocks, with how far they are ahead: `2026-07-01T12:00:00.000+02:00`; `…Z` in UTC. */
export function inZone(at: Date, zone: string): string {
  if (zone === 'UTC') return at.toISOString()
  const offset = offsetMs(zone, at.getTime())
  const local = new Date(at.getTime() + offset).toISOString().slice(0, -1)
  const minutes = Math.abs(offset) / MINUTE_MS
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  return `${local}${offset < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`
}

/** The first instant of a day (`YYYY-MM-DD`) in a zone; null for no such day. */
export function startOfDay(text: string, zone: string): Date | null {
  const utc = Date.parse(`${text}T00:00:00Z`)
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(utc)) return null
  // The 31st of June would be the 1st of July.
  if (utcDay(new Date(utc)) !== text) return null
  // The offset at the day's start may be another one than at midnight UTC: the second look settles it.
  const near = utc - offsetMs(zone, utc)
  return new Date(utc - offsetMs(zone, near))
}

/** The day of an instant in a zone, `YYYY-MM-DD`. */
export const dayOf = (at: Date, zone: string): string =>
  new Date(at.getTime() + offsetMs(zone, at.getTime())).toISOString().slice(0, 10)

export const dayAfter = (text: string): string =>
  new Date(Date.parse(`${text}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10)

/** Good news is green, trouble red, what waits for somebody amber. */
export type Tone = 'good' | 'bad' | 'wait' | 'busy' | 'quiet'

/** What is over, and whatever is not named here, is quiet. */
const TONES: readonly (readonly [Tone, readonly string[]])[] = [
  ['good', ['completed', 'delivered', 'sent', 'active', 'confirmed', 'ok', 'approved']],
  ['wait', ['open', 'overpaid', 'underpaid', 'late']],
  ['busy', ['requested', 'broadcast', 'detected', 'seen', 'pending', 'queued']],
  ['bad', ['failed', 'refused', 'declined', 'given up', 'replaced', 'reorganised', 'frozen']],
]

export function badge(status: string): Html {
  const [tone] = TONES.find(([, statuses]) => statuses.includes(status)) ?? ['quiet']
  return html`<span class="badge ${tone}">${status}</span>`
}
