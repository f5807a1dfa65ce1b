/**
 * `/checkout.js`: opens a checkout in a dialog of the merchant's own page and tells that page how it goes.
 *
 *   <script src="https://pay.example/checkout.js" async></script>
 *   <a href="https://pay.example/pay/plink_…" data-beck-checkout>Pay</a>
 *
 * or `Beck.open({ url, onState, onComplete, onClose })`. The merchant's origin must be one of the account's frame
 * origins. What the dialog says is believed only when it comes from the gateway's own origin and this very frame.
 */
;(() => {
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

  function open(options: Options): { close(): void } {
    const url = new URL(options.url, gateway)
    if (url.origin !== gateway)
      throw new TypeError(`a checkout of ${gateway} was expected, got ${url.origin}`)
    const dialog = document.createElement('dialog')
    const frame = document.createElement('iframe')
    const button = document.createElement('button')
    dialog.setAttribute('aria-label', 'Checkout')
    Object.assign(dialog.style, {
      inlineSize: 'min(100vw, 50rem)',
      blockSize: 'min(100dvh, 52rem)',
      maxInlineSize: '100vw',
      maxBlockSize: '100dvh',
      padding: '0',
      border: '0',
      borderRadius: '1rem',
      overflow: 'hidden',
      background: 'Canvas',
    })
    Object.assign(frame.style, { inlineSize: '100%', blockSize: '100%', border: '0', display: 'block' })
    frame.title = 'Checkout'
    frame.allow = 'clipboard-write'
    frame.src = url.href
    button.type = 'button'
    button.textContent = '✕'
    button.setAttribute('aria-label', 'Close')
    Object.assign(button.style, {
      position: 'absolute',
      insetBlockStart: '0.5rem',
      insetInlineEnd: '0.5rem',
      inlineSize: '2.75rem',
      blockSize: '2.75rem',
      border: '0',
      borderRadius: '50%',
      // Colours of its own: the checkout under it follows the visitor's theme, the shop around it perhaps not.
      background: '#fff',
      color: '#14171f',
      boxShadow: '0 1px 4px rgb(0 0 0 / 40%)',
      fontSize: '1.125rem',
      cursor: 'pointer',
    })

    const completed = new Set<string>()
    const hear = (event: MessageEvent) => {
      if (event.origin !== gateway || event.source !== frame.contentWindow) return
      const { type, state, session } = (event.data ?? {}) as Record<string, unknown>
      if (type === 'beck:close') return dialog.close()
      if (type !== 'beck:checkout' || typeof state !== 'string' || typeof session !== 'string') return
      options.onState?.(state, session)
      if ((state !== 'paid' && state !== 'higher') || completed.has(session)) return
      completed.add(session)
      options.onComplete?.(session)
    }
    addEventListener('message', hear)
    dialog.addEventListener('close', () => {
      removeEventListener('message', hear)
      dialog.remove()
      options.onClose?.()
    })
    button.addEventListener('click', () => dialog.close())
    dialog.append(frame, button)
    document.body.append(dialog)
    dialog.showModal()
    return { close: () => dialog.close() }
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
})()
