/** In the languages of the hosted pages: the dialog's name, and its button's. */
const LABELS: Readonly<Record<string, readonly [checkout: string, close: string]>> = {
  en: ['Checkout', 'Close'],
  de: ['Bezahlen', 'Schließen'],
  fr: ['Paiement', 'Fermer'],
  es: ['Pago', 'Cerrar'],
  pt: ['Pagamento', 'Fechar'],
  ja: ['お支払い', '閉じる'],
  zh: ['付款', '关闭'],
  ar: ['الدفع', 'إغلاق'],
}

/** The dialog that holds a checkout in the merchant's page. @param address - Of the checkout. */
export function drawDialog(address: string) {
  const dialog = document.createElement('dialog')
  const frame = document.createElement('iframe')
  const button = document.createElement('button')
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
  frame.allow = 'clipboard-write'
  // Whatever the shop's page tells others of itself: Beck has to know whether it may be shown there.
  frame.referrerPolicy = 'origin'
  frame.src = address
  button.type = 'button'
  button.textContent = '✕'
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
  /** The labels are the merchant's page's until the checkout says which language it speaks. */
  const speak = (tag: string) => {
    const known = tag.toLowerCase().split('-')[0] ?? ''
    const [checkout, close] = (Object.hasOwn(LABELS, known) && LABELS[known]) || ['Checkout', 'Close']
    dialog.lang = tag
    dialog.setAttribute('aria-label', checkout)
    frame.title = checkout
    button.setAttribute('aria-label', close)
  }
  speak(
    new URL(address).searchParams.get('lang') || document.documentElement.lang || navigator.language || 'en',
  )
  dialog.append(frame, button)
  return { dialog, frame, button, speak }
}
