/**
 * Keeps the open page true. The server tells by server-sent events that there is news; the page is asked for again and
 * its content put in place of the old one. A stream that is silent (a proxy that buffers it) or refused, and a tab beyond
 * the few that may have one, asks for the version instead. Whatever else may have been missed is caught by asking again
 * when the buyer comes back to the tab.
 */
import { replaceContent, shownContent } from './replace.ts'

/** After an interruption; around it, so that thousands of pages do not come back at one moment. */
const AGAIN_MS = 1_250
/** From one question for the version to the next. */
const POLL_MS = 3_000
const HIDDEN_POLL_MS = 30_000
/** A stream says something at once, and then more often than this. */
const SIGN_MS = 5_000
const SILENCE_MS = 40_000
/** After so many failures in a row the stream may be refused for good, by a proxy or a limit: then asking is all there is. */
const STREAM_FAILURES_MAX = 2
const STREAM_AGAIN_MS = 60_000
/** A tab that was away for longer asks at once when it comes back. */
const AWAY_MS = 5_000
/** Prices beside the coins. */
const PRICES_MS = 30_000
/** A short interruption is nobody's worry. */
const WORRY_MS = 2_000
/**
 * Streams of all tabs together: a browser opens six connections to a server that speaks HTTP/1.1, and whoever holds them
 * all can load nothing any more.
 */
const SEATS = ['beck:live:1', 'beck:live:2']

let stream: EventSource | undefined
let leaveSeat: (() => void) | undefined
let failures = 0
/** Until then the page asks for its version. */
let streamFrom = 0
let timer: ReturnType<typeof setTimeout> | undefined
let retry: ReturnType<typeof setTimeout> | undefined
let worry: ReturnType<typeof setTimeout> | undefined
let asking: Promise<void> | undefined
let askAgain = false

const version = (): string | undefined => shownContent()?.dataset.version
const path = (): string => shownContent()?.dataset.path ?? ''
const jitter = (ms: number): number => ms * (0.75 + Math.random() / 2)

/** One thing is waited for at a time: the next turn, or the next sign of the stream. */
function next(act: () => void, ms: number): void {
  clearTimeout(timer)
  timer = setTimeout(act, ms)
}

export function startLive(): void {
  turn()
  let hiddenAt = 0
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) hiddenAt = Date.now()
    else if (Date.now() - hiddenAt > AWAY_MS) wakeUp()
  })
  addEventListener('online', wakeUp)
  addEventListener('offline', showOffline)
  addEventListener('pagehide', disconnect)
  addEventListener('pageshow', (event) => event.persisted && wakeUp())
  setInterval(() => {
    if (!document.hidden && shownContent()?.dataset.state === 'choose') refresh()
  }, PRICES_MS)
}

function wakeUp(): void {
  failures = 0
  streamFrom = 0
  disconnect()
  turn()
  refresh()
}

async function turn(): Promise<void> {
  clearTimeout(timer)
  const known = version()
  if (!known || stream) return
  if (Date.now() >= streamFrom && (await takeSeat())) connect(known)
  else await poll()
}

function disconnect(): void {
  clearTimeout(timer)
  stream?.close()
  stream = undefined
  leaveSeat?.()
  leaveSeat = undefined
}

/** @returns Whether this tab may have a stream. Where browsers have no locks, only those that are looked at. */
async function takeSeat(): Promise<boolean> {
  if (leaveSeat) return true
  if (!navigator.locks) return !document.hidden
  for (const name of SEATS) {
    const taken = await new Promise<boolean>((tell) => {
      const hold = (lock: Lock | null) => {
        tell(lock !== null)
        return lock && new Promise<void>((leave) => (leaveSeat = leave))
      }
      navigator.locks.request(name, { ifAvailable: true }, hold).catch(() => tell(false))
    })
    if (taken) return true
  }
  return false
}

function connect(known: string): void {
  if (stream) return
  const opened = new EventSource(`${path()}/events?version=${known}`)
  stream = opened
  const isAlive = () => {
    failures = 0
    hideOffline()
    next(silent, SILENCE_MS)
  }
  opened.addEventListener('beat', isAlive)
  opened.addEventListener('news', (event) => {
    isAlive()
    if (!isKnown(event.lastEventId)) setTimeout(refresh, Number(event.data))
  })
  opened.onerror = () => {
    disconnect()
    failures += 1
    if (failures > STREAM_FAILURES_MAX) streamFrom = Date.now() + STREAM_AGAIN_MS
    worry ??= setTimeout(showOffline, WORRY_MS)
    next(turn, jitter(AGAIN_MS))
  }
  next(mute, SIGN_MS)
}

/** It was opened and says nothing: somebody on the way keeps it to himself, or no connection was left for it. */
function mute(): void {
  streamFrom = Date.now() + STREAM_AGAIN_MS
  silent()
}

/** It said something once: its connection is gone, and nobody told. */
function silent(): void {
  disconnect()
  refresh()
  turn()
}

async function poll(): Promise<void> {
  try {
    const answer = await fetch(`${path()}/version`, { cache: 'no-store' })
    if (!answer.ok) throw new Error(`the version answered ${answer.status}`)
    hideOffline()
    if (!isKnown(await answer.text())) refresh()
    next(turn, document.hidden ? HIDDEN_POLL_MS : jitter(POLL_MS))
  } catch {
    worry ??= setTimeout(showOffline, WORRY_MS)
    next(turn, jitter(AGAIN_MS))
  }
}

const isKnown = (told: string): boolean => told === version() || countOnly(told)

/**
 * A block that only adds a confirmation changes the count and its bar, and what was said of the time it usually takes is true no
 * more; thousands of pages need not ask for themselves again.
 */
function countOnly(next: string): boolean {
  const main = shownContent()
  const [basis, count = '0'] = next.split('-')
  const place = document.getElementById('confirmations')
  const bar = place?.parentElement?.querySelector('progress')
  const template = place?.dataset.count
  if (!main || !place || !bar || !template || main.dataset.state !== 'confirming' || count === '0')
    return false
  if (version()?.split('-')[0] !== basis) return false
  const show = new Intl.NumberFormat(document.documentElement.lang).format
  place.textContent = template.replace('{n}', show(Number(count)))
  bar.value = Number(count)
  main.querySelector('[data-usual]')?.remove()
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
  const shown = shownContent()
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store' })
    const page = await readPage(answer)
    hideOffline()
    const fresh = page.getElementById('content')
    if (!fresh) return
    // A form was answered meanwhile, and this may be from before it.
    if (shownContent() !== shown) {
      askAgain = true
      return
    }
    // The page moved on, for instance from the choice of a coin to the payment that was seen.
    if (answer.redirected) history.replaceState(null, '', answer.url)
    replaceContent(fresh, page.title)
    follow()
  } catch {
    worry ??= setTimeout(showOffline, WORRY_MS)
    clearTimeout(retry)
    retry = setTimeout(refresh, jitter(AGAIN_MS))
  }
}

/** Of what is shown now: whether there is still something to wait for. */
export function follow(): void {
  if (!version()) disconnect()
  else if (!stream) turn()
}

/** @throws {Error} When the gateway is away: its place was taken by a proxy's page, or it says so itself. */
export async function readPage(answer: Response): Promise<Document> {
  // Its style is marked for that answer alone: this page's policy would complain of it.
  const text = (await answer.text()).replace(/<style.*?<\/style>/s, '')
  const page = new DOMParser().parseFromString(text, 'text/html')
  const state = page.getElementById('content')?.dataset.state
  if (answer.status === 429 || (answer.status >= 500 && (!state || state === 'unavailable')))
    throw new Error(`the page answered ${answer.status}`)
  return page
}

export function showOffline(): void {
  const banner = document.querySelector<HTMLElement>('.offline')
  if (banner) banner.hidden = false
}

export function hideOffline(): void {
  clearTimeout(worry)
  worry = undefined
  const banner = document.querySelector<HTMLElement>('.offline')
  if (banner) banner.hidden = true
}
