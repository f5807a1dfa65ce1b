/** Inside a frame the page around it hears of each state: only pages of the origins that the merchant named. */

export function tellFrame(): void {
  if (window.parent === window) return
  const { path = '', frameOrigins = '' } = document.body.dataset
  const state = document.getElementById('content')?.dataset.state
  const session = path.split('/').at(-1)
  for (const origin of frameOrigins.split(' ').filter(Boolean))
    window.parent.postMessage({ type: 'beck:checkout', session, state }, origin)
  // What leads out of the checkout leads out of the frame.
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-return]')) link.target = '_top'
}
