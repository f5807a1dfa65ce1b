/** Amounts as people type them, in any language: strict, so that a slip never becomes another price. */
import type { Fiat } from '../../core/assets.ts'
import { FIAT_DECIMALS, parseDecimal } from '../../core/money.ts'

/** Zeros of the digits that keyboards write: Latin, Arabic, Persian, Devanagari, fullwidth. */
const ZEROS = [0x30, 0x660, 0x6f0, 0x966, 0xff10]

const latinDigit = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  const zero = ZEROS.find((first) => code >= first && code <= first + 9)
  return zero === undefined ? character : String(code - zero)
}

/**
 * Reads an amount of fiat, with or without the sign of its own currency. A separator before one or two last digits is the
 * decimal one in every language; groups of three need the language's own separator (or spaces), and the decimal one must then
 * be another.
 *
 * @param tag - Null where the reader's language is not known: then neither a point nor a comma groups.
 * @param currency - Null where any may be meant.
 * @returns Minor units, or null for anything that could be meant in two ways: `1,234` is refused in German.
 */
export function readAmount(text: string, tag: string | null, currency: Fiat | null): bigint | null {
  const signed = currency === null ? ANY_SIGN : SIGNED[currency]
  const plain = [...text.replace(signed, '').trim()]
    .map(latinDigit)
    .join('')
    .replaceAll('٫', '.')
    .replaceAll('٬', ',')
  const match = /^(\d{1,3}(?:([.,\s'’])\d{3}(?:\2\d{3})*)?|\d{1,12})(?:([.,])(\d{1,2}))?$/u.exec(plain)
  if (!match) return null
  const [, whole = '', group, point, fraction] = match
  if (group !== undefined && (group === point || !groupsOf(tag).includes(group))) return null
  const digits = whole.replace(/\D/g, '').replace(/^0+(?=\d)/, '')
  return parseDecimal(fraction === undefined ? digits : `${digits}.${fraction}`, FIAT_DECIMALS)
}

/** Before or behind the amount. */
const SIGNED: Readonly<Record<Fiat, RegExp>> = {
  USD: /^\s*(?:\$|USD)|(?:\$|USD)\s*$/i,
  EUR: /^\s*(?:€|EUR)|(?:€|EUR)\s*$/i,
  GBP: /^\s*(?:£|GBP)|(?:£|GBP)\s*$/i,
}
const ANY_SIGN = new RegExp(
  Object.values(SIGNED)
    .map(({ source }) => source)
    .join('|'),
  'i',
)

/** Spaces group in every language; points and commas only where they are the language's. */
function groupsOf(tag: string | null): string {
  const own =
    tag &&
    new Intl.NumberFormat(`${tag}-u-nu-latn`, { useGrouping: 'always' })
      .formatToParts(1_000_000)
      .find(({ type }) => type === 'group')?.value
  return ` \u00a0\u202f'’${own || ''}`
}
