/** Buttons that copy an id, an address, a hash or a key, and say so. */
const CONFIRMED_MS = 2_000

export const announce = (text: string): void => {
  const place = document.getElementById('announcement')
  if (place) place.textContent = text
}

export function offerCopies(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
    button.hidden = false
    const said = button.textContent
    let back: ReturnType<typeof setTimeout> | undefined
    button.addEventListener('click', async () => {
      const done = await navigator.clipboard.writeText(button.dataset.copy ?? '').then(
        () => true,
        () => false,
      )
      clearTimeout(back)
      button.textContent = done ? 'Copied' : 'Select it'
      button.classList.toggle('done', done)
      announce(done ? 'Copied' : 'Copying is not permitted; select the text instead')
      back = setTimeout(() => {
        button.textContent = said
        button.classList.remove('done')
      }, CONFIRMED_MS)
    })
  }
}
