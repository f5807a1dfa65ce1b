/**
 * What Node holds at the least with thousands of requests over TLS in flight: its own client, nothing of Beck, and of a delivery only
 * that its bytes are sent and its answer is read. It is started with a small young space, and shakes hands with few at a time: all
 * at once take more.
 */
import { Agent, request } from 'node:https'
import { setTimeout } from 'node:timers/promises'
import { createSecureContext } from 'node:tls'

interface Sending {
  readonly port: number
  readonly ca: string
  readonly requests: number
  readonly inFlight: number
  readonly bodyBytes: number
}
/** Connections that are being made. */
const NEW_AT_ONCE = 16
/** One that answers late has been made by then. */
const MADE_MS = 10

process.once('message', async ({ port, ca, requests, inFlight, bodyBytes }: Sending) => {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: inFlight,
    secureContext: createSecureContext({ ca }),
  })
  const body = 'x'.repeat(bodyBytes)
  const post = () =>
    new Promise<void>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, method: 'POST', agent }, (answer) => {
        answer.resume().once('end', () => {
          if (answer.statusCode === 200) resolve()
          else reject(new Error(`answered ${answer.statusCode}`))
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  let left = requests
  await Promise.all(
    Array.from({ length: inFlight }, async (_, n) => {
      await setTimeout(Math.floor(n / NEW_AT_ONCE) * MADE_MS)
      while (left-- > 0) await post()
    }),
  )
  process.send?.({ rssMb: process.resourceUsage().maxRSS / 1_024 })
})
process.on('disconnect', () => process.exit())
