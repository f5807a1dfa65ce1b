/** Sends spans to a collector of OpenTelemetry: OTLP over HTTP, in JSON. */
import { exchange, openConnections } from '../core/http.ts'
import type { Log } from '../core/log.ts'
import { MINUTE_MS, SECOND_MS } from '../core/time.ts'
import type { Span, Traces } from '../core/trace.ts'
import { VERSION } from '../core/version.ts'

export interface TraceSettings {
  /** Ends in `/v1/traces`. */
  readonly url: string
  /** Such as a token of the collector. */
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
}

const EVERY_MS = SECOND_MS
const BATCH_MAX = 500
/** A few megabytes; what comes beyond while the collector is away is dropped. */
const WAITING_MAX = 5_000
const TIMEOUT_MS = 10 * SECOND_MS
const ANSWER_BYTES_MAX = 64 * 1_024

/** As the protocol numbers them. */
const KINDS = { internal: 1, server: 2, client: 3 } as const
const FAILED = 2

export interface TraceExport extends Traces {
  /** Sends what waits. */
  close(): Promise<void>
}

/** @param share - Which part of Beck this process is. */
export function openTraceExport(settings: TraceSettings, share: string, log: Pick<Log, 'warn'>): TraceExport {
  const connections = openConnections({ idleMs: 30 * SECOND_MS, perHostMax: 1 })
  const resource = {
    attributes: attributesOf({
      'service.name': settings.serviceName,
      'service.version': VERSION,
      'beck.role': share,
    }),
  }
  let waiting: Span[] = []
  let dropped = 0
  let toldAtMs = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | null = null
  let sending: Promise<void> = Promise.resolve()

  const send = async () => {
    for (; waiting.length > 0; ) {
      const batch = waiting.slice(0, BATCH_MAX)
      waiting = waiting.slice(BATCH_MAX)
      const scopeSpans = [{ scope: { name: 'beck', version: VERSION }, spans: batch.map(spanOf) }]
      const { status } = await exchange({
        url: settings.url,
        method: 'POST',
        headers: { ...settings.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] }),
        timeoutMs: TIMEOUT_MS,
        bytesMax: ANSWER_BYTES_MAX,
        connections,
      }).catch((error: Error) => ({ status: error.message }))
      if (status !== 200) lost(batch.length, status)
    }
  }
  const lost = (spans: number, why: number | string) => {
    dropped += spans
    if (performance.now() - toldAtMs < MINUTE_MS) return
    toldAtMs = performance.now()
    log.warn(
      { dropped, why },
      'traces have gaps: the collector of OTEL_EXPORTER_OTLP_ENDPOINT did not take them',
    )
    dropped = 0
  }
  const flush = (): Promise<void> => {
    timer = null
    sending = sending.then(send)
    return sending
  }
  return {
    add(span) {
      if (waiting.length >= WAITING_MAX) return lost(1, 'too many wait')
      waiting.push(span)
      timer ??= setTimeout(flush, EVERY_MS).unref()
    },
    async close() {
      if (timer) clearTimeout(timer)
      await flush()
      connections.close()
    },
  }
}

const attributesOf = (attributes: Span['attributes']) =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }))

const spanOf = ({ kind, link, startedAt, durationMs, attributes, failure, ...span }: Span) => ({
  ...span,
  kind: KINDS[kind],
  startTimeUnixNano: nanosOf(startedAt.getTime()),
  endTimeUnixNano: nanosOf(startedAt.getTime() + durationMs),
  attributes: attributesOf(attributes),
  ...(link ? { links: [link] } : {}),
  ...(failure === null ? {} : { status: { code: FAILED, message: failure } }),
})

const nanosOf = (ms: number): string => `${Math.round(ms)}000000`
