/** Load in a process of its own: `node load.ts URL KEY BODY CONNECTIONS SECONDS [keyed]`, the result as JSON. */
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'

interface Request {
  headers: Record<string, string>
}
/**
 * Beck ends a connection after a thousand requests, and says so. The load tool has sent the next one by then, never hears of it,
 * and takes every later answer for one to a request before: it is to begin anew sooner.
 */
const REQUESTS_OF_A_CONNECTION = 500

type Autocannon = (options: object) => Promise<object>

const autocannon: Autocannon = createRequire(import.meta.url)('autocannon')
const [url = '', key = '', body = '', connections = '', seconds = '', keyed] = process.argv.slice(2)
const result = await autocannon({
  url,
  connections: Number(connections),
  duration: Number(seconds),
  reconnectRate: REQUESTS_OF_A_CONNECTION,
  method: 'POST',
  headers: { 'x-api-key': key, 'content-type': 'application/json' },
  body,
  requests: [
    keyed
      ? {
          setupRequest: (request: Request) => ({
            ...request,
            headers: { ...request.headers, 'idempotency-key': randomUUID() },
          }),
        }
      : {},
  ],
})
const { user, system } = process.cpuUsage()
process.stdout.write(JSON.stringify({ ...result, cpuSeconds: (user + system) / 1e6 }))
