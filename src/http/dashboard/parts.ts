/** Pieces that the dashboard's pages are made of. */
import { ASSETS, type Asset, FIAT_CURRENCIES } from '../../core/assets.ts'
import { formatCoins } from '../../core/money.ts'
import { type Html, html, type Part } from '../hosted/html.ts'
import { type Fault, faultOf } from './form-problem.ts'
import type { Call } from './row.ts'

export { formProblem, notice, sentence } from './form-problem.ts'

export const ASSET_CHOICES = ASSETS.map((asset) => [asset, asset] as const)
export const FIAT_CHOICES = FIAT_CURRENCIES.map((currency) => [currency, currency] as const)

/** An id, address or hash, whole, with a button that copies it. */
export const copyable = (text: string, label = 'Copy'): Html =>
  html`<span class="copyable"><code>${text}</code><button type="button" class="copy" data-copy="${text}" aria-label="${label}: ${text}" hidden>Copy</button></span>`

export const facts = (rows: readonly (readonly [string, Part])[]): Html =>
  html`<dl class="facts">${rows.map(
    ([label, value]) =>
      value !== null &&
      value !== undefined &&
      value !== false &&
      value !== '' &&
      html`<div><dt>${label}</dt><dd>${value}</dd></div>`,
  )}</dl>`

export const card = (title: string, content: Part, aside: Part = null): Html =>
  html`<section class="card"><header><h2>${title}</h2>${aside}</header>${content}</section>`

/** What to do where there is nothing yet. */
export const empty = (title: string, text: Part, action: Part = null): Html =>
  html`<div class="empty"><p class="title">${title}</p><p>${text}</p>${action}</div>`

export interface Column<Row> {
  readonly label: string
  /** In the URL of a list: a column that may be left out. Without one it always shows, such as the one that leads to the entry. */
  readonly name?: string
  /** Shows only where it is asked for. */
  readonly isExtra?: boolean
  readonly cell: (row: Row) => Part
  /** Right-aligned figures. */
  readonly isFigure?: boolean
  /** Of text that somebody chose, however long: its beginning, in three lines, so that the columns and rows after it are seen. */
  readonly isNarrow?: boolean
  /** Left out on a phone. */
  readonly isMinor?: boolean
  /** What the list is sorted by here. */
  readonly sort?: string
}

/** An amount in the coin of each row. */
export const coinsColumn = <Row extends { readonly asset: Asset }>(
  label: string,
  atomsOf: (row: Row) => bigint,
  more: Pick<Column<Row>, 'name' | 'isMinor' | 'isExtra'> = {},
): Column<Row> => ({
  label,
  isFigure: true,
  ...more,
  cell: (row) => formatCoins(atomsOf(row), row.asset),
})

/** Pages that belong together, above each of them. */
export const tabs = (
  label: string,
  base: string,
  current: string,
  pages: readonly (readonly [path: string, label: string])[],
): Html =>
  html`<nav class="views" aria-label="${label}">${pages.map(([path, name]) => html`<a href="${base}/${path}"${path === current && html` aria-current="page"`}>${name}</a>`)}</nav>`

/** @param caption - What a screen reader calls it. */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  heading: (column: Column<Row>) => Part = (column) => column.label,
): Html {
  const classOf = (column: Column<Row>) =>
    [column.isFigure && 'figure', column.isNarrow && 'narrow', column.isMinor && 'minor']
      .filter(Boolean)
      .join(' ')
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table><caption class="hidden">${caption}</caption>
<thead><tr>${columns.map((column) => html`<th scope="col" class="${classOf(column)}">${column.label ? heading(column) : html`<span class="hidden">Actions</span>`}</th>`)}</tr></thead>
<tbody>${rows.map(
    (row) =>
      html`<tr>${columns.map((column) => html`<td class="${classOf(column)}" data-label="${column.label}">${column.isNarrow ? html`<div>${column.cell(row)}</div>` : column.cell(row)}</td>`)}</tr>`,
  )}</tbody></table></div>`
}

// Forms.

export interface Field {
  readonly name: string
  readonly label: string
  readonly type?: 'text' | 'email' | 'password' | 'url' | 'number' | 'date' | 'color' | 'file'
  readonly value?: string | number | null
  readonly hint?: Part
  readonly required?: boolean
  readonly autocomplete?: string
  readonly inputmode?: 'numeric' | 'decimal'
  readonly maxlength?: number
  readonly placeholder?: string
  /** Types of files, as browsers know them. */
  readonly accept?: string
  readonly list?: string
  readonly isFocused?: boolean
  /** Between what the field holds and its end: `BTC`. */
  readonly unit?: string
}

/** What was typed before the form was refused, or else what it begins with. */
const typed = (call: Pick<Call, 'form'>, name: string, value: string | number | null | undefined): string =>
  call.form.has(name) ? call.form.get(name) : String(value ?? '')

/** What a screen reader hears of a control beside its label, and whether the keyboard begins there. */
const stateOf = (name: string, hint: Part, fault: Fault | null): Html => {
  const ids = [hint ? `${name}-hint` : '', fault ? `${name}-problem` : ''].filter(Boolean).join(' ')
  return html`${fault && html` aria-invalid="true"`}${fault?.isFirst && html` autofocus`}${ids !== '' && html` aria-describedby="${ids}"`}`
}

const hintOf = (name: string, hint: Part): Part => hint && html`<p class="hint" id="${name}-hint">${hint}</p>`

const problemOf = (name: string, fault: Fault | null): Part =>
  fault && html`<p class="problem" id="${name}-problem">${fault.message}</p>`

const around = (name: string, label: string, control: Part, hint: Part, fault: Fault | null): Html =>
  html`<div class="field"><label for="${name}">${label}</label>${control}${hintOf(name, hint)}${problemOf(name, fault)}</div>`

export function field(call: Pick<Call, 'form' | 'problem'>, given: Field): Html {
  const fault = faultOf(call, given.name, given.label)
  // Browsers fill in no file, and nobody else's password.
  const value = given.type === 'password' || given.type === 'file' ? '' : typed(call, given.name, given.value)
  // After a refusal the keyboard is where the trouble is.
  const isFocused = given.isFocused && !call.problem?.refusal.details.length
  const input = html`<input id="${given.name}" name="${given.name}" type="${given.type ?? 'text'}" value="${value}"${given.required && html` required`}${given.autocomplete && html` autocomplete="${given.autocomplete}"`}${given.inputmode && html` inputmode="${given.inputmode}"`}${given.maxlength && html` maxlength="${given.maxlength}"`}${given.accept && html` accept="${given.accept}"`}${given.placeholder && html` placeholder="${given.placeholder}"`}${isFocused && html` autofocus`}${given.type === 'number' && html` step="any"`}${stateOf(given.name, given.hint, fault)}>`
  return around(
    given.name,
    given.label,
    given.unit ? html`<span class="unit">${input}<span>${given.unit}</span></span>` : input,
    given.hint,
    fault,
  )
}

export function select(
  call: Pick<Call, 'form' | 'problem'>,
  given: {
    readonly name: string
    readonly label: string
    readonly choices: readonly (readonly [string, string])[]
    readonly value?: string | null
    readonly hint?: Part
  },
): Html {
  const value = typed(call, given.name, given.value)
  const fault = faultOf(call, given.name, given.label)
  const control = html`<select id="${given.name}" name="${given.name}"${stateOf(given.name, given.hint, fault)}>${given.choices.map(
    ([choice, label]) =>
      html`<option value="${choice}"${choice === value && html` selected`}>${label}</option>`,
  )}</select>`
  return around(given.name, given.label, control, given.hint, fault)
}

/** Several lines of text. */
export function textarea(
  call: Pick<Call, 'form' | 'problem'>,
  given: {
    readonly name: string
    readonly label: string
    readonly value: string
    readonly rows: number
    readonly hint?: Part
    readonly required?: boolean
    readonly maxlength?: number
    readonly placeholder?: string
    readonly isVerbatim?: boolean
  },
): Html {
  const fault = faultOf(call, given.name, given.label)
  const control = html`<textarea id="${given.name}" name="${given.name}" rows="${given.rows}"${given.required && html` required`}${given.maxlength && html` maxlength="${given.maxlength}"`}${given.placeholder && html` placeholder="${given.placeholder}"`}${given.isVerbatim && html` spellcheck="false" autocomplete="off"`}${stateOf(given.name, given.hint, fault)}>${given.value}</textarea>`
  return around(given.name, given.label, control, given.hint, fault)
}

export function checks(
  call: Pick<Call, 'form' | 'problem'>,
  given: {
    readonly name: string
    readonly legend: string
    readonly choices: readonly (readonly [string, Part])[]
    readonly checked?: readonly string[]
    readonly hint?: Part
  },
): Html {
  const { name, legend, hint } = given
  const fault = faultOf(call, name, legend)
  // A browser sends no box that is off: this says that they were asked about, and not in another form of the page.
  const asked = `${name}-asked`
  const on = call.form.has(asked) ? call.form.all(name) : given.checked
  const isOn = (choice: string) => on?.includes(choice)
  const box = (choice: string, label: Part, place: number) =>
    html`<label><input type="checkbox" name="${name}" value="${choice}"${isOn(choice) && html` checked`}${place === 0 && stateOf(name, hint, fault)}> <span>${label}</span></label>`
  return html`<fieldset class="checks" id="${name}"><legend>${legend}</legend>${hidden(asked, 'yes')}${hintOf(name, hint)}<div>${given.choices.map(([choice, label], place) => box(choice, label, place))}</div>${problemOf(name, fault)}</fieldset>`
}

export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`

/** One button that changes something. */
export const button = (
  action: string,
  label: string,
  options: {
    readonly fields?: Readonly<Record<string, string>>
    readonly tone?: 'primary' | 'danger' | 'plain'
    readonly name?: string
  } = {},
): Html =>
  html`<form method="post" action="${action}" class="inline">${Object.entries(options.fields ?? {}).map(([name, value]) => hidden(name, value))}<button type="submit" class="${options.tone ?? 'plain'}"${options.name && html` aria-label="${options.name}"`}>${label}</button></form>`

export const submit = (
  label: string,
  tone: 'primary' | 'danger' = 'primary',
  back: string | null = null,
): Html =>
  html`<div class="actions"><button type="submit" class="${tone}">${label}</button>${back !== null && html`<a class="button plain" href="${back}">Cancel</a>`}</div>`
