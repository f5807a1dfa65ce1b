/** A span for each request of a key, in the trace of the payment or the withdrawal that it is about. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { readId, showId } from '../core/ids.ts'
import { below, newTrace, readTraceparent, rootOf, type SpanPlace, type Traces } from '../core/trace.ts'

/** Of strangers nothing is traced: they could fill the collector. */
export function traceRequests(app: FastifyInstance, traces: Traces): void {
  const places = new WeakMap<FastifyRequest, SpanPlace>()
  app.addHook('onSend', async (request, reply, payload) => {
    const id = request.caller && typeof payload === 'string' ? subjectOf(payload) : null
    if (id === null) return
    // The request that makes it is where its trace begins, and a repeated one is not.
    const isFirst = reply.statusCode === 201 && reply.getHeader('Idempotent-Replayed') === undefined
    places.set(request, isFirst ? rootOf(id) : below(rootOf(id)))
  })
  app.addHook('onResponse', async (request, reply) => {
    if (!request.caller) return
    const { statusCode, elapsedTime } = reply
    const route = request.routeOptions.url ?? 'unknown'
    traces.add({
      ...(places.get(request) ?? newTrace()),
      name: `${request.method} ${route}`,
      kind: 'server',
      link: readTraceparent(request.headers.traceparent),
      startedAt: new Date(Date.now() - elapsedTime),
      durationMs: elapsedTime,
      attributes: {
        'http.request.method': request.method,
        'http.route': route,
        'http.response.status_code': statusCode,
        'beck.request_id': request.id,
        'beck.account_id': showId('acct', request.caller.account.id),
      },
      failure: statusCode >= 500 ? (request.refusal ?? 'failed') : null,
    })
  })
}

/** The id of the payment or withdrawal that an answer shows; null for every other answer. */
function subjectOf(answer: string): string | null {
  const [, id, prefix] = /^\{"data":\{"id":"((pay|wd)_[0-9a-z]+)"/.exec(answer.slice(0, 100)) ?? []
  return id === undefined ? null : readId(prefix === 'pay' ? 'pay' : 'wd', id)
}
