/** A page on which something is under way looks again, and shows itself anew when it reads another way. */
import { isFilledIn } from '../fields.ts'
import { announce } from './copy.ts'

const EVERY_MS = 1_500
/** How long a form may be under way: to show the page anew meanwhile would throw its answer away. */
const SENDING_MS = 30_000
/** How long a link may. One to a file or to a mail looks the same from here, and leads nowhere: news waits no longer for it. */
const LEAVING_MS = 5_000

export function lookAgain(): void {
  if (!('live' in document.body.dataset)) return
  // Of this very page: what changed since it was drawn is news already.
  const seen = document.body.dataset.live
  const drawnOpen = new Set(document.querySelectorAll('main details[open]'))
  let leavesUntil = 0
  const leave = (withinMs: number) => {
    leavesUntil = Math.max(leavesUntil, performance.now() + withinMs)
  }
  addEventListener('submit', ({ defaultPrevented }) => defaultPrevented || leave(SENDING_MS))
  addEventListener('beforeunload', () => leave(LEAVING_MS))
  const isLeaving = () => performance.now() < leavesUntil
  let wasElsewhere = false
  const look = async () => {
    // No answer is one that comes later: whoever gives it is away, or asks for patience.
    const answer = await fetch(location.href, { headers: { 'X-Look': '1' } }).catch(() => null)
    const isLater = answer === null || answer.status === 429 || answer.status >= 500
    if (!isLater) {
      if (answer.redirected && wasElsewhere) return offer(OVER)
      wasElsewhere = answer.redirected
      if (!answer.ok && !answer.redirected) return
      // What has come to rest has no version any more.
      const isNews = !answer.redirected && answer.headers.get('x-version') !== seen
      if (isNews && !isLeaving()) {
        if (!isInUse(drawnOpen)) {
          announce('The page has news')
          location.reload()
          return
        }
        offer(NEWS)
      }
    }
    setTimeout(look, isLater || document.hidden ? EVERY_MS * 10 : EVERY_MS)
  }
  look()
}

interface Offer {
  readonly text: string
  readonly button: string
  readonly label: string
  readonly said: string
}

const NEWS: Offer = {
  text: 'There is something new. ',
  button: 'Show',
  label: 'Show what is new',
  said: 'There is something new. A button at the end of the page shows it.',
}
/** Twice it led elsewhere: to the sign-in, as a rule. */
const OVER: Offer = {
  text: 'This page no longer refreshes. ',
  button: 'Load it again',
  label: 'Load this page again',
  said: 'This page no longer refreshes. A button at the end of the page loads it again.',
}

/**
 * Whether somebody is in the middle of something here: where the keyboard is, marked text, what is filled in or was opened.
 * Who pressed a button with a mouse has no place to lose.
 */
function isInUse(drawnOpen: ReadonlySet<Element>): boolean {
  const focused = document.querySelector(':focus-visible')
  return (
    (focused !== null && focused !== document.body && focused.id !== 'content') ||
    getSelection()?.isCollapsed === false ||
    [...document.querySelectorAll('main details[open]')].some((each) => !drawnOpen.has(each)) ||
    isFilledIn(document)
  )
}

/** One line over the page, until it is asked for or nobody is in the middle of anything. */
function offer({ text, button, label, said }: Offer): void {
  const shown = document.querySelector('.news')
  if (shown?.textContent === text + button) return
  shown?.remove()
  const line = document.createElement('p')
  line.className = 'news'
  const show = document.createElement('button')
  show.type = 'button'
  show.textContent = button
  show.setAttribute('aria-label', label)
  show.addEventListener('click', () => location.reload())
  line.append(text, show)
  document.getElementById('content')?.append(line)
  announce(said)
}
