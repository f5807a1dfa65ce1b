/** Listens, and says where. */
import type { FastifyInstance } from 'fastify'
import type { Gateway } from '../flows/gateway.ts'
import { answerHeaders } from './answer-headers.ts'
import { type AppOptions, buildApp } from './app.ts'
import { type Monitor, type MonitorAddress, startMonitor } from './monitor.ts'
import { allAddresses, portOf } from './port.ts'

export interface ServerOptions extends AppOptions {
  readonly port: number
  /** All addresses when absent. */
  readonly host?: string
  /** Where metrics are served; nowhere when absent. */
  readonly monitor?: MonitorAddress
}

export interface Server {
  readonly app: FastifyInstance
  /** The port listened on; another than asked for when that was 0. */
  readonly port: number
  /** Null when metrics are not served. */
  readonly monitorPort: number | null
  /** Stops accepting, lets running requests end, closes idle connections. */
  close(): Promise<void>
}

export async function startServer(gateway: Gateway, options: ServerOptions): Promise<Server> {
  const app = await buildApp(gateway, options)
  let monitor: Monitor | null = null
  try {
    const headers = answerHeaders(gateway.settings.publicUrl)
    if (options.monitor)
      monitor = await startMonitor(app.monitored.answer, headers, options.monitor, gateway.log)
    await app.listen({ port: options.port, host: options.host ?? allAddresses() })
  } catch (error) {
    // What the application runs by itself ends with it.
    await Promise.all([app.close(), monitor?.close()])
    throw error
  }
  return {
    app,
    port: portOf(app.server) ?? options.port,
    monitorPort: monitor?.port ?? null,
    close: async () => {
      await app.close()
      await monitor?.close()
    },
  }
}
