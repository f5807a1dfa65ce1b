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

/** The heading and the sentence under it. */
export function announceContent(): void {
  const parts = ['h1', 'h1 + .lead', '.trouble'].flatMap(
    (selector) => document.querySelector(`#content ${selector}`)?.textContent?.trim() ?? [],
  )
  announce(parts.join(' '))
}
