/** Ctrl-K, or a slash, leads to the search from everywhere. */
export function openPalette(): void {
  const field = document.querySelector<HTMLInputElement>('input[data-palette]')
  if (!field) return
  document.addEventListener('keydown', (event) => {
    const isPalette = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k'
    const isTyping =
      event.target instanceof HTMLElement &&
      event.target.matches('input, textarea, select, [contenteditable]')
    if (!isPalette && (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey))
      return
    event.preventDefault()
    field.focus()
    field.select()
  })
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') field.blur()
  })
}
