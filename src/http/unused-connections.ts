/**
 * Browsers open connections ahead of requests. Node takes one that has not asked for anything yet for busy, and would
 * wait for it for a minute when the server closes. Some come just then.
 */
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** How often what came while the server closes, and has not asked for anything yet, is let go. */
const LATE_MS = 100

export function closeUnusedConnections(app: FastifyInstance): void {
  const unused = new Set<Socket>()
  function forget(this: Socket): void {
    unused.delete(this)
  }
  app.server.on('connection', (socket) => unused.add(socket.once('close', forget)))
  app.server.on('request', ({ socket }) => {
    if (unused.delete(socket)) socket.off('close', forget)
  })
  app.addHook('preClose', async () => {
    const closeAll = () => {
      for (const socket of unused) socket.destroy()
    }
    closeAll()
    if (!app.server.listening) return
    const closing = setInterval(closeAll, LATE_MS)
    app.server.once('close', () => clearInterval(closing))
  })
}
