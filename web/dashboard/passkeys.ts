/** Passkeys: the browser's own words (WebAuthn), carried back to the server in a field of a form. */

interface AsJson {
  toJSON(): unknown
}

export function offerPasskeys(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>(
    'form[data-passkey], form[data-passkey-from]',
  )) {
    onSend(form, form, async () => {
      const options = form.dataset.passkey
        ? JSON.parse(form.dataset.passkey)
        : await ask(form.dataset.passkeyFrom, form)
      return navigator.credentials.get({
        publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
      })
    })
  }
  for (const place of document.querySelectorAll<HTMLElement>('[data-create-from]')) {
    const form = place.closest('form')
    if (!form) continue
    onSend(form, place, async () => {
      const options = await ask(place.dataset.createFrom, form)
      return navigator.credentials.create({
        publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
      })
    })
  }
}

/** @param place - Whose button asks for the passkey; the form around it may have another button. */
function onSend(form: HTMLFormElement, place: HTMLElement, get: () => Promise<Credential | null>): void {
  const problem = place.querySelector<HTMLElement>('.problem')
  const field = form.elements.namedItem(place.dataset.field ?? '')
  if (!(field instanceof HTMLInputElement)) return
  // A page that comes back brings what was sent with it: good once, and asked for anew.
  addEventListener('pageshow', () => {
    field.value = ''
  })
  form.addEventListener('submit', async (event) => {
    if (field.value || (event.submitter && !place.contains(event.submitter))) return
    event.preventDefault()
    if (problem) problem.hidden = true
    if (!hasWhatItNeeds(form)) return
    try {
      const credential = (await get()) as (Credential & AsJson) | null
      field.value = JSON.stringify(credential?.toJSON())
      // Which is no event that anybody hears.
      for (const button of form.querySelectorAll('button')) button.disabled = true
      form.submit()
    } catch (error) {
      if (!problem) return
      problem.textContent =
        error instanceof DOMException && error.name === 'InvalidStateError'
          ? 'This device has a passkey for you already.'
          : 'That did not work. Try again, or use another way.'
      problem.hidden = false
    }
  })
}

/** Of the fields that are asked for beside the passkey; the password is not one of them. */
function hasWhatItNeeds(form: HTMLFormElement): boolean {
  for (const input of form.querySelectorAll<HTMLInputElement>('input[required]:not([type=password])')) {
    if (!input.reportValidity()) return false
  }
  return true
}

async function ask(
  path: string | undefined,
  form: HTMLFormElement,
): Promise<PublicKeyCredentialRequestOptionsJSON & PublicKeyCredentialCreationOptionsJSON> {
  const body = new URLSearchParams()
  for (const name of ['name', 'email']) {
    const field = form.elements.namedItem(name)
    if (field instanceof HTMLInputElement) body.set(name, field.value)
  }
  const answer = await fetch(path ?? '', { method: 'POST', body })
  if (!answer.ok) throw new Error(`${answer.status}`)
  if (answer.headers.get('content-type')?.startsWith('application/json')) return answer.json()
  // A page instead: somebody is to sign in or confirm first, and is asked to when this one loads again.
  location.reload()
  return new Promise(() => {})
}
