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
/** Of a stop, which has children and the database to close after this. */
const CLOSE_MS = 2 * SECOND_MS
const ANSWER_BYTES_MAX = 64 * 1_024

/** As the protocol numbers them. */
const KINDS = { internal: 1, server: 2, client: 3 } as const
const FAILED = 2

export interface TraceExport extends Traces {
  /** Sends what waits, for two seconds at most: what the collector has not taken by then is dropped. */
  close(): Promise<void>
}

export interface TraceExportOptions {
  /** From a span to the batch that it goes with. */
  readonly everyMs?: number
  /** How long `close` takes at most. */
  readonly closeMs?: number
}

/** @param share - Which part of Beck this process is. */
export function openTraceExport(
  settings: TraceSettings,
  share: string,
  log: Pick<Log, 'warn'>,
  { everyMs = EVERY_MS, closeMs = CLOSE_MS }: TraceExportOptions = {},
): TraceExport {
  const waiting: Span[] = []
  const cut = new AbortController()
  const collector = openCollector(settings, share, cut.signal)
  const gaps = openGaps(log)
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | null = null
  let isClosing = false

  /** Until nothing waits, or the collector does not take a batch: what is left then waits for the next turn. */
  const drain = async () => {
    while (waiting.length > 0 && !cut.signal.aborted) {
      const batch = waiting.splice(0, BATCH_MAX)
      const why = await collector.send(batch)
      if (why !== null) return gaps.add(batch.length, why)
    }
  }
  const turn = async () => {
    timer = undefined
    sending = drain()
    await sending
    sending = null
    if (waiting.length > 0) arm()
  }
  const arm = () => {
    if (!sending && !isClosing) timer ??= setTimeout(turn, everyMs).unref()
  }
  return {
    add(span) {
      if (waiting.length >= WAITING_MAX) return gaps.add(1, 'too many wait')
      waiting.push(span)
      arm()
    },
    async close() {
      isClosing = true
      clearTimeout(timer)
      const deadline = setTimeout(() => cut.abort(), closeMs)
      await sending
      await drain()
      clearTimeout(deadline)
      if (waiting.length > 0) gaps.add(waiting.splice(0).length, 'Beck stopped')
      gaps.tell()
      collector.close()
    },
  }
}

/** @param signal - Cuts off what is being sent. */
function openCollector(settings: TraceSettings, share: string, signal: AbortSignal) {
  const connections = openConnections({ idleMs: 30 * SECOND_MS, perHostMax: 1 })
  const resource = {
    attributes: attributesOf({
      'service.name': settings.serviceName,
      'service.version': VERSION,
      'beck.role': share,
    }),
  }
  return {
    /** @returns Why the collector did not take them; null when it did. */
    async send(spans: readonly Span[]): Promise<number | string | null> {
      const scopeSpans = [{ scope: { name: 'beck', version: VERSION }, spans: spans.map(spanOf) }]
      const { status } = await exchange({
        url: settings.url,
        method: 'POST',
        headers: { ...settings.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] }),
        timeoutMs: TIMEOUT_MS,
        bytesMax: ANSWER_BYTES_MAX,
        signal,
        connections,
      }).catch((error: Error) => ({ status: error.message }))
      return status === 200 ? null : status
    },
    close: () => connections.close(),
  }
}

/** Counts what was dropped, and tells it once a minute. */
function openGaps(log: Pick<Log, 'warn'>) {
  let dropped = 0
  let why: number | string = ''
  let toldAtMs = Number.NEGATIVE_INFINITY
  const tell = () => {
    if (dropped === 0) return
    toldAtMs = performance.now()
    log.warn(
      { dropped, why },
      'traces have gaps: the collector of OTEL_EXPORTER_OTLP_ENDPOINT did not take them',
    )
    dropped = 0
  }
  return {
    tell,
    /** @param reason - The collector's status, or why there is none. */
    add(spans: number, reason: number | string) {
      dropped += spans
      why = reason
      if (performance.now() - toldAtMs >= MINUTE_MS) tell()
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
