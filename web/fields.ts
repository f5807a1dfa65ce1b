/** Whether somebody filled in a form: what he typed, picked or ticked would be lost with the page. */

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

const FIELDS = 'input:not([type=hidden]), textarea, select'

/** Whether a field in there is another than it was drawn, or the keyboard is in one. */
export const isFilledIn = (place: ParentNode): boolean =>
  [...place.querySelectorAll<Field>(FIELDS)].some(
    (field) => field === document.activeElement || isChanged(field),
  )

function isChanged(field: Field): boolean {
  if (field instanceof HTMLSelectElement) return isPicked(field)
  if (field.value !== field.defaultValue) return true
  return field instanceof HTMLInputElement && field.checked !== field.defaultChecked
}

function isPicked({ options, multiple }: HTMLSelectElement): boolean {
  const drawn = [...options]
  // Of a list in which none is marked a browser shows the first.
  const isMarked = multiple || drawn.some(({ defaultSelected }) => defaultSelected)
  return drawn.some(
    ({ selected, defaultSelected }, place) => selected !== (isMarked ? defaultSelected : place === 0),
  )
}
