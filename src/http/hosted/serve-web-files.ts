/** Scripts, style and logos: kept by browsers for ever. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { findLogo } from '../../accounts/accounts.sql.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { HOME_ICON_PATH, homeIcon } from './home-icon.ts'
import { loadWebFiles, type WebFile } from './web-files.ts'

const FOR_EVER = 'public, max-age=31536000, immutable'
/** The embedding script keeps its name, so that a new one must be found within minutes. */
const FOR_MINUTES = 'public, max-age=300'

/** Opened by itself, a picture runs nothing and is framed by nobody. */
const PICTURE_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"

export function registerWebFiles(app: FastifyInstance): void {
  app.get(HOME_ICON_PATH, (_request, reply) =>
    reply
      .type('image/png')
      .header('Cache-Control', FOR_MINUTES)
      .header('Content-Security-Policy', PICTURE_POLICY)
      .header('X-Content-Type-Options', 'nosniff')
      .send(homeIcon()),
  )
  const { kept, embed } = loadWebFiles()
  for (const file of kept.values())
    app.get(file.path, (request, reply) => send(request, reply, file, FOR_EVER))
  app.get(embed.path, (request, reply) =>
    send(request, reply.header('Cross-Origin-Resource-Policy', 'cross-origin'), embed, FOR_MINUTES),
  )
}

const PICTURES: Readonly<Record<string, string>> = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp' }

/** Where a logo of that name lies. */
export const logoPath = (name: string): string => `/checkout-assets/logos/${name}`

/** Merchants' logos, from here and from nobody else. */
export function registerLogos(scope: FastifyInstance, gateway: Pick<Gateway, 'db'>): void {
  scope.get(logoPath(':name'), async (request: FastifyRequest<{ Params: { name: string } }>, reply) => {
    const { name } = request.params
    const type = PICTURES[/^[0-9a-f]{64}\.(png|jpg|webp)$/.exec(name)?.[1] ?? '']
    const bytes = type ? await findLogo(gateway.db, name) : null
    if (!type || !bytes) return reply.code(404).send()
    return reply
      .type(type)
      .header('Cache-Control', FOR_EVER)
      .header('Content-Security-Policy', PICTURE_POLICY)
      .send(bytes)
  })
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
