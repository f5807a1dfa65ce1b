/**
 * The second listener, for whoever watches over this Beck: `/metrics`, and `/readyz` with everything it knows. On
 * loopback unless the operator says otherwise: a freeze's reason names addresses and amounts.
 */
import { createServer, type RequestListener } from 'node:http'
import { isIPv6 } from 'node:net'
import type { Log } from '../core/log.ts'
import type { AnswerHeaders } from './answer-headers.ts'
import { portOf, portRefusal } from './port.ts'
import { hasItsHost } from './sent-once.ts'
import { refuseUnreadable } from './unreadable.ts'

export interface MonitorAddress {
  readonly host: string
  readonly port: number
  /** Whether the operator chose the port; else Beck does without when another program has it. */
  readonly isChosen: boolean
}

export interface Monitor {
  readonly port: number
  close(): Promise<void>
}

const REQUEST_MS = 10_000

/**
 * @param headers - Of every answer, those to what no request could be made of too.
 * @returns Null when the port that nobody chose is in use.
 */
export async function startMonitor(
  answer: RequestListener,
  headers: AnswerHeaders,
  { host, port, isChosen }: MonitorAddress,
  log: Log,
): Promise<Monitor | null> {
  const listener: RequestListener = (request, response) => {
    if (!hasItsHost(request)) return refuseUnreadable('NO_HOST', request.socket, headers)
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    answer(request, response)
  }
  const server = createServer(
    // Node would answer the last by itself, without the headers.
    { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, requireHostHeader: false },
    listener,
  )
  server.on('checkExpectation', listener)
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    refuseUnreadable(error.code ?? '', socket, headers),
  )
  server.maxConnections = 100
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen({ host, port }, resolve)
    })
  } catch (error) {
    const refusal = portRefusal(error, port, 'BECK_METRICS_PORT')
    if (isChosen || !refusal) throw refusal ?? error
    log.warn(
      { host, port },
      'metrics are not served: their port is in use; set BECK_METRICS_PORT to another one',
    )
    return null
  }
  const bound = portOf(server) ?? port
  const shownHost = isIPv6(host) ? `[${host}]` : host
  log.info({ url: `http://${shownHost}:${bound}/metrics` }, 'metrics are served')
  return {
    port: bound,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
