/** The checkout in small, beside the form that sets its name and colour, follows what is typed. */
import { accentOf } from '../../src/http/hosted/colour.ts'

/** Empty for Beck's own. */
const COLOUR = /^(#[0-9a-f]{6})?$/i

export function showBrand(): void {
  const preview = document.querySelector<HTMLElement>('[data-preview]')
  const name = preview?.querySelector<HTMLElement>('[data-preview-name]')
  if (!preview || !name) return
  document.getElementById('brand_name')?.addEventListener('input', ({ target }) => {
    if (target instanceof HTMLInputElement)
      name.textContent = target.value || (name.dataset.previewName ?? '')
  })
  document.getElementById('brand_color')?.addEventListener('input', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !COLOUR.test(target.value)) return
    const accent = accentOf(target.value || null)
    const { fill, on } = matchMedia('(prefers-color-scheme: dark)').matches ? accent.dark : accent.light
    preview.style.setProperty('--accent', fill)
    preview.style.setProperty('--on-accent', on)
  })
}
