/** Reads a request body: strict UTF-8, strict JSON, and only text that PostgreSQL can hold. */
import { type FieldProblem, Refusal } from '../core/errors.ts'

/** Deeper nesting is nobody's data, and would cost everything that walks it recursively its stack. */
const DEPTH_MAX = 32

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** A body beside the text it was read from. */
export interface JsonBody {
  readonly text: string
  readonly value: unknown
}

/** @throws {Refusal} `invalid`: `malformed_json`, `nested_too_deep` or `invalid_text`. */
export function readJsonBody(bytes: Uint8Array): JsonBody {
  const text = decode(bytes)
  const value = parse(text)
  const problem = findProblem(value)
  if (problem) throw new Refusal('invalid', 'invalid_text', `${problem.field}: ${problem.message}`, [problem])
  return { text, value }
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new Refusal('invalid', 'malformed_json', 'the body is not valid UTF-8')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const where = error instanceof SyntaxError ? /at position \d+/.exec(error.message)?.[0] : undefined
    throw new Refusal('invalid', 'malformed_json', `the body is not valid JSON${where ? ` (${where})` : ''}`)
  }
}

/** Walks without recursion, so that no nesting of the body can cost us the stack. */
function findProblem(root: unknown): FieldProblem | null {
  const open: { value: unknown; path: string; depth: number }[] = [{ value: root, path: '', depth: 0 }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, path, depth } = next
    if (typeof value === 'string' && !isStorable(value)) return textProblem(path || 'body')
    if (typeof value !== 'object' || value === null) continue
    if (depth >= DEPTH_MAX) {
      throw new Refusal('invalid', 'nested_too_deep', `the body is nested more than ${DEPTH_MAX} levels deep`)
    }
    for (const [key, inner] of Object.entries(value)) {
      const inside = path === '' ? key : `${path}.${key}`
      if (!isStorable(key)) return textProblem(path || 'body')
      open.push({ value: inner, path: inside, depth: depth + 1 })
    }
  }
  return null
}

/** Whether PostgreSQL can hold the text: no NUL character, no half of a surrogate pair. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

export const textProblem = (field: string): FieldProblem => ({
  field: field.toWellFormed().replaceAll('\0', '\uFFFD').slice(0, 200),
  message: 'holds a NUL character or half of a surrogate pair, which is not text; leave it out',
})
