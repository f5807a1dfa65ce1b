/** The OpenAPI 3.1 document, written from the same rows that register the routes. */
import type { TSchema } from 'typebox'
import {
  COMMON_REFUSALS,
  FAILURE,
  HEADERS,
  IDEMPOTENCY_KEY,
  KEY_REASONS,
  REPLAYED,
  SHARED,
  TAGS,
} from './openapi-common.ts'
import { referTo } from './openapi-resources.ts'
import { type Method, type Route, scopesOf } from './route.ts'
import { Envelope } from './schemas.ts'

type Json = { readonly [name: string]: unknown }

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security: readonly Json[]
  readonly parameters: readonly Json[]
  readonly requestBody?: Json
  readonly responses: Json
  /** Several are separated by a blank, as OAuth does. */
  readonly 'x-scope': string
  /** Whether the core of the API (ARCHITECTURE.md, glossary: contract) has this operation, or Beck added it. */
  readonly 'x-origin': 'contract' | 'beck'
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: Json
  readonly servers: readonly Json[]
  readonly tags: readonly Json[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Json
}

/** @param routes - All of the API's. */
export function openApiDocument(routes: readonly Route[]): OpenApiDocument {
  const paths: Record<string, Record<string, Operation>> = {}
  const resources: Record<string, Json> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: referTo(resources, operation(route)) as Operation,
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Beck',
      version: '1.0.0',
      summary: 'A self-hosted crypto payment gateway',
      description:
        'Every answer is `{ "data": …, "error": null }` or `{ "data": null, "error": { code, message, reason, details, request_id } }`. ' +
        'Amounts of a coin are strings, fiat amounts are numbers with at most two decimals, times are ISO-8601. ' +
        'The core of the API has `x-origin: contract`; what Beck adds to it has `x-origin: beck`, or is called an addition of Beck.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/v1' }],
    tags: [...new Set(routes.map(tagOf))].map((name) => ({ name, description: TAGS[name] ?? name })),
    paths,
    components: {
      securitySchemes: {
        ApiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: 'a secret key, `bk_live_…` or `bk_test_…`',
        },
        Bearer: { type: 'http', scheme: 'bearer', description: 'the same key as `Authorization: Bearer`' },
      },
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
      headers: HEADERS,
      schemas: { ...resources, Failure: FAILURE },
      responses: Object.fromEntries(
        SHARED.map((status) => [
          `Refused${status}`,
          refusal(status, COMMON_REFUSALS[status]?.reasons ?? [], false),
        ]),
      ),
    },
  }
}

function operation(route: Route): Operation {
  const status = String(route.status ?? 200)
  const takesBody = route.method !== 'GET' && route.body !== undefined
  const scopes = scopesOf(route)
  const named = scopes.map((scope) => `\`${scope}\``).join(' and ')
  return {
    operationId: operationId(route.method, route.path),
    summary: route.summary,
    description: [
      route.description,
      `Needs the scope${scopes.length > 1 ? 's' : ''} ${named}.`,
      route.ours && 'An addition of Beck.',
    ]
      .filter(Boolean)
      .join(' '),
    tags: [tagOf(route)],
    security: [{ ApiKey: scopes }, { Bearer: scopes }],
    parameters: [
      ...parametersIn('path', route.params),
      ...parametersIn('query', route.query),
      ...(route.method === 'POST' ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    ],
    ...(takesBody
      ? {
          requestBody: {
            required: requiredOf(route.body).length > 0,
            content: {
              'application/json': {
                schema: plain(route.body),
                ...(route.example?.body === undefined ? {} : { example: route.example.body }),
              },
            },
          },
        }
      : {}),
    responses: {
      [status]: {
        description: 'Done.',
        headers: headersOf(status, route.method === 'POST'),
        content: {
          'application/json': {
            schema: plain(Envelope(route.data)),
            ...(route.example ? { example: { data: route.example.data, error: null } } : {}),
          },
        },
      },
      ...Object.fromEntries(
        refusalsOf(route).map(([code, reasons]) => [
          code,
          SHARED.includes(code) && !isOwn(route, code)
            ? { $ref: `#/components/responses/Refused${code}` }
            : refusal(code, reasons, route.method === 'POST' && REPLAYED.includes(code)),
        ]),
      ),
    },
    'x-scope': scopes.join(' '),
    'x-origin': route.ours ? 'beck' : 'contract',
  }
}

const isOwn = (route: Route, status: number): boolean =>
  Object.keys(route.refusals ?? {}).includes(String(status))

/** Statuses a route may answer besides success, each with its reasons, in order. */
export function refusalsOf(route: Route): [number, readonly string[]][] {
  const statuses = [400, 401, 403, 408, 429, 431, 500, 503, ...Object.keys(route.refusals ?? {}).map(Number)]
  if (route.method !== 'GET') statuses.push(413, 415)
  if (route.method === 'POST') statuses.push(409)
  return [...new Set(statuses)]
    .sort((a, b) => a - b)
    .map((status) => {
      const own = Object.entries(route.refusals ?? {}).find(([code]) => Number(code) === status)?.[1] ?? []
      const common = COMMON_REFUSALS[status]?.reasons ?? []
      const keyed = route.method === 'POST' ? (KEY_REASONS[status] ?? []) : []
      return [status, [...own, ...keyed, ...common]]
    })
}

function refusal(status: number, reasons: readonly string[], isReplayed: boolean): Json {
  const { when = '' } = COMMON_REFUSALS[status] ?? {}
  return {
    description: `${when} Reasons: ${reasons.map((reason) => `\`${reason}\``).join(', ')}.`,
    headers: headersOf(String(status), isReplayed),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } },
  }
}

function parametersIn(where: 'path' | 'query', schema: TSchema | undefined): Json[] {
  if (!schema) return []
  const { properties = {} } = plain(schema) as { properties?: Record<string, Json> }
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: where,
    required: requiredOf(schema).includes(name),
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }))
}

const requiredOf = (schema: TSchema | undefined): readonly string[] =>
  schema && 'required' in schema && Array.isArray(schema.required) ? schema.required : []

/** A copy of the schema as plain JSON. */
const plain = (schema: TSchema | undefined): Json => JSON.parse(JSON.stringify(schema ?? {}))

const tagOf = (route: Route): string => route.path.split('/')[1] ?? ''

/** `createPayment`, `listPayments`, `retrievePayment`, `cancelPayment`, `quoteWithdrawal`: from the path alone. */
export function operationId(method: Method, path: string): string {
  const steps = path.split('/').slice(1)
  const words = steps.filter((step) => !step.startsWith(':'))
  const last = words.at(-1) ?? ''
  const endsInId = steps.at(-1)?.startsWith(':') === true
  const isAction = method === 'POST' && (!isPlural(last) || words.length !== steps.length)
  const nouns = isAction ? words.slice(0, -1) : words
  const noun = pascal([...nouns.slice(0, -1).map(singular), ...nouns.slice(-1)])
  const one = singular(noun)
  if (isAction) return camel(last) + one
  if (method === 'POST') return `create${one}`
  if (method === 'PATCH') return `update${one}`
  if (method === 'DELETE') return `delete${one}`
  return endsInId || !isPlural(noun) ? `retrieve${one}` : `list${noun}`
}

/** `points-of-sale` has its plural in the middle. */
const OF = /s(?=-of-|Of[A-Z])/
const isPlural = (noun: string): boolean => noun.endsWith('s') || OF.test(noun)
const singular = (noun: string): string =>
  OF.test(noun) ? noun.replace(OF, '') : noun.replace(/ies$/, 'y').replace(/s$/, '')

const pascal = (words: readonly string[]): string =>
  words
    .flatMap((word) => word.split('-'))
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

const camel = (word: string): string => {
  const joined = pascal([word])
  return joined.charAt(0).toLowerCase() + joined.slice(1)
}

function headersOf(status: string, isReplayed: boolean): Json {
  const names: Record<string, keyof typeof HEADERS> = { 'X-Request-Id': 'RequestId' }
  if (status === '401') names['WWW-Authenticate'] = 'WwwAuthenticate'
  // Before there was a request to speak of, no key was known.
  if (!['401', '408', '431'].includes(status)) {
    names['RateLimit-Limit'] = 'RateLimitLimit'
    names['RateLimit-Remaining'] = 'RateLimitRemaining'
    names['RateLimit-Reset'] = 'RateLimitReset'
  }
  if (status === '429' || status === '503') names['Retry-After'] = 'RetryAfter'
  if (isReplayed) names['Idempotent-Replayed'] = 'IdempotentReplayed'
  return Object.fromEntries(
    Object.entries(names).map(([name, component]) => [name, { $ref: `#/components/headers/${component}` }]),
  )
}
