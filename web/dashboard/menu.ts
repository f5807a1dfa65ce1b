/** On a phone: Escape closes the menu, and leaves the keyboard on its button. */
export function closeMenuByKey(): void {
  const menu = document.querySelector<HTMLDetailsElement>('details.menu-toggle')
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu?.open) return
    menu.open = false
    menu.querySelector('summary')?.focus()
  })
}
