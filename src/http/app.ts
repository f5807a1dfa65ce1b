/** Builds the HTTP application. `server.ts` listens; tests use `inject`. */
import { parse } from 'node:querystring'
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify'
import type { ChainName } from '../core/assets.ts'
import { invalidField } from '../core/errors.ts'
import { showId } from '../core/ids.ts'
import { isThisMachine, networksAround, readNetworks } from '../core/networks.ts'
import type { Gateway } from '../flows/gateway.ts'
import { wentBack } from '../flows/recovery/keep-time.ts'
import { openSingleSignOn, type SingleSignOnSettings } from '../users/single-sign-on.ts'
import type { Limits } from '../withdrawals/limits.ts'
import { ADDRESS_RATE_LIMIT, type AddressLimit, clientAddress, openAddressLimit } from './address-limit.ts'
import { type AnswerHeaders, answerHeaders } from './answer-headers.ts'
import { routes } from './api/routes.ts'
import { type Caller, openAuthenticator } from './authenticate.ts'
import { COMPILED_LATE } from './compile-late.ts'
import { CONNECTION_LIMITS, type ConnectionLimits, createLimitedServer, type Door } from './connections.ts'
import { registerDashboard } from './dashboard/register.ts'
import { failure } from './envelope.ts'
import { answerTo } from './errors.ts'
import { guardRoutes } from './guard.ts'
import { registerHealth } from './health.ts'
import { type HostedPagesOptions, registerHostedPages } from './hosted/hosted.ts'
import { closeIdleConnections } from './idle-connections.ts'
import { readJsonBody } from './json-body.ts'
import { type BucketSize, openLocalBuckets } from './rate-limit.ts'
import { registerReference } from './reference.ts'
import { registerRoute } from './register-route.ts'
import { newRequestId } from './request-id.ts'
import { openRequestLog, type RequestLog, type RequestLogOptions } from './request-log.ts'
import type { Route } from './route.ts'
import { registerSecurityContact } from './security-contact.ts'
import { openSharedBuckets } from './shared-rate-limit.ts'
import { traceRequests } from './trace-requests.ts'
import { openWorkLimit } from './work-limit.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose key the request carries; null before the guard, and on routes that need no key. */
    caller: Caller | null
    /** The body as it was sent; empty when there was none. */
    bodyText: string
    /** Why it was not answered as asked: the reason's word. */
    refusal: string | null
  }
}

export interface AppOptions {
  /** Requests per key; 100 a second with bursts of 200 when absent. */
  readonly rateLimit?: BucketSize
  /** Requests without a good key per address; {@link ADDRESS_RATE_LIMIT} when absent. */
  readonly addressRateLimit?: BucketSize
  /** What the time is for these; the machine's clock when absent. */
  readonly addressClock?: () => number
  /** How the log of API calls is written. */
  readonly requestLog?: RequestLogOptions
  /** What one connection may do, where it differs from {@link CONNECTION_LIMITS}. */
  readonly connectionLimits?: Partial<ConnectionLimits>
  /** How long a statement of an API read may take; {@link READ_LIMIT_MS} when absent. */
  readonly readLimitMs?: number
  /** REDIS_URL: shares the buckets between processes; without it each process has its own. */
  readonly redisUrl?: string
  /** Whose forwarded headers to believe: addresses or networks, comma-separated; nobody's when absent. */
  readonly trustProxy?: string
  /** Chains that the settings connect: what `/readyz` and `/metrics` expect to be seen. */
  readonly chains?: readonly ChainName[]
  /** What the signer is told to let out, as the operator's pages show it. */
  readonly limits?: Limits
  /** The operator's OpenID provider; single sign-on is not offered when absent. */
  readonly singleSignOn?: SingleSignOnSettings
  /** Routes below `/v1` beyond the API's own. */
  readonly routes?: readonly Route[]
  /** Whom to tell of a weakness: a URI for `/.well-known/security.txt`, which is not there when absent. */
  readonly securityContact?: string
  /** What the hosted pages know of the networks. */
  readonly hosted?: HostedPagesOptions
}

/** More than any list has filters, and what stands behind them would not be read; each name beyond would cost as much as a whole request, and there is room for thousands. */
const QUERY_PARTS_MAX = 100
const PATH_LENGTH_MAX = 500
const BODY_BYTES_MAX = 64 * 1024
/** Far above what any list takes, and far below what its caller waits for. */
const READ_LIMIT_MS = 10_000
const DEFAULT_RATE_LIMIT: BucketSize = { perSecond: 100, burst: 200 }

/** As the log of API calls keeps it: without the emails that lists are searched by, and without what lets whoever has it sell or act as a buyer. */
function loggedPath(url: string): string {
  const [path = '', ...queries] = url.slice(0, PATH_LENGTH_MAX).split('?')
  const query = queries.join('?').split('&').map(withoutEmail).join('&')
  return `${path}${query && '?'}${query}`.replace(/(cs|pos)_[0-9a-z]+/gi, '$1_…').slice(0, PATH_LENGTH_MAX)
}

/** One filter of a query. Its name may be written with escapes. */
function withoutEmail(filter: string): string {
  const [written = '', ...value] = filter.split('=')
  const [name = ''] = new URLSearchParams(written).keys()
  return value.length > 0 && /email/i.test(name) ? `${written}=…` : filter
}

/** @throws {Refusal} `invalid`, `invalid_request`. */
function requireShortQuery(url: string): void {
  // As the router divides it. A path may hold an & of its own.
  const [, query = ''] = /[?#](.*)/s.exec(url) ?? []
  const parts = query.split('&').length
  if (parts > QUERY_PARTS_MAX)
    throw invalidField(
      'query',
      'invalid_request',
      `the query has ${parts} parts, of which only ${QUERY_PARTS_MAX} are read; leave out those that say nothing`,
    )
}

type SendError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

/** Not ready yet: the caller may register health checks and hosted pages before it listens. */
export async function buildApp(gateway: Gateway, options: AppOptions = {}): Promise<FastifyInstance> {
  const everyAnswer = answerHeaders(gateway.settings.publicUrl)
  const addresses = openAddressLimit(
    options.addressRateLimit ?? ADDRESS_RATE_LIMIT,
    gateway.log,
    options.addressClock,
  )
  const sendError = errorSender(gateway, everyAnswer)
  const app = openApp(options, addresses, everyAnswer, sendError)

  const requestLog = openRequestLog(gateway.db, gateway.log, options.requestLog)
  app.addHook('onClose', () => requestLog.close())
  app.decorateRequest('caller', null)
  app.decorateRequest('bodyText', '')
  app.decorateRequest('refusal', null)
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(everyAnswer).header('X-Request-Id', request.id)
    // Before its body is read, which may be faulty, too large or of another type.
    if (request.is404) return sendUnknown(request, reply)
    const stopped = request.method === 'GET' || request.method === 'HEAD' ? null : gateway.stopped?.()
    if (stopped) throw wentBack(stopped)
  })
  app.addHook('preValidation', async ({ url }) => requireShortQuery(url))
  logRequests(app, gateway, requestLog)
  if (gateway.traces) traceRequests(app, gateway.traces)
  readJsonBodies(app)
  app.setErrorHandler(sendError)
  app.setNotFoundHandler(sendUnknown)

  const size = options.rateLimit ?? DEFAULT_RATE_LIMIT
  const limiter = options.redisUrl
    ? await openSharedBuckets(options.redisUrl, size, gateway.log, gateway.concerns)
    : openLocalBuckets(size)
  app.addHook('onClose', () => limiter.close())
  const authenticator = openAuthenticator(gateway.db, gateway.log)
  app.addHook('onClose', () => authenticator.close())
  const guard = guardRoutes(authenticator, limiter, addresses)
  const effort = { limit: openWorkLimit(), readLimitMs: options.readLimitMs ?? READ_LIMIT_MS }
  for (const route of [...routes, ...(options.routes ?? [])])
    registerRoute(app, gateway, route, guard, effort)
  registerReference(app, routes)
  registerHealth(app, gateway, options.chains ?? [])
  if (options.securityContact !== undefined)
    registerSecurityContact(app, gateway.settings.publicUrl, options.securityContact)
  closeIdleConnections(app)
  registerHostedPages(app, gateway, options.hosted)
  registerDashboard(app, gateway, {
    chains: options.chains ?? [],
    limits: options.limits ?? {},
    singleSignOn: options.singleSignOn ? openSingleSignOn(options.singleSignOn) : null,
    networks: options.hosted ?? {},
  })
  return app
}

/** The server with its limits on connections and its validator; of Beck it knows nothing yet. */
function openApp(
  options: AppOptions,
  addresses: AddressLimit,
  everyAnswer: AnswerHeaders,
  sendError: SendError,
): FastifyInstance {
  const proxies = options.trustProxy === undefined ? null : readNetworks(options.trustProxy.split(','))
  const door: Door = {
    ...addresses,
    networksOf: (address) => (isThisMachine(address) || proxies?.has(address) ? [] : networksAround(address)),
    admit: (request) => addresses.take(clientAddress(request, proxies)),
  }
  return fastify({
    bodyLimit: BODY_BYTES_MAX,
    serverFactory: (handle) =>
      createLimitedServer(handle, door, everyAnswer, { ...CONNECTION_LIMITS, ...options.connectionLimits }),
    logger: false,
    genReqId: newRequestId,
    trustProxy: proxies ? (address) => proxies.has(address) : false,
    return503OnClosing: false,
    routerOptions: {
      maxParamLength: 1_000,
      querystringParser: (text) => parse(text, '&', '=', { maxKeys: QUERY_PARTS_MAX }),
    },
    schemaController: { compilersFactory: COMPILED_LATE },
    ajv: {
      // `verbose` hands the refused value to the message. The number of errors is bounded by the size of a body. That the
      // schemas are schemas is for tests to ask.
      customOptions: {
        validateSchema: false,
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: true,
        verbose: true,
      },
    },
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      sendError(error, request, reply)
    },
    // The server that was made above answers them.
    clientErrorHandler: () => {},
  })
}

function errorSender(gateway: Gateway, everyAnswer: AnswerHeaders): SendError {
  return (error, request, reply) => {
    const answer = answerTo(error)
    request.refusal = answer.reason
    const line = {
      request_id: request.id,
      method: request.method,
      route: request.routeOptions.url,
      err: error,
    }
    if (answer.logged) {
      if (answer.status === 500) gateway.log.error(line, 'a request failed')
      else gateway.log.warn(line, 'a request could not be served')
    }
    // Also where no hook ran: a path that cannot be read never became a request.
    reply
      .code(answer.status)
      .headers(everyAnswer)
      .type('application/json; charset=utf-8')
      .header('X-Request-Id', request.id)
    if (answer.status === 401) reply.header('WWW-Authenticate', 'Bearer')
    if (answer.retryAfterSeconds !== undefined) reply.header('Retry-After', answer.retryAfterSeconds)
    reply.serializer(JSON.stringify).send(failure(answer.status, { ...answer, requestId: request.id }))
  }
}

function sendUnknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const body = failure(404, {
    reason: 'unknown_route',
    message: `there is no ${request.method} at this path; GET /openapi.json lists what there is`,
    requestId: request.id,
  })
  return reply.code(404).type('application/json; charset=utf-8').send(body)
}

function logRequests(app: FastifyInstance, gateway: Gateway, requestLog: RequestLog): void {
  app.addHook('onResponse', async (request, reply) => {
    gateway.log.info(
      {
        request_id: request.id,
        method: request.method,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        // Who guesses keys, has somebody else's, or floods.
        ...([401, 403, 429].includes(reply.statusCode)
          ? { address: request.ip, reason: request.refusal }
          : {}),
        ms: Math.round(reply.elapsedTime),
        ...(request.caller
          ? {
              account_id: showId('acct', request.caller.account.id),
              key_id: showId('key', request.caller.keyId),
            }
          : {}),
      },
      'request',
    )
    const { caller } = request
    if (caller)
      requestLog.add({
        accountId: caller.account.id,
        keyId: caller.keyId,
        at: new Date(),
        requestId: request.id,
        method: request.method,
        path: loggedPath(request.url),
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime),
        reason: request.refusal,
        address: request.ip,
      })
  })
}

function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      if (bytes.length === 0) return undefined
      const { text, value } = readJsonBody(bytes)
      request.bodyText = text
      return value
    },
  )
}
