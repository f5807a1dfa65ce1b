/** After the payment, or once he gave it up, the buyer goes on to the shop by himself, unless he wants to stay. */

/** Only where the page was watched becoming so: who opens it again wants to see it. */
export function returnSoon(): void {
  const link = document.querySelector<HTMLAnchorElement>('a[data-returning]')
  const sentence = link?.dataset.returning
  if (!link || !sentence || window.parent !== window) return
  const number = new Intl.NumberFormat(document.documentElement.lang, {
    style: 'unit',
    unit: 'second',
    unitDisplay: 'long',
  })
  const line = document.createElement('p')
  line.className = 'returning'
  const text = document.createElement('span')
  const stay = document.createElement('button')
  stay.type = 'button'
  stay.textContent = link.dataset.stay ?? ''
  line.append(text, stay)
  link.parentElement?.after(line)

  let left = Number(link.dataset.seconds)
  const show = () => {
    text.textContent = sentence.replace('{seconds}', number.format(left))
  }
  const timer = setInterval(() => {
    // Another page is shown by now, or he is busy with this one.
    if (!line.isConnected || document.querySelector('#content details[open]')) {
      clearInterval(timer)
      line.remove()
      return
    }
    left -= 1
    show()
    if (left > 0) return
    clearInterval(timer)
    location.assign(link.href)
  }, 1_000)
  stay.addEventListener('click', () => {
    clearInterval(timer)
    line.remove()
    link.focus()
  })
  show()
}
