/** This machine's clock beside those of servers that keep time: every answer over HTTP carries its Date, in seconds. */
import { exchange } from '../../core/http.ts'
import { type Finding, fine, warning, wrong } from './finding.ts'

/** Exchanges that are asked for rates anyway; the middle one of their clocks counts. */
const CLOCKS = ['https://api.coinbase.com', 'https://api.kraken.com', 'https://www.bitstamp.net']
const LIMIT_MS = 5_000
const APART_MS_FINE = 5_000
/** Half of the age at which a rate is too old. */
const APART_MS_MAX = 30_000
const KEEP_TIME =
  'let this machine keep time (NTP): receivers refuse webhooks, and rates look old, when it does not'

/** @param urls - Whom to ask for the time. */
export async function clock(urls: readonly string[] = CLOCKS): Promise<Finding> {
  const answers = await Promise.all(urls.map((url) => readAheadMs(url)))
  const known = answers.filter((aheadMs) => aheadMs !== null).sort((a, b) => a - b)
  const aheadMs = known[Math.floor(known.length / 2)]
  if (aheadMs === undefined)
    return warning('time', 'could not be compared: nobody who was asked for the time answers', KEEP_TIME)
  const apart = `${Math.abs(aheadMs / 1_000).toFixed(0)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} what ${known.length} servers say`
  if (Math.abs(aheadMs) > APART_MS_MAX) return wrong('time', `this machine is ${apart}`, KEEP_TIME)
  if (Math.abs(aheadMs) > APART_MS_FINE) return warning('time', `this machine is ${apart}`, KEEP_TIME)
  return fine('time', `agrees with ${known.length} servers`)
}

/** How far this clock is ahead at least, below zero for behind; null when nobody says. */
async function readAheadMs(url: string): Promise<number | null> {
  try {
    const askedAtMs = Date.now()
    const headers = { 'user-agent': 'beck' }
    const answer = await exchange({ url, method: 'HEAD', headers, timeoutMs: LIMIT_MS, bytesMax: 0 })
    const answeredAtMs = Date.now()
    const fromMs = Date.parse(answer.headers.date ?? '')
    // The moment it was told is any of that second, and any of our own between question and answer.
    if (askedAtMs > fromMs + 999) return askedAtMs - (fromMs + 999)
    if (answeredAtMs < fromMs) return answeredAtMs - fromMs
    return Number.isNaN(fromMs) ? null : 0
  } catch {
    return null
  }
}
