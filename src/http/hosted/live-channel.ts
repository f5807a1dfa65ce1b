/**
 * `/checkout/{cs_…}/events`: server-sent events that tell an open page when to look again; `/checkout/{cs_…}/version` for
 * pages that cannot have them.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sessionNotFound } from '../../checkout/session.ts'
import { readId, type SessionId } from '../../core/ids.ts'
import { changedMoments, readTips } from '../../flows/checkout/checkout-moments.sql.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { isAskedFurther } from '../connections.ts'
import { queryValue } from './forms.ts'
import { openHub } from './hub.ts'
import type { Limits } from './limits.ts'
import { gatherMoments } from './moments.ts'

/** Below the minute after which proxies take a silent connection for dead. */
const HEARTBEAT_MS = 25_000
/** An event and not a comment: pages hear it, and know that their stream is not kept from them. */
const BEAT = 'event: beat\ndata:\n\n'
/** A reader that does not read is let go: its page asks again when it wakes up. */
const UNREAD_BYTES_MAX = 4_096
/** Heartbeats written at once, before others get a turn. */
const BEATS_AT_ONCE = 500

/** A session of which no version is known. */
const unknown = (id: SessionId) => ({ id, version: null })

const VERSION = /^[0-9a-f]{16}-\d{1,4}$/

export function registerLiveChannel(scope: FastifyInstance, gateway: Gateway, limits: Limits): void {
  const hub = openHub({
    changed: (known) => changedMoments(gateway.db, known),
    pulse: () => readTips(gateway.db),
    log: gateway.log,
  })
  const readMoment = gatherMoments((ids) => changedMoments(gateway.db, ids.map(unknown)))
  const streams = new Set<Socket>()

  const heartbeat = startHeartbeat(streams)
  let isClosing = false
  // Before the server waits for its connections to end.
  scope.addHook('preClose', async () => {
    isClosing = true
    clearInterval(heartbeat)
    for (const stream of streams) stream.destroySoon()
    await hub.stop()
  })

  scope.get('/checkout/:id/version', async (request: FastifyRequest<{ Params: { id: string } }>, reply) => {
    const id = readId('cs', request.params.id)
    const moment = id && (await readMoment(id))
    if (!moment) throw sessionNotFound()
    return reply.type('text/plain').send(moment.version)
  })

  scope.get(
    '/checkout/:id/events',
    { exposeHeadRoute: false },
    async (request: FastifyRequest<{ Params: { id: string } }>, reply) => {
      const id = readId('cs', request.params.id)
      // It has no body; its end is read before its connection is taken.
      request.raw.resume()
      if (!id) throw sessionNotFound()
      const address = request.ip
      // Who has enough of them asks the database nothing.
      limits.enterStream(address)
      const moment = await readMoment(id).catch((error: unknown) => {
        limits.leaveStream(address)
        throw error
      })
      if (!moment || isClosing || !canStream(request.raw, reply.raw)) {
        limits.leaveStream(address)
        if (!moment) throw sessionNotFound()
        reply.hijack()
        request.raw.socket.destroy()
        return reply
      }
      const seen = versionOf(request)
      reply.hijack()
      const stream = openStream(request.raw, reply)
      const listener = {
        hear: (version: string, waitMs: number) =>
          write(stream, `id: ${version}\nevent: news\ndata: ${waitMs}\n\n`),
      }
      streams.add(stream)
      stream.once('close', () => {
        streams.delete(stream)
        hub.leave(id, listener)
        limits.leaveStream(address)
      })
      hub.listen(id, moment.version, listener)
      if (seen !== moment.version) listener.hear(moment.version, 0)
      return reply
    },
  )
}

function startHeartbeat(streams: ReadonlySet<Socket>): NodeJS.Timeout {
  return setInterval(async () => {
    let written = 0
    for (const stream of [...streams]) {
      write(stream, BEAT)
      if (++written % BEATS_AT_ONCE === 0) await new Promise(setImmediate)
    }
  }, HEARTBEAT_MS)
}

/**
 * Not one who left meanwhile, who is not seen leaving any more and would keep his place for ever; nor one who asked for
 * something behind this, or sent what cannot be read: browsers do neither.
 */
function canStream(request: IncomingMessage, response: ServerResponse): boolean {
  const { socket } = request
  return response.socket?.writable === true && !socket.isPaused() && !isAskedFurther(socket)
}

/**
 * Begins the answer, which has no end but the connection's: it is no message of the HTTP server any more. It says what every
 * answer of the hosted pages says (`headers.ts`).
 */
function openStream(request: IncomingMessage, reply: FastifyReply): Socket {
  const response = reply.raw
  // Sent as it is, to the end of the connection: chunks would triple the buffers of each event.
  response.removeHeader('Transfer-Encoding')
  response.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'text/event-stream; charset=utf-8',
    connection: 'close',
    'x-accel-buffering': 'no',
  })
  response.write(BEAT)
  return takeConnection(request, response)
}

/**
 * Pages stay open for long, and Node would keep a parser of 10 kB for the next request on each connection, which never
 * comes, and the request and the answer too. To its HTTP server the connection is closed: all who listen for that are
 * told so and clean up, and hear nothing of it any more. What the browser still says is thrown away.
 */
function takeConnection(request: IncomingMessage, response: ServerResponse): Socket {
  const { socket } = request
  response.detachSocket(socket)
  const told = socket.listeners('close')
  socket.removeAllListeners()
  for (const listener of told) listener.call(socket, false)
  socket.setTimeout(0)
  return socket
    .on('error', () => socket.destroy())
    .once('end', () => socket.destroy())
    .resume()
}

function write(stream: Socket, text: string): void {
  // While the server closes, to a reader whose last bytes are still on their way.
  if (stream.writableEnded) return
  if (stream.writableLength > UNREAD_BYTES_MAX) stream.destroy()
  else stream.write(text, 'latin1')
}

/** What the page shows: the browser repeats the last event's id by itself when it comes back. */
function versionOf(request: FastifyRequest): string | null {
  const last = request.headers['last-event-id']
  const version = typeof last === 'string' ? last : queryValue(request, 'version')
  return VERSION.test(version) ? version : null
}
