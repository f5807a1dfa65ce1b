/** The keys of a counter: for a thumb. Without a script the phone shows its own. */

function offerKeys(): void {
  const keys = document.querySelector<HTMLElement>('[data-keys][hidden]')
  const field = document.querySelector<HTMLInputElement>('.till #amount')
  if (!keys || !field) return
  keys.hidden = false
  // Two keyboards would cover each other; one that is plugged in still types.
  field.inputMode = 'none'
  keys.addEventListener('click', ({ target }) => {
    const key = target instanceof HTMLElement ? target.dataset.key : undefined
    if (key === undefined) return
    field.value = key === '' ? field.value.slice(0, -1) : (field.value + key).slice(0, field.maxLength)
  })
}

offerKeys()
document.addEventListener('beck:content', offerKeys)
