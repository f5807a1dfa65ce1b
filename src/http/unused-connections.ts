/**
 * Browsers open connections ahead of requests. Node takes one that has not asked for anything yet for busy, and would
 * wait for it for a minute when the server closes.
 */
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

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
    for (const socket of unused) socket.destroy()
  })
}
