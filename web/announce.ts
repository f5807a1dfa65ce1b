/** Says something to people who do not see it: one place on the page that screen readers listen to. */

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
  const parts = ['.trouble', 'h1', 'h1 + .lead', '.returning span'].flatMap(
    (selector) => document.querySelector(`#content ${selector}`)?.textContent?.trim() ?? [],
  )
  announce(parts.join(' '))
}
