/** The port that Beck listens on: whether it can be had, asked before anything is made that a failed start would waste. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { conflict, invalid, type Refusal, unavailable } from '../core/errors.ts'

/** Of IPv4 alone where the machine has no IPv6, as many containers have none. */
export function allAddresses(): string {
  const interfaces = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return interfaces.some(({ family }) => family === 'IPv6') ? '::' : '0.0.0.0'
}

/**
 * Takes the port for a moment and gives it back.
 *
 * @throws {Refusal} `port_in_use` or `port_not_permitted`, saying what to set.
 */
export async function requirePort(port: number, host: string = allAddresses()): Promise<void> {
  const server = createServer()
  try {
    await once(server.listen({ port, host }), 'listening')
  } catch (error) {
    throw portRefusal(error, port) ?? error
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
}

/** That a server listens on; null before it does. */
export function portOf(server: Server): number | null {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : null
}

/** What a failure to listen means for whoever started Beck; null for one of another kind. */
export function portRefusal(error: unknown, port: number, variable = 'PORT'): Refusal | null {
  if (!(error instanceof Error && 'code' in error)) return null
  if (error.code === 'EADDRINUSE')
    return conflict(
      'port_in_use',
      `port ${port} is in use by another program, perhaps another Beck; end it, or set ${variable} to another one (${variable}=8081 npm start)`,
    )
  if (error.code === 'EACCES')
    return unavailable(
      'port_not_permitted',
      `this user may not listen on port ${port}; set ${variable} to one above 1023 and put a proxy before it`,
    )
  if (error.code === 'EADDRNOTAVAIL')
    return invalid(
      'address_not_here',
      `this machine has no such address to listen on at port ${port}; set BECK_HOST or BECK_METRICS_HOST to one of its own`,
    )
  return null
}
