/**
 * Keeps the open page true. The server tells by server-sent events that there is news; the page is asked for again and
 * its content put in place of the old one. Whatever else may have been missed is caught by asking again: after every
 * interruption, and when the buyer comes back to the tab.
 */

const BACK_OFF_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000]
/** A tab that was away for longer asks at once when it comes back. */
const AWAY_MS = 5_000
/** Prices beside the coins. */
const PRICES_MS = 30_000
const FOCUSABLE = 'a, button, input, summary'
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
    worry ??= setTimeout(showOffline, WORRY_MS)
    const wait = BACK_OFF_MS[Math.min(failures++, BACK_OFF_MS.length - 1)] ?? 0
    retry = setTimeout(() => {
      connect()
      // The stream may be refused for good, by a proxy or a limit: then asking is all there is.
      if (failures > 2) refresh()
    }, jitter(wait))
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
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    hideOffline()
    const next = page.getElementById('content')
    if (!next) return
    // The page moved on, for instance from the choice of a coin to the payment that was seen.
    if (answer.redirected) history.replaceState(null, '', answer.url)
    replace(next, page.title)
  } catch {
    worry ??= setTimeout(showOffline, WORRY_MS)
    clearTimeout(retry)
    retry = setTimeout(
      stream ? refresh : connect,
      jitter(BACK_OFF_MS[Math.min(failures++, BACK_OFF_MS.length - 1)] ?? 0),
    )
  }
}

function replace(next: HTMLElement, title: string): void {
  const main = content()
  if (!main) return
  const isSameState = next.dataset.state === main.dataset.state
  // What the buyer is filling in stays; only what is marked as live changes in it.
  if (isSameState && main.querySelector('form input:not([type=hidden])')) {
    for (const fresh of next.querySelectorAll('[data-live]')) {
      document.getElementById(fresh.id)?.replaceChildren(...fresh.childNodes)
    }
    if (next.dataset.version) main.dataset.version = next.dataset.version
    return
  }
  if (isSameState && next.dataset.version === main.dataset.version) return
  const focused = document.activeElement
  const place = focused ? [...main.querySelectorAll(FOCUSABLE)].indexOf(focused) : -1
  const before = main.dataset.state
  main.replaceWith(next)
  document.title = title
  if (!next.dataset.version) disconnect()
  else if (!stream) connect()
  document.dispatchEvent(new CustomEvent('beck:content', { detail: { before } }))
  if (place < 0) return
  // The keyboard goes on from the same place, or from the heading of what is new.
  const heading = next.querySelector('h1')
  heading?.setAttribute('tabindex', '-1')
  const focus = isSameState ? next.querySelectorAll<HTMLElement>(FOCUSABLE)[place] : heading
  focus?.focus()
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
