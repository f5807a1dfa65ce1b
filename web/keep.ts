/** Kept by the browser beyond the page: in `localStorage` for other tabs as well. Some browsers keep nothing. */
type Place = 'localStorage' | 'sessionStorage'

/** @param value - Null forgets it. */
export function remember(place: Place, name: string, value: string | null): void {
  try {
    if (value === null) window[place].removeItem(name)
    else window[place].setItem(name, value)
  } catch {
    // A browser that keeps nothing.
  }
}

export function recall(place: Place, name: string): string | null {
  try {
    return window[place].getItem(name)
  } catch {
    return null
  }
}
