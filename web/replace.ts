/** Puts what the server shows now in place of what the page shows, and leaves what the buyer is filling in alone. */
import { isFilledIn } from './fields.ts'

const FOCUSABLE = 'a, button, input, select, summary, textarea'

/** What the page shows now. */
export const shownContent = (): HTMLElement | null => document.getElementById('content')

/** Tells `beck:content` when the content is another one, and which was shown before; `beck:time` when only its clock was set. */
export function replaceContent(next: HTMLElement, title: string): void {
  const main = shownContent()
  if (!main) return
  const isSameState = next.dataset.state === main.dataset.state
  if (isSameState) {
    const isSameVersion = next.dataset.version === main.dataset.version
    if (isInUse(main) || (isSameVersion && hasSamePlaces(main, next))) {
      changeLive(next)
      if (next.dataset.version) main.dataset.version = next.dataset.version
      setClock(main, next)
      return
    }
  }
  put(main, next, title, isSameState)
}

/** The answer to a form: the buyer is led to what it says. */
export function showContent(next: HTMLElement, title: string): void {
  const main = shownContent()
  if (!main) return
  const typing = document.activeElement
  put(main, next, title, false)
  const field = next.querySelector<HTMLInputElement>('[aria-invalid=true], [autofocus]')
  if (!field) {
    scrollTo(0, 0)
    return
  }
  field.focus()
  // In the middle of a word the caret stays there.
  if (typing instanceof HTMLInputElement && typing.id === field.id && typing.selectionStart !== null)
    field.setSelectionRange(typing.selectionStart, typing.selectionEnd)
}

function put(main: HTMLElement, next: HTMLElement, title: string, isSameState: boolean): void {
  const focused = document.activeElement
  const place = focused ? [...main.querySelectorAll(FOCUSABLE)].indexOf(focused) : -1
  main.replaceWith(next)
  document.title = title
  document.dispatchEvent(new CustomEvent('beck:content', { detail: { before: main } }))
  if (place < 0) return
  // The keyboard goes on from the same place, or from the heading of what is new.
  const heading = next.querySelector('h1')
  heading?.setAttribute('tabindex', '-1')
  const focus = isSameState ? next.querySelectorAll<HTMLElement>(FOCUSABLE)[place] : heading
  focus?.focus()
}

/** Otherwise one of them shows more than the other. */
const hasSamePlaces = (main: HTMLElement, next: HTMLElement): boolean =>
  main.querySelectorAll('[data-live]').length === next.querySelectorAll('[data-live]').length

/** Changes the places that are marked as live, by their ids: prices, coins that can be taken no more, warnings. */
function changeLive(next: HTMLElement): void {
  for (const fresh of next.querySelectorAll('[data-live]')) {
    const old = document.getElementById(fresh.id)
    if (!old) continue
    if (old instanceof HTMLInputElement && fresh instanceof HTMLInputElement) {
      old.disabled = fresh.disabled
      if (old.disabled) old.checked = false
    }
    // What is written again would be read out again.
    else if (old.innerHTML !== fresh.innerHTML) old.replaceChildren(...fresh.childNodes)
  }
}

/** Whether something is filled in or opened here that would be lost. */
const isInUse = (main: HTMLElement): boolean =>
  main.querySelector('details[open]') !== null || isFilledIn(main)

/** A device that slept did not count on: the server's clock is taken over again. */
function setClock(main: HTMLElement, next: HTMLElement): void {
  const own = main.querySelector<HTMLElement>('.countdown')
  const fresh = next.querySelector<HTMLElement>('.countdown')
  if (!own || !fresh) return
  own.dataset.now = fresh.dataset.now
  own.dataset.ends = fresh.dataset.ends
  document.dispatchEvent(new CustomEvent('beck:time'))
}
