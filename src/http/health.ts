/**
 * `/livez`, and the bare verdict of `/readyz`, for load balancers; what stands behind it, and `/metrics`, for the operator's own
 * listener. All without a key.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { ASSET_FACTS, type ChainName } from '../core/assets.ts'
import { formatDecimal } from '../core/money.ts'
import type { DeliveryTotal } from '../events/delivery-totals.sql.ts'
import type { Gateway } from '../flows/gateway.ts'
import { type Health, readHealth } from '../flows/operation/health.ts'
import { type OwnBalance, readOwnBalances } from '../flows/withdrawals/request-own-payout.ts'
import { failure, success } from './envelope.ts'
import { newRequestId } from './request-id.ts'

/** Monitoring of any number of probes costs one look a second. */
const REMEMBERED_MS = 1_000
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
  describeOwnMoney(
    registry,
    remembered(() => readOwnBalances(gateway.db), OWN_MONEY_REMEMBERED_MS),
  )
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
        response.writeHead(status, { 'Content-Type': type, 'X-Content-Type-Options': 'nosniff' }).end(body)
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
      if (!answer) return void send(404, 'text/plain', 'GET /metrics, /readyz or /livez\n')
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

const shown = ({ database, chains, rates, backlog }: Health) => ({
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
  frozen: backlog?.frozen ?? [],
})

function remembered<Seen>(read: () => Promise<Seen>, forMs = REMEMBERED_MS): () => Promise<Seen> {
  let last: Promise<Seen> | undefined
  let readAtMs = 0
  return () => {
    if (!last || performance.now() - readAtMs > forMs) {
      readAtMs = performance.now()
      const reading = read()
      // What failed is asked for again.
      reading.catch(() => {
        if (last === reading) last = undefined
      })
      last = reading
    }
    return last
  }
}

/** Gauges that are read when they are asked for. */
function describeHealth(registry: Registry, read: () => Promise<Health>): void {
  const gauge = (
    name: string,
    help: string,
    labelNames: string[],
    fill: (gauge: Gauge, health: Health) => void,
  ) =>
    new Gauge({
      name: `beck_${name}`,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        this.reset()
        fill(this, await read())
      },
    })

  gauge('ready', '1 when the API can answer', [], (to, health) => to.set(Number(health.ready)))
  gauge('database_ok', '1 when the database answers and lost no commits', [], (to, { database }) =>
    to.set(Number(database.ok)),
  )
  gauge('chain_ok', '1 when payments on the chain are taken', ['chain'], (to, { chains }) => {
    for (const { chain, ok } of chains) to.set({ chain }, Number(ok))
  })
  gauge('chain_tip_height', 'newest block known', ['chain'], (to, { chains }) => {
    for (const { chain, tipHeight } of chains) if (tipHeight !== null) to.set({ chain }, tipHeight)
  })
  gauge('chain_tip_age_seconds', 'age of the newest block known', ['chain'], (to, { chains }) => {
    for (const { chain, tipAgeMs } of chains) if (tipAgeMs !== null) to.set({ chain }, tipAgeMs / 1_000)
  })
  gauge('chain_poll_age_seconds', 'time since the last complete look', ['chain'], (to, { chains }) => {
    for (const { chain, pollAgeMs } of chains) if (pollAgeMs !== null) to.set({ chain }, pollAgeMs / 1_000)
  })
  gauge('rate_age_seconds', 'age of the oldest live rate in use', [], (to, { rates }) => {
    if (rates.ageMs !== null) to.set(rates.ageMs / 1_000)
  })
  gauge('rates_ok', '1 when no live rate in use is missing', [], (to, { rates }) => to.set(Number(rates.ok)))
  gauge('decisions_due', 'payments with news nobody has looked at', [], (to, { backlog }) => {
    if (backlog) to.set(backlog.decisionsDue)
  })
  gauge('delivery_due_age_seconds', 'wait of the webhook due the longest', [], (to, { backlog }) => {
    if (backlog) to.set(backlog.deliveryDueAgeMs / 1_000)
  })
  gauge('deliveries_pending', 'webhooks waiting for an attempt', [], (to, { backlog }) => {
    if (backlog) to.set(backlog.deliveriesPending)
  })
  gauge(
    'webhook_endpoints_ill',
    'endpoints that fail now, or were disabled for it',
    ['state'],
    (to, { backlog }) => {
      if (!backlog) return
      to.set({ state: 'failing' }, backlog.endpointsFailing)
      to.set({ state: 'disabled' }, backlog.endpointsDisabled)
    },
  )
  describeAttempts(registry, read)
  gauge('fresh_addresses', 'addresses derived ahead', ['chain'], (to, { backlog }) => {
    for (const [chain, count] of Object.entries(backlog?.freshAddresses ?? {})) to.set({ chain }, count)
  })
  gauge(
    'withdrawal_waiting_age_seconds',
    'wait of the oldest withdrawal that was not sent yet',
    ['chain'],
    (to, { backlog }) => {
      for (const [chain, ageMs] of Object.entries(backlog?.withdrawalAgesMs ?? {}))
        to.set({ chain }, ageMs / 1_000)
    },
  )
  gauge(
    'unswept_coins',
    'confirmed deposits that lie at their own addresses, in whole coins',
    ['chain', 'asset'],
    (to, { backlog }) => {
      for (const { chain, asset, atoms } of backlog?.unswept ?? [])
        to.set({ chain, asset }, Number(formatDecimal(atoms, ASSET_FACTS[asset].decimals)))
    },
  )
  gauge('frozen', '1 for a coin that pays nothing out', ['chain', 'asset'], (to, { backlog }) => {
    for (const { chain, asset } of backlog?.frozen ?? []) to.set({ chain, asset }, 1)
  })
  gauge(
    'proof_age_seconds',
    'time since books and chain were last found to agree',
    ['chain'],
    (to, { backlog }) => {
      for (const [chain, ageMs] of Object.entries(backlog?.proofAgesMs ?? {}))
        to.set({ chain }, ageMs / 1_000)
    },
  )
  gauge('alerts', 'alerts that the operator has not acknowledged', [], (to, { backlog }) => {
    if (backlog) to.set(backlog.alerts)
  })
}

/** What is the gateway's own, in whole coins. */
function describeOwnMoney(registry: Registry, read: () => Promise<OwnBalance[]>): void {
  new Gauge({
    name: 'beck_own_coins',
    help: "the gateway's own: fees earned, capital, network fees paid, loss, what can be taken out, what merchants have",
    labelNames: ['chain', 'asset', 'account'],
    registers: [registry],
    async collect() {
      // Metrics of a database that does not answer are those that need none.
      const balances = await read().catch(() => [])
      this.reset()
      for (const { chain, asset, payable, ...sums } of balances)
        for (const [account, atoms] of [
          ['fees', sums.fees],
          ['capital', sums.capital],
          ['network_fees', sums.networkFees],
          ['loss', sums.loss],
          ['leaving', sums.leaving],
          ['owed', sums.owed],
          ['fees_payable', payable.fees],
          ['capital_payable', payable.capital],
        ] as const)
          this.set({ chain, asset, account }, Number(formatDecimal(atoms, ASSET_FACTS[asset].decimals)))
    },
  })
}

/** Counters kept in the database, so that they are those of all workers. */
function describeAttempts(registry: Registry, read: () => Promise<Health>): void {
  const counter = (name: string, help: string, amount: (total: DeliveryTotal) => number) =>
    new Counter({
      name: `beck_delivery_${name}`,
      help,
      labelNames: ['result'],
      registers: [registry],
      async collect() {
        this.reset()
        for (const total of (await read()).backlog?.deliveryTotals ?? [])
          this.inc({ result: total.result }, amount(total))
      },
    })
  counter('attempts_total', 'attempts to deliver webhooks, by the answer', ({ attempts }) => attempts)
  counter('attempt_seconds_total', 'time they took', ({ durationMs }) => durationMs / 1_000)
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
