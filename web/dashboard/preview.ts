/** The checkout in small, beside the form that sets its name and colour, follows what is typed. */

/** What is readable on a colour, by how light people see it. */
const inkOn = (colour: string): string => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
  return red * 0.299 + green * 0.587 + blue * 0.114 > 150 ? '#000' : '#fff'
}

export function showBrand(): void {
  const preview = document.querySelector<HTMLElement>('[data-preview]')
  const name = preview?.querySelector<HTMLElement>('[data-preview-name]')
  if (!preview || !name) return
  document.getElementById('brand_name')?.addEventListener('input', ({ target }) => {
    if (target instanceof HTMLInputElement)
      name.textContent = target.value || (name.dataset.previewName ?? '')
  })
  document.getElementById('brand_color')?.addEventListener('input', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !/^#[0-9a-f]{6}$/i.test(target.value)) return
    preview.style.setProperty('--accent', target.value)
    preview.style.setProperty('--on-accent', inkOn(target.value))
  })
}
