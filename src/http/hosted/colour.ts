/** The merchant's colour, made readable: WCAG 2.2 contrast of at least 4.5 wherever text meets it. Runs in browsers too. */

type Rgb = readonly [number, number, number]

const CONTRAST_MIN = 4.5
/** The cards' own colours in web/style/ground.css. */
const LIGHT_CARD: Rgb = [255, 255, 255]
const DARK_CARD: Rgb = [23, 26, 33]
const DEFAULT: Rgb = [44, 82, 208]

const parse = (colour: string): Rgb | null => {
  const match = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour)
  const part = (i: number) => Number.parseInt(match?.[i] ?? '0', 16)
  return match ? [part(1), part(2), part(3)] : null
}

const show = (rgb: Rgb): string =>
  `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`

function luminance(rgb: Rgb): number {
  const linear = (part: number) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }
  const [r, g, b] = [linear(rgb[0]), linear(rgb[1]), linear(rgb[2])]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(a: Rgb, b: Rgb): number {
  const [x, y] = [luminance(a), luminance(b)]
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05)
}

function moveUntilReadable(colour: Rgb, ground: Rgb, towards: Rgb): Rgb {
  for (let share = 0; share <= 1; share += 0.05) {
    const part = (i: 0 | 1 | 2) => colour[i] + (towards[i] - colour[i]) * share
    const moved: Rgb = [part(0), part(1), part(2)]
    if (contrast(moved, ground) >= CONTRAST_MIN) return moved
  }
  return towards
}

export interface Accent {
  /** For surfaces such as buttons, and the text on them. */
  readonly light: { readonly fill: string; readonly on: string }
  readonly dark: { readonly fill: string; readonly on: string }
}

/** @param brand - `#rrggbb` of the account, or null for Beck's own. */
export function accentOf(brand: string | null): Accent {
  const colour = (brand && parse(brand)) || DEFAULT
  const black: Rgb = [0, 0, 0]
  const white: Rgb = [255, 255, 255]
  const on = (fill: Rgb) => (contrast(fill, white) >= CONTRAST_MIN ? white : black)
  const light = moveUntilReadable(colour, LIGHT_CARD, black)
  const dark = moveUntilReadable(colour, DARK_CARD, white)
  return {
    light: { fill: show(light), on: show(on(light)) },
    dark: { fill: show(dark), on: show(on(dark)) },
  }
}
