/** A gateway that does what it is asked to, once, and whose first answer to each call is lost on the way. */
import { createServer, type Server } from 'node:http'

const DATA = { items: [], total: 0, page: 1, limit: 25, total_pages: 0, has_more: false, cursor: null }

/** @param losing - Whether it loses anything: without, each answer comes at once. */
export function losingServer(losing: boolean): Server {
  /** By the request, with its Idempotency-Key. */
  const done = new Set<string>()
  return createServer((request, response) => {
    request.resume().on('end', () => {
      const { method = '', url = '', headers } = request
      const call = `${method} ${url} ${headers['idempotency-key'] ?? ''}`
      const isRepeated = done.has(call)
      done.add(call)
      if (losing && !isRepeated) return request.socket.destroy()
      const [status, reason] =
        method === 'DELETE' && isRepeated
          ? [404, 'webhook_endpoint_not_found']
          : method === 'POST' && headers['idempotency-key'] === undefined
            ? [409, 'without_a_key']
            : [200, null]
      const id = url.split('/').at(-1)
      const data = method === 'DELETE' ? { id, deleted: true } : { ...DATA, asked: `${method} ${url}` }
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(reason ? { data: null, error: { message: 'no', reason } } : { data, error: null })) // biome-ignore format: short
    })
  })
}
