/**
 * Forms of the page are sent from here, so that none of them ends on a browser's own error page: while the gateway is away
 * what was typed stays, and is sent when it is back. All of them may be sent twice.
 */
import { follow, hideOffline, readPage, showOffline } from './live.ts'
import { showContent } from './replace.ts'

const AGAIN_MS = 1_500

export function keepForms(): void {
  document.addEventListener('submit', (event) => {
    const form = event.target
    if (!(form instanceof HTMLFormElement) || !form.closest('#content')) return
    event.preventDefault()
    if (form.ariaBusy === 'true') return
    form.ariaBusy = 'true'
    send(form, event.submitter)
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
  if (isGet) url.search = String(fields)
  try {
    const answer = await fetch(url, isGet ? {} : { method: 'POST', body: fields })
    const page = await readPage(answer)
    const content = page.getElementById('content')
    if (!content) return location.assign(answer.url)
    hideOffline()
    if (answer.redirected || isGet) history.pushState(null, '', answer.url)
    showContent(content, page.title)
    follow()
  } catch {
    showOffline()
    setTimeout(send, AGAIN_MS, form, submitter)
    return
  }
  form.ariaBusy = null
}
