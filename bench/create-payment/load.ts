/** Load in a process of its own: `node load.ts URL KEY BODY CONNECTIONS SECONDS [keyed]`, the result as JSON. */
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { paymentRequests } from './payment-requests.ts'

interface Request {
  headers: Record<string, string>
}

type Autocannon = (options: object) => Promise<object>

const autocannon: Autocannon = createRequire(import.meta.url)('autocannon')
const [keyed] = process.argv.slice(7)
const result = await autocannon({
  ...paymentRequests(process.argv.slice(2)),
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
