/**
 * `/checkout.js`: opens a checkout in a dialog of the merchant's own page and tells that page how it goes.
 *
 *   <script src="https://pay.example/checkout.js" async></script>
 *   <a href="https://pay.example/pay/plink_…" data-beck-checkout>Pay</a>
 *
 * or `Beck.open({ url, onState, onComplete, onClose })`. The merchant's origin must be one of the account's frame
 * origins. Closing the dialog hides it: the payment goes on, `onComplete` is still called, and opening it again shows where
 * it was. What the dialog says is believed only when it comes from the gateway's own origin and this very frame.
 */
import { drawDialog } from './dialog.ts'
import { recall, remember } from './keep.ts'

interface Options {
  /** Of a checkout session or a payment link on this gateway. */
  readonly url: string
  readonly onState?: (state: string, session: string) => void
  /** The payment is complete. Grant goods on the webhook, not on this. */
  readonly onComplete?: (session: string) => void
  readonly onClose?: () => void
}

const script = document.currentScript
const gateway = new URL(script instanceof HTMLScriptElement ? script.src : location.href).origin

interface Kept {
  show(options: Options): void
  close(): void
}
/** By address: closing a dialog hides it, and opening it again shows what it was at. */
const dialogs = new Map<string, Kept>()
/** States that nobody comes back to. */
const OVER = ['paid', 'higher', 'cancelled', 'ended', 'refunded']

function open(options: Options): { close(): void } {
  const url = new URL(options.url, gateway)
  if (url.origin !== gateway) throw new TypeError(`a checkout of ${gateway} was expected, got ${url.origin}`)
  const kept = dialogs.get(url.href) ?? make(url, options)
  kept.show(options)
  return { close: kept.close }
}

/** A payment link starts a session on each visit: after the shop's page was loaded anew, the one begun goes on. */
function begun(url: URL): string {
  const session = recall('sessionStorage', `beck:${url.href}`)
  if (!session || !/^cs_[0-9a-z]+$/.test(session)) return url.href
  return url.href.replace(/\/pay\/[^/?#]+/, `/checkout/${session}`)
}

function make(url: URL, options: Options): Kept {
  const { dialog, frame, button, speak } = drawDialog(begun(url))
  const state = { options, session: null as string | null, isOver: false }
  const completed = new Set<string>()
  // Closed, the dialog goes on hearing: a payment on its way is complete whether somebody looks or not.
  addEventListener('message', (event: MessageEvent) => {
    if (event.origin !== gateway || event.source !== frame.contentWindow) return
    const told = (event.data ?? {}) as Record<string, unknown>
    if (told.type === 'beck:close') return dialog.close()
    if (told.type !== 'beck:checkout' || typeof told.state !== 'string' || typeof told.session !== 'string')
      return
    const { session } = told
    if (typeof told.language === 'string') speak(told.language)
    state.session = session
    state.isOver = OVER.includes(told.state)
    remember('sessionStorage', `beck:${url.href}`, state.isOver ? null : session)
    state.options.onState?.(told.state, session)
    if ((told.state !== 'paid' && told.state !== 'higher') || completed.has(session)) return
    completed.add(session)
    state.options.onComplete?.(session)
  })
  dialog.addEventListener('close', () => {
    if (state.isOver || state.session === null) {
      dialogs.delete(url.href)
      dialog.remove()
    }
    state.options.onClose?.()
  })
  button.addEventListener('click', () => dialog.close())
  document.body.append(dialog)
  const kept: Kept = {
    show(next) {
      state.options = next
      dialog.showModal()
    },
    close: () => dialog.close(),
  }
  dialogs.set(url.href, kept)
  return kept
}

// Links that are marked open in a dialog; opened in another tab, or without this script, they still lead there.
document.addEventListener('click', (event) => {
  const link =
    event.target instanceof Element && event.target.closest<HTMLAnchorElement>('a[data-beck-checkout]')
  if (!link || event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  const tell = (name: string, detail: object) =>
    link.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }))
  open({
    url: link.href,
    onState: (state, session) => tell('beck:state', { state, session }),
    onComplete: (session) => tell('beck:complete', { session }),
    onClose: () => tell('beck:close', {}),
  })
})

Object.assign(window, { Beck: { open } })
