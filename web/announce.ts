/** Says something to people who do not see it: one place on the page that screen readers listen to. */
import { shownContent } from './replace.ts'

let pending: ReturnType<typeof setTimeout> | undefined

export function announce(text: string): void {
  const place = document.querySelector<HTMLElement>('.announcement')
  if (!place) return
  // The same words twice would not be heard twice, so the place is emptied first.
  place.textContent = ''
  clearTimeout(pending)
  pending = setTimeout(() => {
    place.textContent = text
  }, 100)
}

/** The heading, the sentence under it, and what happens next by itself. */
export function announceContent(): void {
  const parts = ['.trouble', 'h1', 'h1 + .lead', '.returning span']
  announce(parts.flatMap((part) => textOf(shownContent(), part) ?? []).join(' '))
}

/** What the content says in the same state that it did not say before: a warning, or more coins. */
export function announceNews(before: HTMLElement): void {
  const news = ['.trouble', '[data-told]'].flatMap((part) => {
    const text = textOf(shownContent(), part)
    return text && text !== textOf(before, part) ? text : []
  })
  if (news.length > 0) announce(news.join(' '))
}

const textOf = (content: HTMLElement | null, part: string): string | undefined =>
  content?.querySelector(part)?.textContent?.trim()
