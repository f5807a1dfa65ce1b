/**
 * Writes `src/types.ts` from the committed OpenAPI document, so that the client's types are the server's schemas.
 * `--check` compares instead.
 *
 *   node sdk/generate-types.ts
 */
import { readFile, writeFile } from 'node:fs/promises'

interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: boolean | Schema
  readonly description?: string
  readonly default?: unknown
  readonly $ref?: string
}
interface Operation {
  readonly operationId: string
  readonly parameters?: readonly {
    name?: string
    in?: string
    required?: boolean
    schema?: Schema
    description?: string
  }[]
  readonly requestBody?: { content: { 'application/json': { schema: Schema } } }
  readonly responses: Readonly<Record<string, { content?: { 'application/json'?: { schema: Schema } } }>>
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

function declarations(operation: Operation): string[] {
  const name = operation.operationId.charAt(0).toUpperCase() + operation.operationId.slice(1)
  const made: string[] = []
  const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
  if (query.length > 0) {
    made.push(
      declare(`${name}Query`, {
        type: 'object',
        properties: Object.fromEntries(
          query.map(({ name: field = '', schema = {}, description }) => [
            field,
            { ...schema, ...(description && { description }) },
          ]),
        ),
        required: query.filter((parameter) => parameter.required).map((parameter) => parameter.name ?? ''),
      }),
    )
  }
  const body = operation.requestBody?.content['application/json'].schema
  if (body) made.push(declare(`${name}Body`, body))
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1]
  const data = success?.content?.['application/json']?.schema.properties?.data
  // What several operations answer with has a name of its own, and pages are all alike: `Page` of `list.ts`.
  if (data && !data.$ref && !data.properties?.total_pages) made.push(declare(`${name}Data`, data))
  return made
}

const declare = (name: string, schema: Schema): string =>
  schema.type === 'object' && schema.properties
    ? `export interface ${name} ${typeOf(schema)}\n`
    : `export type ${name} = ${typeOf(schema)}\n`

function typeOf(schema: Schema, indent = ''): string {
  if (schema.$ref) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => literal(value)).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map((choice) => typeOf(choice, indent)))].join(' | ')
  if (Array.isArray(schema.type))
    return schema.type.map((type: string) => typeOf({ ...schema, type }, indent)).join(' | ')
  switch (schema.type) {
    case 'string':
      return 'string'
    case 'number':
    case 'integer':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'null':
      return 'null'
    case 'array': {
      const item = typeOf(schema.items ?? {}, indent)
      return item.includes(' | ') && !item.startsWith('{') ? `(${item})[]` : `${item}[]`
    }
    case 'object':
      return schema.properties ? members(schema, indent) : 'Record<string, unknown>'
    default:
      return 'unknown'
  }
}

function members(schema: Schema, indent: string): string {
  const inner = `${indent}  `
  const lines = Object.entries(schema.properties ?? {}).map(([field, member]) => {
    const said = [
      member.description,
      member.default === undefined ? '' : `default ${literal(member.default)}`,
    ]
    const text = said.filter(Boolean).join('; ').replaceAll('*/', '*\\/')
    const comment = text ? `${inner}/** ${text} */\n` : ''
    const type = typeOf(member, inner)
    // What is undefined is left out, also for those who compile with `exactOptionalPropertyTypes`.
    const rest = schema.required?.includes(field) ? `: ${type}` : `?: ${type} | undefined`
    return `${comment}${inner}${field}${rest}\n`
  })
  return `{\n${lines.join('')}${indent}}`
}

const literal = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value))

/** What a webhook carries: the payment or the withdrawal as retrieval shows it. */
function events(): string {
  return `
export type PaymentEventType =
  | 'payment.created'
  | 'payment.confirming'
  | 'payment.completed'
  | 'payment.expired'
  | 'payment.refunded'

interface EventOf<Type extends string, Data> {
  id: string
  type: Type
  /** ISO-8601. */
  created: string
  /** Sent from the dashboard to try the endpoint: nothing happened. */
  test?: true
  data: Data
}

export type WebhookEvent =
  | EventOf<PaymentEventType, Payment>
  | EventOf<'payout.completed' | 'payout.failed', Withdrawal>
`
}

const FILE = new URL('./src/types.ts', import.meta.url)
const document: Document = JSON.parse(
  await readFile(new URL('../docs/openapi.json', import.meta.url), 'utf8'),
)

// A failure is thrown, not read.
const { Failure: _, ...resources } = document.components.schemas
const all = [
  ...Object.entries(resources).map(([name, schema]) => declare(name, schema)),
  ...Object.values(document.paths).flatMap((methods) => Object.values(methods).flatMap(declarations)),
]
const text = `// Written by \`node sdk/generate-types.ts\` from docs/openapi.json. Do not edit.\n\n${all.join('\n')}${events()}`

if (!process.argv.includes('--check')) await writeFile(FILE, text)
else if ((await readFile(FILE, 'utf8').catch(() => '')) !== text) {
  process.stderr.write(
    'sdk/src/types.ts is not what docs/openapi.json says; run: node sdk/generate-types.ts\n',
  )
  process.exitCode = 1
}
