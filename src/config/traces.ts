/** Where traces go: the variables that OpenTelemetry gives every program. */
import { validateHeaderValue } from 'node:http'
import type { TraceSettings } from '../process/trace-export.ts'
import { hidden, orNull, type Read } from './variables.ts'

/** @returns Null for nowhere. */
export function readTraces(read: Read): TraceSettings | null {
  const url = read(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    null,
    tracesUrlOf,
    'a URL that begins with http: or https:, without user, query and fragment, such as http://127.0.0.1:4318',
    hidden,
  )
  const headers = read(
    'OTEL_EXPORTER_OTLP_HEADERS',
    {},
    orNull(headersOf),
    'name=value, comma-separated, each value percent-encoded',
    hidden,
  )
  const serviceName = read('OTEL_SERVICE_NAME', 'beck', (text) => text, 'a name')
  return url === null ? null : { url, headers, serviceName }
}

/** A token belongs in a header: servers log the URLs that they are asked for. */
function tracesUrlOf(text: string): string | null {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) return null
  const { origin, pathname, search, hash, username, password } = url
  return search || hash || username || password
    ? null
    : `${origin}${pathname.replace(/(?<!\/)\/+$/, '')}/v1/traces`
}

/** As the specification writes them: values are percent-encoded. @throws For what is no header, decoded. */
const headersOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text.split(',').map((pair) => {
      const [, name, value] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(\S+)\s*$/.exec(pair) ?? []
      if (!name || !value) throw new Error('no header')
      const decoded = decodeURIComponent(value)
      validateHeaderValue(name, decoded)
      return [name.toLowerCase(), decoded]
    }),
  )
