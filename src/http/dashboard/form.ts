/** What a form of the dashboard sent: fields by name, some of them several times. */
import { readMultipart, readUrlEncoded } from '../form-fields.ts'
import { clean } from '../hosted/forms.ts'

/** Far above what any form of ours has: every scope, every event type. */
const FIELDS_MAX = 100

export interface Form {
  /** The first value, without control characters; empty when there is none. */
  get(name: string): string
  all(name: string): readonly string[]
  has(name: string): boolean
  readonly entries: readonly (readonly [string, string])[]
}

/** Passwords, what browsers answer for passkeys, and lines of payouts stay as they were sent. */
const VERBATIM = ['password', 'code', 'assertion', 'passkey', 'payouts']

/** What keeps its lines, and nothing else that one line would not. */
const OF_LINES = ['note']

export const readDashboardForm = (bytes: Buffer): Form =>
  formOf(readUrlEncoded(bytes, FIELDS_MAX).map(([name, value]) => [name, textOf(name, value)]))

/**
 * A form that brings a file: of it the bytes as base64, the way it is carried along when a confirmation is asked for; empty
 * when none was chosen.
 *
 * @param type - The header `Content-Type`, which says where a field ends.
 */
export async function readFileForm(type: string, bytes: Buffer): Promise<Form> {
  const entries: (readonly [string, string])[] = []
  for (const [name, value] of await readMultipart(type, bytes, FIELDS_MAX)) {
    const text = typeof value === 'string' ? textOf(name, value) : await base64Of(value)
    entries.push([clean(name), text])
  }
  return formOf(entries)
}

const base64Of = async (file: Blob): Promise<string> =>
  Buffer.from(await file.arrayBuffer()).toString('base64')

export const formOf = (entries: readonly (readonly [string, string])[]): Form => ({
  get: (name) => entries.find(([each]) => each === name)?.[1] ?? '',
  all: (name) => entries.filter(([each]) => each === name).map(([, value]) => value),
  has: (name) => entries.some(([each]) => each === name),
  entries,
})

export const EMPTY_FORM = formOf([])

function textOf(name: string, value: string): string {
  if (VERBATIM.includes(name)) return value.toWellFormed()
  return OF_LINES.includes(name)
    ? value
        .split(/\r\n?|\n/)
        .map(clean)
        .join('\n')
        .trim()
    : clean(value)
}
