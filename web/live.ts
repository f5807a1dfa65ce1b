/**
 * Keeps the open page true. The server tells by server-sent events that there is news; the page is asked for again and
 * its content put in place of the old one. Whatever else may have been missed is caught by asking again: after every
 * interruption, and when the buyer comes back to the tab.
 */
import { replaceContent } from './replace.ts'

const BACK_OFF_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000]
/** After so many failures in a row the stream may be refused for good, by a proxy or a limit: then asking is all there is. */
const STREAM_FAILURES_MAX = 2
/** A tab that was away for longer asks at once when it comes back. */
const AWAY_MS = 5_000
/** Prices beside the coins. */
const PRICES_MS = 30_000
/** A short interruption is nobody's worry. */
const WORRY_MS = 2_000

let stream: EventSource | undefined
let failures = 0
let retry: ReturnType<typeof setTimeout> | undefined
let worry: ReturnType<typeof setTimeout> | undefined
let asking: Promise<void> | undefined
let askAgain = false

const content = (): HTMLElement | null => document.getElementById('content')
const version = (): string | undefined => content()?.dataset.version
const jitter = (ms: number): number => ms * (0.75 + Math.random() / 2)
const backOff = (): number => jitter(BACK_OFF_MS[Math.min(failures++, BACK_OFF_MS.length - 1)] ?? 0)

export function startLive(): void {
  connect()
  let hiddenAt = 0
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) hiddenAt = Date.now()
    else if (Date.now() - hiddenAt > AWAY_MS) wakeUp()
  })
  addEventListener('online', wakeUp)
  addEventListener('offline', showOffline)
  addEventListener('pageshow', (event) => event.persisted && wakeUp())
  setInterval(() => {
    const state = content()?.dataset.state
    if (!document.hidden && state === 'choose') refresh()
  }, PRICES_MS)
}

function wakeUp(): void {
  failures = 0
  disconnect()
  connect()
  refresh()
}

function disconnect(): void {
  clearTimeout(retry)
  stream?.close()
  stream = undefined
}

function connect(): void {
  const known = version()
  if (!known) return
  stream = new EventSource(`${document.body.dataset.path}/events?version=${known}`)
  stream.onopen = () => {
    failures = 0
    hideOffline()
  }
  stream.addEventListener('news', (event) => {
    if (event.lastEventId === version() || countOnly(event.lastEventId)) return
    setTimeout(refresh, Number(event.data))
  })
  stream.onerror = () => {
    disconnect()
    // Beyond that, asking tells whether there is a connection.
    if (failures <= STREAM_FAILURES_MAX) worry ??= setTimeout(showOffline, WORRY_MS)
    retry = setTimeout(() => {
      connect()
      if (failures > STREAM_FAILURES_MAX) refresh()
    }, backOff())
  }
}

/** A block that only adds a confirmation changes two places; thousands of pages need not ask for themselves again. */
function countOnly(next: string): boolean {
  const main = content()
  const [basis, count = '0'] = next.split('-')
  const place = document.getElementById('confirmations')
  const bar = place?.parentElement?.querySelector('progress')
  const template = place?.dataset.count
  if (!main || !place || !bar || !template || main.dataset.state !== 'confirming' || count === '0')
    return false
  if (version()?.split('-')[0] !== basis) return false
  const show = new Intl.NumberFormat(document.documentElement.lang).format
  place.textContent = template.replace('{n}', show(Number(count))).replace('{m}', show(bar.max))
  bar.value = Number(count)
  main.dataset.version = next
  return true
}

/** Asks for the page again; a call while one is under way asks once more after it. */
export function refresh(): void {
  if (asking) askAgain = true
  else
    asking = ask().finally(() => {
      asking = undefined
      if (askAgain) refresh()
      askAgain = false
    })
}

async function ask(): Promise<void> {
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store' })
    if (answer.status >= 500 || answer.status === 429) throw new Error(`the page answered ${answer.status}`)
    // Its style is marked for that answer alone: this page's policy would complain of it.
    const text = (await answer.text()).replace(/<style.*?<\/style>/s, '')
    const page = new DOMParser().parseFromString(text, 'text/html')
    hideOffline()
    const next = page.getElementById('content')
    if (!next) return
    // The page moved on, for instance from the choice of a coin to the payment that was seen.
    if (answer.redirected) history.replaceState(null, '', answer.url)
    replaceContent(next, page.title)
    if (!version()) disconnect()
    else if (!stream) connect()
  } catch {
    worry ??= setTimeout(showOffline, WORRY_MS)
    clearTimeout(retry)
    retry = setTimeout(stream ? refresh : connect, backOff())
  }
}

function showOffline(): void {
  const banner = document.querySelector<HTMLElement>('.offline')
  if (banner) banner.hidden = false
}

function hideOffline(): void {
  clearTimeout(worry)
  worry = undefined
  const banner = document.querySelector<HTMLElement>('.offline')
  if (banner) banner.hidden = true
}
