/** Where traces go: the variables that OpenTelemetry gives every program. */
import type { TraceSettings } from '../process/trace-export.ts'
import { hidden, orNull, type Read } from './variables.ts'

/** @returns Null for nowhere. */
export function readTraces(read: Read): TraceSettings | null {
  const url = read(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    null,
    tracesUrlOf,
    'a URL that begins with http: or https:, such as http://127.0.0.1:4318',
    hidden,
  )
  const headers = read(
    'OTEL_EXPORTER_OTLP_HEADERS',
    {},
    orNull(headersOf),
    'name=value, comma-separated',
    hidden,
  )
  const serviceName = read('OTEL_SERVICE_NAME', 'beck', (text) => text, 'a name')
  return url === null ? null : { url, headers, serviceName }
}

function tracesUrlOf(text: string): string | null {
  const url = URL.parse(text)
  return url && /^https?:$/.test(url.protocol) ? `${text.replace(/\/+$/, '')}/v1/traces` : null
}

/** As the specification writes them: values are percent-encoded. */
const headersOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text.split(',').map((pair) => {
      const [, name, value] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(\S+)\s*$/.exec(pair) ?? []
      if (!name || !value) throw new Error('no header')
      return [name.toLowerCase(), decodeURIComponent(value)]
    }),
  )
