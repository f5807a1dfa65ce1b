/** Says in words, field by field, why a value does not fit its schema: what was got and what is expected. */
import type { FieldProblem } from '../core/errors.ts'

/** What the validator (Ajv) reports; `data` is the value that did not fit. */
export interface SchemaProblem {
  readonly keyword: string
  readonly instancePath: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
  readonly data?: unknown
}

const WHERE: Readonly<Record<string, string>> = {
  body: 'the body',
  querystring: 'the query',
  params: 'the path',
}

/** One problem per field, in the order of the validator: a field of the wrong type is not also too short. */
export function schemaProblems(part: string, problems: readonly SchemaProblem[]): FieldProblem[] {
  const found = new Map<string, FieldProblem>()
  for (const problem of problems) {
    const field = fieldOf(problem) || part
    if (!found.has(field)) found.set(field, { field, message: describe(problem, WHERE[part] ?? part) })
  }
  return [...found.values()].slice(0, 20)
}

/** `/events/0` and a missing `url` become `events.0` and `url`. */
function fieldOf(problem: SchemaProblem): string {
  const path = problem.instancePath
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const named = problem.params.missingProperty ?? problem.params.additionalProperty
  return [...path, ...(typeof named === 'string' ? [named] : [])].filter((step) => step !== '').join('.')
}

function describe(problem: SchemaProblem, where: string): string {
  const { params } = problem
  switch (problem.keyword) {
    case 'required':
      return 'is required and missing'
    case 'additionalProperties':
      return `is not a field of ${where}; check its spelling or leave it out`
    case 'type':
      return `must be ${listed(params.type)}, got ${shown(problem.data)}`
    case 'enum':
      return `must be one of ${listed(params.allowedValues)}, got ${shown(problem.data)}`
    case 'maxLength':
      return `must have at most ${params.limit} characters, got ${[...String(problem.data)].length}`
    case 'minLength':
      return `must have at least ${params.limit} characters, got ${[...String(problem.data)].length}`
    case 'minItems':
      return `must hold at least ${params.limit}, got none`
    case 'maxItems':
      return `must hold at most ${params.limit}`
    case 'uniqueItems':
      return 'must not hold the same value twice'
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return `must be ${params.comparison} ${params.limit}, got ${shown(problem.data)}`
    default:
      return `${problem.message ?? 'is not valid'}, got ${shown(problem.data)}`
  }
}

const listed = (values: unknown): string => (Array.isArray(values) ? values.join(', ') : String(values))

/** A value short enough for a message. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 60 ? `${[...text].slice(0, 57).join('')}…` : text
}
