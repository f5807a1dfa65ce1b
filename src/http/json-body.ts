/** Reads a request body: strict UTF-8, strict JSON, and only text that PostgreSQL can hold. */
import { type FieldProblem, invalid } from '../core/errors.ts'
import { UnsupportedBody } from './errors.ts'
import { isRepeated, type SentHeaders } from './sent-once.ts'

/** Deeper nesting is nobody's data, and would cost everything that walks it recursively its stack. */
const DEPTH_MAX = 32
/** Everything that looks at a body costs by its values: 64 KiB hold 32,000 of them. The 16 kB of metadata hold 8,192. */
const VALUES_MAX = 9_000

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** A body beside the text it was read from. */
export interface JsonBody {
  readonly text: string
  readonly value: unknown
}

/**
 * What a request says of its body, where Fastify would not look. Of a body that is not there nothing is asked.
 *
 * @throws {UnsupportedBody}
 */
export function requireJsonHeaders(request: SentHeaders): void {
  const { headers } = request
  if (headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0') {
    delete headers['content-type']
    return
  }
  if (isRepeated(request, 'content-type'))
    throw new UnsupportedBody(
      'the header Content-Type was sent more than once; send it once, as application/json',
    )
  const encoding = headers['content-encoding'] ?? ''
  if (!encoding.split(',').every((each) => NO_ENCODINGS.includes(each.trim().toLowerCase())))
    throw new UnsupportedBody(
      `the body is said to be encoded as ${encoding.slice(0, 100)}; send it as it is, without the header Content-Encoding`,
    )
  for (const [, name = '', value = ''] of (headers['content-type'] ?? '').matchAll(PARAMETER))
    if (/^charset$/i.test(name) && !CHARSETS.includes(value.replace(/["'\s]/g, '').toLowerCase()))
      throw new UnsupportedBody(
        `the body is said to be in ${value.slice(0, 100)}; send it in UTF-8, with the header Content-Type: application/json`,
      )
}

/** Said of a body that was sent as it is, as often as its client likes. */
const NO_ENCODINGS = ['', 'identity']
/** One of a Content-Type. A quoted value may hold anything (RFC 9110, 5.6.6). */
const PARAMETER = /;\s*([^=;"\s]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)/g
/** ASCII is part of UTF-8, and that is the one of JSON where none is named (RFC 8259, 8.1). */
const CHARSETS = ['', 'utf-8', 'utf8', 'us-ascii', 'ascii']

/** @throws {Refusal} `invalid`: `malformed_json`, `nested_too_deep`, `too_many_values` or `invalid_text`. */
export function readJsonBody(bytes: Uint8Array): JsonBody {
  const text = decode(bytes)
  requireModest(text)
  const value = parse(text)
  // What the bytes cannot hold, only an escape can bring in.
  const problem = text.includes('\\u') ? findProblem(value) : null
  if (problem) throw invalid('invalid_text', `${problem.field}: ${problem.message}`, [problem])
  return { text, value }
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalid('malformed_json', 'the body is not valid UTF-8')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const where = error instanceof SyntaxError ? /at position \d+/.exec(error.message)?.[0] : undefined
    throw invalid('malformed_json', `the body is not valid JSON${where ? ` (${where})` : ''}`)
  }
}

const [QUOTE, BACKSLASH, COMMA] = ['"', '\\', ','].map((character) => character.charCodeAt(0))
const OPENING = ['[', '{'].map((character) => character.charCodeAt(0))
const CLOSING = [']', '}'].map((character) => character.charCodeAt(0))

/** One look at each character, before anything is made of them. Of what is no JSON it says nothing: the parser will. */
function requireModest(text: string): void {
  let depth = 0
  let values = 1
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isQuoted && code === BACKSLASH) at += 1
    else if (code === QUOTE) isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (code === COMMA) values += 1
    else if (code === OPENING[0] || code === OPENING[1]) {
      depth += 1
      values += 1
    } else if (code === CLOSING[0] || code === CLOSING[1]) depth -= 1
    if (depth > DEPTH_MAX) {
      throw invalid('nested_too_deep', `the body is nested more than ${DEPTH_MAX} levels deep`)
    }
    if (values > VALUES_MAX) {
      throw invalid('too_many_values', `the body holds more than ${VALUES_MAX} values`)
    }
  }
}

function findProblem(value: unknown, path = ''): FieldProblem | null {
  if (typeof value === 'string' && !isStorable(value)) return textProblem(path || 'body')
  if (typeof value !== 'object' || value === null) return null
  for (const [key, inner] of Object.entries(value)) {
    if (!isStorable(key)) return textProblem(path || 'body')
    const problem = findProblem(inner, path === '' ? key : `${path}.${key}`)
    if (problem) return problem
  }
  return null
}

/** Whether PostgreSQL can hold the text: no NUL character, no half of a surrogate pair. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

export const textProblem = (field: string): FieldProblem => ({
  field: field.toWellFormed().replaceAll('\0', '\uFFFD').slice(0, 200),
  message: 'holds a NUL character or half of a surrogate pair, which is not text; leave it out',
})
