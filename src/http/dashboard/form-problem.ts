/** Why a form was refused, told in one place of the page that is drawn again, with a way to each field at fault. */
import type { Refusal } from '../../core/errors.ts'
import { type Html, html, type Part, trusted } from '../hosted/html.ts'

export interface FormProblem {
  readonly refusal: Refusal
  /** Fields at fault that stand on the page, with their labels: each puts itself here when it is drawn. */
  readonly drawn: Map<string, string>
}

export interface Fault {
  readonly message: string
  /** The keyboard goes to the first one. */
  readonly isFirst: boolean
}

/** What is wrong with a field that is being drawn; null for nothing. */
export function faultOf(
  { problem }: { readonly problem: FormProblem | null },
  name: string,
  label: string,
): Fault | null {
  const detail = problem?.refusal.details.find(({ field }) => field === name)
  if (!problem || !detail) return null
  const isFirst = problem.drawn.size === 0
  problem.drawn.set(name, label)
  return { message: inWords(detail.message, name, label), isFirst }
}

/** Messages call a field as programs do; its label takes the name's place. */
export const inWords = (message: string, name: string, label: string): string =>
  message.startsWith(`${name} `) && label.toLowerCase() !== name
    ? `“${label}”${message.slice(name.length)}`
    : message

/** Messages begin small, for logs; on a page they are sentences. */
export const sentence = (message: string): string => {
  const text = begun(message)
  return /[.!?]$/.test(text) ? text : `${text}.`
}

const begun = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export const notice = (tone: 'good' | 'wait' | 'bad' | 'info', content: Part): Html =>
  html`<div class="notice ${tone}"${tone === 'bad' && html` role="alert"`}>${content}</div>`

/** Nobody's text has it: that is escaped. */
const PLACE = trusted('<!-- why it was refused -->')

/** Where a page tells it. The fields below are drawn later, so {@link withProblem} writes it. */
export const formProblem = ({ problem }: { readonly problem: FormProblem | null }): Html | null =>
  problem && PLACE

/** The page with all of it: at its place, or above everything. */
export function withProblem(problem: FormProblem, content: Part): Html {
  const { markup } = html`${content}`
  const isFocused = /<(?:input|select|textarea)[^>]* autofocus/.test(markup)
  const told = html`<div class="notice bad" role="alert"${!isFocused && html` tabindex="-1" autofocus`}>${wordsOf(problem)}</div>`
  return trusted(
    markup.includes(PLACE.markup) ? markup.replace(PLACE.markup, () => told.markup) : told.markup + markup,
  )
}

function wordsOf({ refusal: { message, details }, drawn }: FormProblem): Part {
  if (details.length === 0) return html`<p>${sentence(message)}</p>`
  const line = (name: string, text: string) => {
    const label = drawn.get(name)
    const rest = text.startsWith(`${name} `) ? text.slice(name.length + 1) : text
    return label === undefined
      ? `${begun(name.replaceAll('_', ' '))}: ${rest}`
      : html`<a href="#${name}">${label}</a>: ${rest}`
  }
  return html`<p>Nothing was done yet: something needs another look.</p><ul>${details.map(({ field, message: text }) => html`<li>${line(field, text)}</li>`)}</ul>`
}
