/**
 * Forms of the page are sent from here, so that none of them ends on a browser's own error page: while the gateway is away
 * what was typed stays, and is sent when it is back. All of them may be sent twice. One answer is waited for at a time: what is
 * typed and pressed meanwhile is sent after it.
 */
import { follow, hideOffline, readPage, refresh, showOffline } from './live.ts'
import { showContent, shownContent } from './replace.ts'

const AGAIN_MS = 1_500

export function keepForms(): void {
  document.addEventListener('submit', (event) => {
    const form = event.target
    if (!(form instanceof HTMLFormElement) || !form.closest('#content')) return
    event.preventDefault()
    if (form.ariaBusy === 'true') form.dataset.pressed = ''
    else {
      form.ariaBusy = 'true'
      send(form, event.submitter)
    }
  })
  // What stands behind an address was put there without loading it.
  addEventListener('popstate', () => location.reload())
}

async function send(form: HTMLFormElement, submitter: HTMLElement | null): Promise<void> {
  // News came meanwhile: what was asked for is no more to be asked.
  if (!form.isConnected) return
  const fields = new URLSearchParams([...new FormData(form, submitter)] as [string, string][])
  const url = new URL(form.action)
  const isGet = form.method === 'get'
  const shown = shownContent()
  if (isGet) url.search = String(fields)
  try {
    const answer = await fetch(url, isGet ? {} : { method: 'POST', body: fields })
    const page = await readPage(answer)
    const content = page.getElementById('content')
    if (!content) return location.assign(answer.url)
    const changed = keepTyped(form, fields, content)
    const isOvertaken = shownContent() !== shown
    hideOffline()
    if (answer.redirected || isGet) history.pushState(null, '', answer.url)
    showContent(content, page.title)
    follow()
    // News was shown meanwhile, and this answer may be from before it.
    if (isOvertaken) refresh()
    // Pressed again meanwhile: with the same in it nothing new is asked.
    if (changed && form.dataset.pressed === '') changed.requestSubmit()
  } catch {
    showOffline()
    setTimeout(send, AGAIN_MS, form, submitter)
    return
  }
  form.ariaBusy = null
}

/**
 * What was filled in while the answer was under way is not lost with the form that it replaces.
 *
 * @returns The form that takes its place, when something was.
 */
function keepTyped(
  form: HTMLFormElement,
  sent: URLSearchParams,
  content: HTMLElement,
): HTMLFormElement | null {
  const twin = [...content.querySelectorAll('form')].find(({ action }) => action === form.action)
  if (!twin) return null
  let changed = null
  for (const [name, value] of new FormData(form)) {
    const field = twin.elements.namedItem(name)
    if (value === sent.get(name) || !(field instanceof HTMLInputElement || field instanceof RadioNodeList))
      continue
    field.value = String(value)
    changed = twin
  }
  return changed
}
