/** The OpenAPI 3.1 document, written from the same rows that register the routes. */
import type { TSchema } from 'typebox'
import { failure } from './envelope.ts'
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
  /** Whether the contract has this operation, or Beck added it. */
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

/** What every route may be refused with, by status: the line of the reference and the reasons. */
const COMMON_REFUSALS: Readonly<
  Record<number, { readonly when: string; readonly reasons: readonly string[] }>
> = {
  400: {
    when: 'The request is malformed, or a field is wrong; `details` names each.',
    reasons: [
      'invalid_request',
      'malformed_json',
      'invalid_text',
      'nested_too_deep',
      'too_many_values',
      'malformed_url',
      'malformed_request',
    ],
  },
  401: {
    when: 'The API key is missing, malformed, unknown, revoked or expired.',
    reasons: [
      'missing_api_key',
      'malformed_api_key',
      'unknown_api_key',
      'revoked_api_key',
      'expired_api_key',
    ],
  },
  403: {
    when: 'The API key lacks the scope that the operation needs, or may not be used from this address.',
    reasons: ['missing_scope', 'address_not_allowed'],
  },
  404: { when: 'There is no such resource in this account.', reasons: [] },
  408: { when: 'The request did not arrive whole within 30 seconds.', reasons: ['request_timeout'] },
  409: { when: 'The request does not fit the state of the resource.', reasons: [] },
  413: { when: 'The body is larger than 64 KiB.', reasons: ['body_too_large'] },
  415: { when: 'The body is not `application/json`.', reasons: ['unsupported_media_type'] },
  422: { when: 'The request is understood and refused by the business.', reasons: [] },
  429: {
    when: 'Too many requests from this API key, or too many wrong keys from this address. `Retry-After` says when to come back.',
    reasons: ['rate_limit_exceeded'],
  },
  431: {
    when: 'The headers, the path with its query included, are larger than 16 kB.',
    reasons: ['headers_too_large'],
  },
  500: {
    when: 'Beck made a mistake; the operator finds the cause under `request_id`.',
    reasons: ['internal_error'],
  },
  503: {
    when: 'Something that the request needs is not there now; try again shortly.',
    reasons: ['temporarily_unavailable'],
  },
}

/** What a group of operations is about, by the first word of their paths. */
const TAGS: Readonly<Record<string, string>> = {
  payments: 'A price in fiat, paid in a coin at an address of its own.',
  checkout: 'Hosted pages on which the buyer picks the coin.',
  'payment-links': 'Links of a fixed price that start a checkout on every visit.',
  webhooks: 'Where events are sent.',
  events: 'What happened, for a receiver that missed it.',
  customers: 'Who paid, by email.',
  balance: 'What the account has, per coin and in fiat.',
  withdrawals: 'Payouts to any wallet.',
  sandbox: 'Helpers of test accounts: pay, mine, reorganise.',
}

/** Of the header `Idempotency-Key`. */
const KEY_REASONS: Readonly<Record<number, readonly string[]>> = {
  400: ['invalid_idempotency_key'],
  409: ['idempotency_key_reused', 'idempotency_key_in_flight'],
}

/** Statuses whose reasons are the same for every route. */
const SHARED = [401, 403, 408, 413, 415, 429, 431, 500]

/** @param routes - All of the API's. */
export function openApiDocument(routes: readonly Route[]): OpenApiDocument {
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
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
        'Operations and fields marked as additions of Beck are not in the contract that it implements.',
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
      schemas: { Failure: FAILURE },
      responses: Object.fromEntries(
        SHARED.map((status) => [`Refused${status}`, refusal(status, COMMON_REFUSALS[status]?.reasons ?? [])]),
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
        headers: headersOf(status, route.method),
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
            : refusal(code, reasons),
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

function refusal(status: number, reasons: readonly string[]): Json {
  const { when = '' } = COMMON_REFUSALS[status] ?? {}
  return {
    description: `${when} Reasons: ${reasons.map((reason) => `\`${reason}\``).join(', ')}.`,
    headers: headersOf(String(status), 'GET'),
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

/** The schema as plain JSON, without what TypeBox keeps beside it. */
const plain = (schema: TSchema | undefined): Json => JSON.parse(JSON.stringify(schema ?? {}))

const tagOf = (route: Route): string => route.path.split('/')[1] ?? ''

/** `createPayment`, `listPayments`, `retrievePayment`, `cancelPayment`, `quoteWithdrawal`: from the path alone. */
export function operationId(method: Method, path: string): string {
  const steps = path.split('/').slice(1)
  const words = steps.filter((step) => !step.startsWith(':'))
  const last = words.at(-1) ?? ''
  const endsInId = steps.at(-1)?.startsWith(':') === true
  const isAction = method === 'POST' && (!last.endsWith('s') || words.length !== steps.length)
  const nouns = isAction ? words.slice(0, -1) : words
  const noun = pascal([...nouns.slice(0, -1).map(singular), ...nouns.slice(-1)])
  const one = singular(noun)
  if (isAction) return camel(last) + one
  if (method === 'POST') return `create${one}`
  if (method === 'PATCH') return `update${one}`
  if (method === 'DELETE') return `delete${one}`
  return endsInId || !noun.endsWith('s') ? `retrieve${one}` : `list${noun}`
}

const singular = (noun: string): string => noun.replace(/ies$/, 'y').replace(/s$/, '')

const pascal = (words: readonly string[]): string =>
  words
    .flatMap((word) => word.split('-'))
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

const camel = (word: string): string => {
  const joined = pascal([word])
  return joined.charAt(0).toLowerCase() + joined.slice(1)
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes a repeated request safe: for 24 hours the first answer is given again, byte for byte, with `Idempotent-Replayed: true`.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

const HEADERS = {
  RequestId: { description: 'names this request in the operator’s log', schema: { type: 'string' } },
  RateLimitLimit: { description: 'requests that a full bucket holds', schema: { type: 'integer' } },
  RateLimitRemaining: { description: 'requests left in the bucket', schema: { type: 'integer' } },
  RateLimitReset: { description: 'seconds until the bucket is full', schema: { type: 'integer' } },
  WwwAuthenticate: { description: '`Bearer`', schema: { type: 'string' } },
  RetryAfter: { description: 'seconds to wait before the next attempt', schema: { type: 'integer' } },
  IdempotentReplayed: {
    description: '`true` on an answer that was given before',
    schema: { type: 'string' },
  },
}

function headersOf(status: string, method: Method): Json {
  const names: Record<string, keyof typeof HEADERS> = { 'X-Request-Id': 'RequestId' }
  if (status === '401') names['WWW-Authenticate'] = 'WwwAuthenticate'
  // Before there was a request to speak of, no key was known.
  if (!['401', '408', '431'].includes(status)) {
    names['RateLimit-Limit'] = 'RateLimitLimit'
    names['RateLimit-Remaining'] = 'RateLimitRemaining'
    names['RateLimit-Reset'] = 'RateLimitReset'
  }
  if (status === '429' || status === '503') names['Retry-After'] = 'RetryAfter'
  if (method === 'POST') names['Idempotent-Replayed'] = 'IdempotentReplayed'
  return Object.fromEntries(
    Object.entries(names).map(([name, component]) => [name, { $ref: `#/components/headers/${component}` }]),
  )
}

const FAILURE = {
  type: 'object',
  required: ['data', 'error'],
  additionalProperties: false,
  examples: [
    failure(400, {
      reason: 'invalid_amount',
      message: 'fiat_amount must be more than 0 and have at most two decimals, got 10.001',
      details: [
        {
          field: 'fiat_amount',
          message: 'fiat_amount must be more than 0 and have at most two decimals, got 10.001',
        },
      ],
      requestId: 'req_Zm9vYmFyYmF6cXV4',
    }),
  ],
  properties: {
    data: { type: 'null' },
    error: {
      type: 'object',
      required: ['code', 'message', 'reason', 'details', 'request_id'],
      additionalProperties: false,
      properties: {
        code: { type: 'string', description: '`HTTP_<status>`, or `RATE_LIMIT_EXCEEDED` for 429' },
        message: { type: 'string', description: 'what was got, what is expected, what to do; for people' },
        reason: { type: 'string', pattern: '^[a-z0-9]+(_[a-z0-9]+)*$', description: 'stable; for programs' },
        details: {
          type: 'array',
          items: {
            type: 'object',
            required: ['field', 'message'],
            additionalProperties: false,
            properties: { field: { type: 'string' }, message: { type: 'string' } },
          },
        },
        request_id: { type: 'string' },
      },
    },
  },
}
