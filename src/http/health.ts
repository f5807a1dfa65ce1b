/**
 * `/livez`, and the bare verdict of `/readyz`, for load balancers; what stands behind it, and `/metrics`, for the operator's own
 * listener. All without a key.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { ChainName } from '../core/assets.ts'
import type { Gateway } from '../flows/gateway.ts'
import { type Health, readHealth } from '../flows/operation/health.ts'
import { readVolume } from '../flows/operation/volume.sql.ts'
import { readOwnBalances } from '../flows/withdrawals/request-own-payout.ts'
import { failure, success } from './envelope.ts'
import { describeHealth, describeOwnMoney, describeVolume } from './health-metrics.ts'
import { newRequestId } from './request-id.ts'

/** Monitoring of any number of probes costs one look a second. */
const REMEMBERED_MS = 1_000
/** Whoever asks while a look is under way waits for it, unless it is lost with its connection: a slow database is not asked more. */
const UNDERWAY_MS_MAX = 15_000
/** Summed from an entry for each settlement. */
const OWN_MONEY_REMEMBERED_MS = 60_000

declare module 'fastify' {
  interface FastifyInstance {
    /** For the operator alone: the metrics' text, and the listener of `monitor.ts`. */
    readonly monitored: Monitored
  }
}

export interface Monitored {
  metrics(): Promise<string>
  answer(request: IncomingMessage, response: ServerResponse): void
}

/** @param chains - The chains that the settings connect. */
export function registerHealth(app: FastifyInstance, gateway: Gateway, chains: readonly ChainName[]): void {
  const read = remembered(() => readHealth(gateway, chains))
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  describeHealth(registry, read)
  const own = remembered(() => readOwnBalances(gateway.db), OWN_MONEY_REMEMBERED_MS)
  describeOwnMoney(registry, own)
  describeVolume(registry, {
    volume: remembered(() => readVolume(gateway.db), OWN_MONEY_REMEMBERED_MS),
    own,
    health: read,
    connections: () => gateway.db.connections(),
  })
  measureRequests(app, registry)

  app.get('/livez', async (_request, reply) => json(reply, 200, success({ status: 'alive' })))

  app.get('/readyz', async (request, reply) => {
    const health = await read()
    return health.ready
      ? json(reply, 200, success({ status: statusOf(health) }))
      : json(reply, 503, notReady(health, request.id))
  })

  app.decorate('monitored', {
    metrics: () => registry.metrics(),
    answer(request, response) {
      const send = (status: number, type: string, body: string) =>
        response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body)
      const sendJson = (status: number, body: object) =>
        send(status, 'application/json; charset=utf-8', JSON.stringify(body))
      const answers: Readonly<Record<string, () => Promise<unknown>>> = {
        '/livez': async () => sendJson(200, success({ status: 'alive' })),
        '/readyz': async () => {
          const health = await read()
          if (health.ready) sendJson(200, success({ status: statusOf(health), ...shown(health) }))
          else sendJson(503, notReady(health, newRequestId()))
        },
        '/metrics': async () => send(200, registry.contentType, await registry.metrics()),
      }
      const answer = request.method === 'GET' ? answers[request.url?.split('?')[0] ?? ''] : undefined
      if (!answer) return void send(404, 'text/plain; charset=utf-8', 'GET /metrics, /readyz or /livez\n')
      answer().catch((error: unknown) => {
        gateway.log.error({ err: error }, 'the monitor could not answer')
        response.destroy()
      })
    },
  } satisfies Monitored)
}

const statusOf = ({ ok }: Health) => (ok ? 'ready' : 'degraded')

function notReady(health: Health, requestId: string) {
  const message = health.database.problem ?? 'not ready'
  const details = [{ field: 'database', message }]
  return failure(503, { reason: 'not_ready', message, details, requestId })
}

const json = (reply: FastifyReply, status: number, body: object) =>
  reply
    .code(status)
    .header('Cache-Control', 'no-store')
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(body)

const seconds = (ms: number | null): number | null => (ms === null ? null : Math.round(ms / 100) / 10)

const shown = ({ database, chains, rates, roles, backlog }: Health) => ({
  database: { ok: database.ok, problem: database.problem, answer_ms: database.answerMs },
  chains: chains.map((chain) => ({
    chain: chain.chain,
    ok: chain.ok,
    problem: chain.problem,
    tip_height: chain.tipHeight,
    tip_age_seconds: seconds(chain.tipAgeMs),
    view_age_seconds: seconds(chain.pollAgeMs),
  })),
  rates: { ok: rates.ok, problem: rates.problem, age_seconds: seconds(rates.ageMs) },
  roles: roles.map((each) => ({
    role: each.role,
    ok: each.ok,
    problem: each.problem,
    running: each.running,
    seen_age_seconds: seconds(each.seenAgeMs),
    versions: each.versions,
  })),
  frozen: backlog?.frozen ?? [],
})

function remembered<Seen>(read: () => Promise<Seen>, forMs = REMEMBERED_MS): () => Promise<Seen> {
  let last: { readonly seen: Promise<Seen>; oldAtMs: number } | undefined
  return () => {
    const now = performance.now()
    if (last && now <= last.oldAtMs) return last.seen
    const begun = { seen: read(), oldAtMs: now + Math.max(forMs, UNDERWAY_MS_MAX) }
    last = begun
    begun.seen.then(
      () => {
        begun.oldAtMs = now + forMs
      },
      // What failed is asked for again.
      () => {
        begun.oldAtMs = 0
      },
    )
    return begun.seen
  }
}

function measureRequests(app: FastifyInstance, registry: Registry): void {
  const durations = new Histogram({
    name: 'beck_http_request_duration_seconds',
    help: 'time to answer, by route',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  app.addHook('onResponse', async (request, reply) => {
    // Unknown paths share one label, or strangers could make as many as they like.
    const route = request.routeOptions.url ?? 'unknown'
    durations.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1_000)
  })
}
