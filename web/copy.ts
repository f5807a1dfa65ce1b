/** Buttons that copy the exact amount and the address, and confirm it. */
import { announce } from './announce.ts'

const CONFIRMED_MS = 2_000

export function offerCopies(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy][hidden]')) {
    button.hidden = false
    const said = button.textContent
    let back: ReturnType<typeof setTimeout> | undefined
    button.addEventListener('click', async () => {
      const { copy = '', copied = '' } = button.dataset
      if (!(await copyText(copy))) return
      clearTimeout(back)
      button.classList.add('done')
      button.textContent = copied
      announce(copied)
      back = setTimeout(() => {
        button.classList.remove('done')
        button.textContent = said
      }, CONFIRMED_MS)
    })
  }
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Without https, or in a frame that may not: the old way, through a selection.
    const field = document.createElement('textarea')
    field.value = text
    field.readOnly = true
    field.style.position = 'fixed'
    field.style.opacity = '0'
    const focused = document.activeElement
    document.body.append(field)
    field.select()
    const done = document.execCommand('copy')
    field.remove()
    if (focused instanceof HTMLElement) focused.focus()
    return done
  }
}
