/** Scripts, style and logos: kept by browsers for ever. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { findLogo } from '../../accounts/accounts.sql.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { loadWebFiles, type WebFile } from './web-files.ts'

const FOR_EVER = 'public, max-age=31536000, immutable'
/** The embedding script keeps its name, so that a new one must be found within minutes. */
const FOR_MINUTES = 'public, max-age=300'

/** Opened by itself, a picture runs nothing and is framed by nobody. */
const PICTURE_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"

/** Of a page that was put on a phone's home screen: those want a file with a name. */
const HOME_ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 512 512"><rect width="512" height="512" fill="#2c52d0"/><path d="M144 264l80 80 144-160" fill="none" stroke="#fff" stroke-width="56"/></svg>'
export const HOME_ICON_PATH = '/checkout-assets/home-icon.svg'

export function registerWebFiles(app: FastifyInstance): void {
  app.get(HOME_ICON_PATH, (_request, reply) =>
    reply
      .type('image/svg+xml')
      .header('Cache-Control', FOR_MINUTES)
      .header('Content-Security-Policy', PICTURE_POLICY)
      .header('X-Content-Type-Options', 'nosniff')
      .send(HOME_ICON),
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
