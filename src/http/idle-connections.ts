/**
 * What nobody uses does not hold the server up when it closes. Browsers open connections ahead of requests, some just
 * then: Node takes one that has not asked for anything yet for busy, and would wait for it for a minute. One whose request
 * runs is kept open for the next after its answer.
 */
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

const CHECK_EVERY_MS = 50

export function closeIdleConnections(app: FastifyInstance): void {
  const unused = new Set<Socket>()
  function forget(this: Socket): void {
    unused.delete(this)
  }
  app.server.on('connection', (socket) => unused.add(socket.once('close', forget)))
  app.server.on('request', ({ socket }) => {
    if (unused.delete(socket)) socket.off('close', forget)
  })
  app.addHook('preClose', async () => {
    if (!app.server.listening) return
    const closing = setInterval(() => {
      for (const socket of unused) socket.destroy()
      app.server.closeIdleConnections()
    }, CHECK_EVERY_MS)
    app.server.once('close', () => clearInterval(closing))
  })
}
