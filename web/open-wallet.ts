/** A link into a wallet does nothing where there is none: then the page says what else there is. */
import { announce } from './announce.ts'

/** Whoever has a wallet has left the page by then, or is asked by the browser whether he wants to. */
const OPENED_MS = 1_500

export function watchWalletLinks(): void {
  document.addEventListener('click', ({ target }) => {
    if (!(target instanceof Element) || !target.closest('.apps a')) return
    let hasLeft = false
    addEventListener('blur', () => (hasLeft = true), { once: true })
    setTimeout(() => {
      const hint = document.querySelector<HTMLElement>('[data-no-wallet]')
      if (hasLeft || !hint?.hidden) return
      hint.hidden = false
      announce(hint.textContent)
    }, OPENED_MS)
  })
}
