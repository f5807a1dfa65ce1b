/** Scripts and style: compressed once, kept by browsers for ever. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { loadWebFiles, type WebFile } from './web-files.ts'

const FOR_EVER = 'public, max-age=31536000, immutable'
/** The embedding script keeps its name, so that a new one must be found within minutes. */
const FOR_MINUTES = 'public, max-age=300'

export function registerWebFiles(app: FastifyInstance): void {
  const { kept, embed } = loadWebFiles()
  for (const file of kept.values())
    app.get(file.path, (request, reply) => send(request, reply, file, FOR_EVER))
  app.get(embed.path, (request, reply) =>
    send(request, reply.header('Cross-Origin-Resource-Policy', 'cross-origin'), embed, FOR_MINUTES),
  )
}

function send(request: FastifyRequest, reply: FastifyReply, file: WebFile, caching: string): FastifyReply {
  reply
    .header('Cache-Control', caching)
    .header('ETag', file.etag)
    .header('Vary', 'Accept-Encoding')
    .header('X-Content-Type-Options', 'nosniff')
    .type(file.type)
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
  return /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
    ? reply.header('Content-Encoding', 'gzip').send(file.gzip)
    : reply.send(file.text)
}
