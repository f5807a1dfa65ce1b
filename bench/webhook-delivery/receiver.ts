/** Answers 200 after a while; verifies afterwards, so that checking costs the measured time nothing. */
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

interface Request {
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string
}
const requests: Request[] = []
let inFlight = 0
let inFlightMax = 0

process.on('message', (message: Start | Finish) => {
  if ('latencyMs' in message) start(message)
  else process.send?.(verify(message.secretByPath))
})
process.on('disconnect', () => process.exit())

interface Start {
  /** Speaks TLS with these, plain HTTP without. */
  readonly key?: string
  readonly cert?: string
  readonly latencyMs: number
}
function start({ key, cert, latencyMs }: Start) {
  const listener: RequestListener = (request, response) => {
    inFlight += 1
    inFlightMax = Math.max(inFlightMax, inFlight)
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      const {
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': signature,
      } = request.headers
      requests.push({
        path: request.url ?? '',
        headers: {
          'webhook-id': String(id),
          'webhook-timestamp': String(timestamp),
          'webhook-signature': String(signature),
        },
        body,
      })
      setTimeout(() => {
        inFlight -= 1
        response.end('ok')
      }, latencyMs)
    })
  }
  const server = key && cert ? createTlsServer({ key, cert }, listener) : createServer(listener)
  server.keepAliveTimeout = 30_000
  server.listen(0, '127.0.0.1', 4_096, () => process.send?.({ port: (server.address() as AddressInfo).port }))
}

interface Finish {
  readonly secretByPath: Record<string, string>
}
function verify(secretByPath: Record<string, string>) {
  const distinct = new Set<string>()
  let verified = 0
  for (const { path, headers, body } of requests) {
    try {
      const event = new Webhook(secretByPath[path] ?? '').verify(body, headers)
      if (JSON.stringify(event) !== body) continue
      verified += 1
      distinct.add(`${headers['webhook-id']}`)
    } catch {
      // Counted below.
    }
  }
  return { verified, distinct: distinct.size, bad: requests.length - verified, inFlightMax }
}
