/** What would arrive, beside the form of a withdrawal, as soon as it says enough to tell. */

const PAUSE_MS = 400

export function quoteAsTyped(): void {
  const form = document.querySelector<HTMLFormElement>('form[data-quote]')
  const place = form?.querySelector<HTMLElement>('[data-quoted]')
  if (!form || !place) return
  let pause: ReturnType<typeof setTimeout> | undefined
  let newest = 0
  const ask = async () => {
    const asked = ++newest
    const body = new URLSearchParams()
    for (const [name, value] of new FormData(form)) body.set(name, String(value))
    const answer = await fetch(form.dataset.quote ?? '', { method: 'POST', body }).catch(() => null)
    // A quote, or why there is none; of other trouble the form tells once it is sent.
    const text = answer?.headers.get('content-type')?.startsWith('text/plain') ? await answer.text() : ''
    // What was typed meanwhile is asked for already.
    if (asked === newest) place.textContent = text
  }
  form.addEventListener('input', () => {
    clearTimeout(pause)
    place.textContent = ''
    newest += 1
    if (form.checkValidity()) pause = setTimeout(ask, PAUSE_MS)
  })
}
