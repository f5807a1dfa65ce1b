/** Templates of the hosted pages: every value that is not itself a template is escaped, in text and in attributes. */

/** Markup that is safe to send. Only {@link html} and {@link trusted} make it. */
export class Html {
  readonly markup: string
  constructor(markup: string) {
    this.markup = markup
  }
}

export type Part = Html | string | number | bigint | null | undefined | false | readonly Part[]

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escapeText = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')

function write(part: Part): string {
  if (part === null || part === undefined || part === false) return ''
  if (part instanceof Html) return part.markup
  if (typeof part === 'string') return escapeText(part)
  if (typeof part === 'number' || typeof part === 'bigint') return String(part)
  return part.map(write).join('')
}

/** Attributes must be quoted in templates; URLs must have passed `parseRedirectUrl` or be ours. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.reduce((text, string, i) => text + write(parts[i - 1]) + string))

/** Markup of our own making that holds nothing of anybody else's. */
export const trusted = (markup: string): Html => new Html(markup)

/** Puts values into the `{names}` of a sentence. */
export const fill = (sentence: string, values: Readonly<Record<string, Part>>): Part =>
  sentence.split(/\{(\w+)\}/).map((piece, i) => (i % 2 === 0 ? piece : values[piece]))

/** The same as plain text, for titles and labels. */
export const fillText = (sentence: string, values: Readonly<Record<string, string | number>>): string =>
  sentence.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
