/** The buyer's language, and numbers and times as it writes them. */
import type { Fiat } from '../../core/assets.ts'
import { fiatToNumber } from '../../core/money.ts'
import { ar } from './languages/ar.ts'
import { CONFIRMATIONS } from './languages/confirmations.ts'
import { de } from './languages/de.ts'
import { en, type Words } from './languages/en.ts'
import { es } from './languages/es.ts'
import { fr } from './languages/fr.ts'
import { ja } from './languages/ja.ts'
import { pt } from './languages/pt.ts'
import { zh } from './languages/zh.ts'

export interface Language {
  readonly tag: string
  /** What its speakers call it. */
  readonly name: string
  readonly direction: 'ltr' | 'rtl'
  readonly words: Words
}

const language = (tag: string, name: string, words: Words, direction: 'ltr' | 'rtl' = 'ltr'): Language => ({
  tag,
  name,
  direction,
  words,
})

const ENGLISH = language('en', 'English', en)

export const LANGUAGES: readonly Language[] = [
  ENGLISH,
  language('de', 'Deutsch', de),
  language('fr', 'Français', fr),
  language('es', 'Español', es),
  language('pt', 'Português', pt),
  language('ja', '日本語', ja),
  language('zh', '中文', zh),
  language('ar', 'العربية', ar, 'rtl'),
]

const known = (tag: string): Language | undefined => {
  const base = tag.toLowerCase().split('-')[0]
  return LANGUAGES.find((candidate) => candidate.tag === base)
}

/**
 * @param chosen - `?lang=`, which wins.
 * @param accepted - `Accept-Language`: the best of its languages that there is, else English.
 */
export function pickLanguage(chosen: string | undefined, accepted: string | undefined): Language {
  const wish = chosen && known(chosen)
  if (wish) return wish
  const ranges = (accepted ?? '')
    .slice(0, 500)
    .split(',')
    .map((range) => {
      const [tag = '', ...parameters] = range.split(';').map((each) => each.trim())
      const quality = parameters.find((each) => each.startsWith('q='))?.slice(2)
      return { tag, quality: quality === undefined ? 1 : Number(quality) || 0 }
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
  for (const { tag } of ranges) {
    const found = known(tag)
    if (found) return found
  }
  return ENGLISH
}

/** Makes each thing once: a formatter costs far more to make than to use. */
export const memo = <Value>(make: (key: string) => Value) => {
  const made = new Map<string, Value>()
  return (key: string): Value => {
    const value = made.get(key) ?? make(key)
    made.set(key, value)
    return value
  }
}

const fiatFormat = memo((key) => {
  const [tag, currency] = key.split(' ')
  return new Intl.NumberFormat(tag, { style: 'currency', currency: currency ?? 'USD' })
})
/** Latin digits in every language, so that what is read can be compared with a wallet; no grouping, nothing rounded. */
const coinFormat = memo(
  (tag) => new Intl.NumberFormat(`${tag}-u-nu-latn`, { maximumFractionDigits: 18, useGrouping: false }),
)
const countFormat = memo((tag) => new Intl.NumberFormat(tag))
const minuteFormat = memo(
  (tag) => new Intl.NumberFormat(tag, { style: 'unit', unit: 'minute', unitDisplay: 'long' }),
)
const dateFormat = memo(
  (tag) => new Intl.DateTimeFormat(tag, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }),
)

/** In right-to-left text the currency stands for itself: `US$` would be torn into `$US`. */
export const showFiat = ({ tag, direction }: Language, minor: bigint, currency: Fiat): string =>
  fiatFormat(`${tag} ${currency}`)
    .formatToParts(fiatToNumber(minor))
    .map(({ type, value }) => (direction === 'rtl' && type === 'currency' ? `\u2066${value}\u2069` : value))
    .join('')

/** @param amount - A decimal, shown digit for digit. */
export const showCoin = ({ tag }: Language, amount: string): string =>
  // Strings are formatted exactly, not as floats (ECMA-402 2023).
  coinFormat(tag).format(amount as `${number}`)

/** Between the whole and its parts. */
export const decimalMark = ({ tag }: Language): string =>
  countFormat(tag)
    .formatToParts(1.5)
    .find(({ type }) => type === 'decimal')?.value ?? '.'

export const showCount = ({ tag }: Language, count: number): string => countFormat(tag).format(count)

const pluralRules = memo((tag) => new Intl.PluralRules(tag))

/** `{n} of 6 confirmations`: what is left to fill in changes with each block. */
export function confirmationsOf({ tag }: Language, required: number): string {
  const forms = CONFIRMATIONS[tag] ?? CONFIRMATIONS.en
  const form = forms?.[pluralRules(tag).select(required)] ?? forms?.other ?? ''
  return form.replace('{m}', countFormat(tag).format(required))
}

export const showMinutes = ({ tag }: Language, minutes: number): string => minuteFormat(tag).format(minutes)

export const showTime = ({ tag }: Language, instant: Date): string => `${dateFormat(tag).format(instant)} UTC`
