/** What a receipt gets from a script: paper, and the time of the visitor's clock. */

export function offerPrint(): void {
  const button = document.querySelector<HTMLButtonElement>('button[data-print]')
  if (!button?.hidden) return
  button.hidden = false
  button.addEventListener('click', () => print())
}

export function showLocalTimes(): void {
  const format = new Intl.DateTimeFormat(document.documentElement.lang, {
    dateStyle: 'medium',
    timeStyle: 'short',
  })
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[datetime]'))
    time.textContent = format.format(new Date(time.dateTime))
}
