/** The HTTP application over a test gateway, with merchants to call it. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Account, AccountDraft } from '../src/accounts/account.ts'
import { insertAccount } from '../src/accounts/accounts.sql.ts'
import { createApiKey } from '../src/accounts/api-keys.sql.ts'
import { SCOPES, type Scope } from '../src/core/scopes.ts'
import type { Database } from '../src/db/database.ts'
import type { Gateway } from '../src/flows/gateway.ts'
import { routes } from '../src/http/api/routes.ts'
import { type AppOptions, buildApp } from '../src/http/app.ts'
import { refusalsOf } from '../src/http/openapi.ts'

/** Far above what a test sends. */
export const UNLIMITED = { perSecond: 1_000_000, burst: 1_000_000 }

/** What the OpenAPI document says that each operation may be refused with. */
const REFUSALS = new Map(
  routes.map((route) => [`${route.method} /v1${route.path}`, new Map(refusalsOf(route))]),
)

/** The file fails when an operation was refused with a reason that the OpenAPI document does not name for it. */
export async function testApp(gateway: Gateway, options: AppOptions = {}): Promise<FastifyInstance> {
  const app = await buildApp(gateway, { rateLimit: UNLIMITED, ...options })
  const unnamed = new Set<string>()
  app.addHook('onSend', async ({ method, routeOptions }, { statusCode }, payload) => {
    const operation = `${method} ${routeOptions.url}`
    const refusals = REFUSALS.get(operation)
    if (!refusals || statusCode < 400) return
    const { reason } = JSON.parse(String(payload)).error
    if (!refusals.get(statusCode)?.includes(reason)) unnamed.add(`${operation}: ${statusCode} ${reason}`)
  })
  after(async () => {
    await app.close()
    assert.deepEqual([...unnamed], [], 'refusals that the OpenAPI document does not name')
  })
  return app
}

export interface Merchant {
  readonly account: Account
  readonly key: string
}

export async function testMerchant(
  db: Database,
  options: Partial<AccountDraft> & { scopes?: readonly Scope[] } = {},
): Promise<Merchant> {
  const { scopes = SCOPES, ...draft } = options
  const account = await insertAccount(db, {
    name: 'Shop',
    email: 'shop@example.com',
    mode: 'test',
    currency: 'USD',
    ...draft,
  })
  return { account, key: await testKey(db, account, scopes) }
}

export async function testKey(db: Database, account: Account, scopes: readonly Scope[]): Promise<string> {
  const { key } = await createApiKey(db, {
    accountId: account.id,
    mode: account.mode,
    name: 'server',
    scopes,
  })
  return key
}

export interface ApiAnswer {
  readonly status: number
  readonly headers: Record<string, string | number | string[] | undefined>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  readonly data: any
  // biome-ignore lint/suspicious/noExplicitAny: the same
  readonly error: any
}

/** Sends a request and checks that the answer is an envelope. `key: null` sends none. */
export async function call(
  app: FastifyInstance,
  key: string | null,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT' | 'HEAD',
  path: string,
  options: {
    body?: unknown
    text?: string | Buffer
    headers?: Record<string, string>
    query?: InjectOptions['query']
  } = {},
): Promise<ApiAnswer> {
  const hasBody = options.text !== undefined || options.body !== undefined
  const response = await app.inject({
    method,
    url: path.startsWith('/') && !path.startsWith('/v1') && !path.startsWith('//') ? `/v1${path}` : path,
    ...(options.query ? { query: options.query } : {}),
    headers: {
      ...(key === null ? {} : { 'x-api-key': key }),
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
      ...options.headers,
    },
    ...(hasBody ? { payload: options.text ?? JSON.stringify(options.body) } : {}),
  })
  return readAnswer(response.statusCode, response.headers, response.body)
}

/** Checks the shape that every answer has. */
export function readAnswer(status: number, headers: ApiAnswer['headers'], text: string): ApiAnswer {
  assert.match(String(headers['content-type']), /^application\/json; charset=utf-8$/)
  const envelope = JSON.parse(text)
  assert.deepEqual(Object.keys(envelope), ['data', 'error'])
  if (status < 400) assert.equal(envelope.error, null)
  else {
    assert.equal(envelope.data, null)
    assert.deepEqual(Object.keys(envelope.error), ['code', 'message', 'reason', 'details', 'request_id'])
    assert.equal(envelope.error.code, status === 429 ? 'RATE_LIMIT_EXCEEDED' : `HTTP_${status}`)
    assert.match(envelope.error.reason, /^[a-z0-9]+(_[a-z0-9]+)*$/)
  }
  return { status, headers, text, data: envelope.data, error: envelope.error }
}
