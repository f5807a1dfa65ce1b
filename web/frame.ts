/** Inside a frame the page around it hears of each state: only pages of the origins that the merchant named. */
import { shownContent } from './replace.ts'

const isFramed = window.parent !== window

export function tellFrame(): void {
  if (!isFramed) return
  const { path, state } = shownContent()?.dataset ?? {}
  const language = document.documentElement.lang
  say({ type: 'beck:checkout', session: path?.split('/').at(-1), state, language })
  // What leads out of the checkout leads out of the frame.
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-return]')) link.target = '_top'
}

/** The key that closes a dialog is pressed in here, where the dialog does not hear it. */
export function passOnEscape(): void {
  if (isFramed) addEventListener('keydown', ({ key }) => key === 'Escape' && say({ type: 'beck:close' }))
}

function say(message: object): void {
  for (const origin of document.body.dataset.frameOrigins?.split(' ').filter(Boolean) ?? [])
    window.parent.postMessage(message, origin)
}
