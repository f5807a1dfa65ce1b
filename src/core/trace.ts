/**
 * Traces: which steps a payment or a withdrawal went through, in which process, and how long each took. Its id is the id of
 * its trace, so every process finds the same one and nothing is passed on or kept.
 *
 * @see https://www.w3.org/TR/trace-context/
 */
import { randomBytes } from 'node:crypto'

/** 32 and 16 hexadecimal digits. */
export interface SpanPlace {
  readonly traceId: string
  readonly spanId: string
}

export interface Span extends SpanPlace {
  readonly name: string
  readonly kind: 'internal' | 'server' | 'client'
  readonly parentSpanId?: string
  /** What of somebody else's trace led here. */
  readonly link?: SpanPlace | null
  readonly startedAt: Date
  readonly durationMs: number
  readonly attributes: Readonly<Record<string, string | number>>
  /** Why it failed; null when it did not. */
  readonly failure: string | null
}

export interface Traces {
  /** Never waits and never fails: what cannot be sent is dropped. */
  add(span: Span): void
}

export const newSpanId = (): string => randomBytes(8).toString('hex')

/** Of something that is about no payment and no withdrawal. */
export const newTrace = (): SpanPlace => ({ traceId: randomBytes(16).toString('hex'), spanId: newSpanId() })

/** Where the trace of a payment or a withdrawal begins. @param id - Its UUID. */
export function rootOf(id: string): SpanPlace {
  const traceId = id.replaceAll('-', '')
  return { traceId, spanId: traceId.slice(16) }
}

/** One step further on. */
export function below(root: SpanPlace): SpanPlace & { readonly parentSpanId: string } {
  return { traceId: root.traceId, spanId: newSpanId(), parentSpanId: root.spanId }
}

/** The header `traceparent`: whoever gets it can go on with the trace. */
export const traceparentOf = ({ traceId, spanId }: SpanPlace): string => `00-${traceId}-${spanId}-01`

/** @returns Null for what is no `traceparent`. */
export function readTraceparent(text: unknown): SpanPlace | null {
  const [, traceId, spanId] =
    /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}$/.exec(String(text)) ?? []
  return traceId && spanId ? { traceId, spanId } : null
}
