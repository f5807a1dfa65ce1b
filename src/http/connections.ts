/**
 * What a connection may ask of this process before anything of the house sees it. Requests that come behind an unanswered
 * one wait for their turn and are not begun for somebody who has gone; who sends many that way, keeps his answers
 * unread, or floods, is cut off. Browsers and clients of APIs do none of that.
 */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { invariant } from '../core/errors.ts'
import { plainAddress, sharesOf } from '../core/networks.ts'
import type { AddressLimit } from './address-limit.ts'
import type { AnswerHeaders } from './answer-headers.ts'
import { failure } from './envelope.ts'
import { newRequestId } from './request-id.ts'
import { hasItsHost } from './sent-once.ts'
import { answerToUnreadable, refuseUnreadable } from './unreadable.ts'

type Exchange = Parameters<RequestListener>

interface Connection {
  readonly socket: Socket
  /** As the door names them. */
  readonly networks: readonly string[]
  /** Of each of them. */
  readonly held: readonly Held[]
  begun: number
  answering: ServerResponse | null
  /** When an answer was first seen lying unread. */
  unreadSinceMs: number | null
  readonly waiting: Exchange[]
}

/** What a network holds: its connections, and those of them on which nothing was asked yet. */
interface Held {
  open: number
  silent: number
}

export interface ConnectionLimits {
  /** Requests behind one that is not answered yet. */
  readonly waiting: number
  /** After so many requests a connection has to be made anew. */
  readonly requests: number
  /** Connections of all, and of one host that is no trusted proxy; of the networks around it some times that. */
  readonly connections: number
  readonly perHost: number
  /** Of one host, connections without a request: all that are opened at once run out at once, and each costs an answer. */
  readonly silentPerHost: number
  /** For the head of a request, and for the whole of it. */
  readonly headMs: number
  readonly requestMs: number
  /** For a finished answer to be taken. */
  readonly unreadMs: number
  /** In which so many bytes have to come of a body whose request was answered before it was there. */
  readonly restMs: number
  readonly restBytes: number
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  waiting: 16,
  requests: 1_000,
  connections: 20_000,
  perHost: 1_000,
  silentPerHost: 100,
  headMs: 15_000,
  requestMs: 30_000,
  unreadMs: 30_000,
  restMs: 2_000,
  restBytes: 4_000,
}

/** Above the minute that load balancers keep connections for, so that they close first. */
const KEEP_ALIVE_MS = 72_000

const connections = new WeakMap<Duplex, Connection>()

/** Whether something was asked for behind the request that runs. */
export const isAskedFurther = (socket: Socket): boolean => (connections.get(socket)?.waiting.length ?? 0) > 0

/** Who is let in. Whether to turn a host away is asked once for each of its connections. */
export interface Door extends Pick<AddressLimit, 'turnAway' | 'shutAmong' | 'cutOff' | 'takeOf'> {
  /** The host and the networks around it, from the smallest; none for whom no number of connections is too many. */
  networksOf(address: string): readonly string[]
  /** Seconds to wait; 0 for a request that may come in. */
  admit(request: IncomingMessage): number
}

export function createLimitedServer(
  handle: RequestListener,
  door: Door,
  headers: AnswerHeaders,
  limits: ConnectionLimits = CONNECTION_LIMITS,
): Server {
  const open = new Set<Connection>()
  const endSilent = silentEnder(door, open)
  const listener = inTurn(handle, door, headers, limits, endSilent)
  const server = createServer(
    {
      headersTimeout: limits.headMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: Math.min(limits.headMs, 5_000),
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Node would answer those by itself, as fast as they come.
      requireHostHeader: false,
    },
    listener,
  )
  // What else than 100-continue somebody expects, Node would refuse by itself, past the door and without the headers.
  server.on('checkExpectation', listener)
  // What cannot be read costs as much as a request, and is counted as one.
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket) => {
    const connection = connections.get(socket)
    if (connection && code !== 'ECONNRESET' && door.takeOf(connection.networks) > 0) {
      socket.destroy()
      endSilent(connection)
      return
    }
    // It is open for as long as its answer may take to be fetched, and it is silent no more.
    if (connection) countAsked(connection)
    refuseUnreadable(code, socket, headers)
  })
  server.maxConnections = limits.connections
  // Node would leave out the headers behind so many; those of 16 kB are few enough.
  server.maxHeadersCount = 0
  countConnections(server, door, limits, open)
  const sweep = setInterval(() => cutUnread(open, limits.unreadMs), Math.min(limits.unreadMs, 5_000))
  sweep.unref()
  server.once('close', () => clearInterval(sweep))
  return server
}

/** Counts them by host and by the networks around it, and refuses those of whom holds too many. */
function countConnections(server: Server, door: Door, limits: ConnectionLimits, open: Set<Connection>): void {
  const holders = openHolders(limits)
  const isRefused = (networks: readonly string[]): boolean =>
    holders.isFull(networks) || door.turnAway(networks)
  // What node:net asks before it makes a socket; its servers take a list, those of node:http pass none on. Who dials
  // thousands of times a second costs a fifth of what sockets and parsers for each would.
  Object.assign(server, {
    blockList: { check: (peer: string) => isRefused(door.networksOf(plainAddress(peer))) },
  })
  const [serve, ...others] = server.listeners('connection')
  invariant(serve && others.length === 0, 'a server of node:http has one listener for its connections')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket
    // Reset before it was taken: what was sent lies there to be read all the same, and nobody could be held to it. (Those
    // of a Unix socket have no address either; Beck listens on none.)
    if (remoteAddress === undefined) {
      socket.destroy()
      return
    }
    // As everybody writes it, for limits, logs and records alike, and also once he has gone.
    const address = plainAddress(remoteAddress)
    Object.defineProperty(socket, 'remoteAddress', { value: address })
    const networks = door.networksOf(address)
    const connection: Connection = {
      socket,
      networks,
      held: holders.enter(networks),
      begun: 0,
      answering: null,
      unreadSinceMs: null,
      waiting: [],
    }
    open.add(connection)
    connections.set(socket, connection)
    socket.once('close', () => {
      open.delete(connection)
      connections.delete(socket)
      connection.waiting.length = 0
      holders.leave(connection)
    })
    serve.call(server, socket)
  })
}

/** What each network holds. */
function openHolders(limits: ConnectionLimits) {
  const holders = new Map<string, Held>()
  const openMax = sharesOf(limits.perHost)
  const silentMax = sharesOf(limits.silentPerHost)
  return {
    isFull: (networks: readonly string[]): boolean =>
      networks.some((network, level) => {
        const held = holders.get(network)
        return held && (held.open >= (openMax[level] ?? 0) || held.silent >= (silentMax[level] ?? 0))
      }),
    /** @returns What each of them holds, with the new one, which is silent. */
    enter: (networks: readonly string[]): readonly Held[] =>
      networks.map((network) => {
        const held = holders.get(network) ?? { open: 0, silent: 0 }
        holders.set(network, held)
        held.open += 1
        held.silent += 1
        return held
      }),
    leave({ networks, held, begun }: Connection): void {
      for (const [level, each] of held.entries()) {
        each.open -= 1
        if (begun === 0) each.silent -= 1
        if (each.open === 0) holders.delete(networks[level] ?? '')
      }
    },
  }
}

function countAsked(connection: Connection): void {
  if (connection.begun === 0) for (const held of connection.held) held.silent -= 1
  connection.begun += 1
}

function inTurn(
  handle: RequestListener,
  door: Door,
  headers: AnswerHeaders,
  limits: ConnectionLimits,
  endSilent: (connection: Connection) => void,
): RequestListener {
  const begin = (connection: Connection, [request, response]: Exchange) => {
    connection.answering = response
    countAsked(connection)
    // Node's own maxRequestsPerSocket says so too, but leaves the connection open.
    if (connection.begun >= limits.requests) response.shouldKeepAlive = false
    response.once('close', () => {
      connection.answering = null
      connection.unreadSinceMs = null
      if (!request.complete) endIfSlow(request, limits)
      if (connection.waiting.length > 0) setImmediate(next, connection)
    })
    const waitSeconds = door.admit(request)
    if (waitSeconds > 0) {
      refuse(response, headers, waitSeconds)
      endSilent(connection)
    } else if (!hasItsHost(request)) connection.socket.end(answerToUnreadable('NO_HOST', headers))
    else handle(request, response)
  }
  const next = (connection: Connection) => {
    const exchange = connection.socket.destroyed ? undefined : connection.waiting.shift()
    if (exchange) begin(connection, exchange)
  }
  return (request, response) => {
    const connection = connections.get(request.socket)
    // Of one who is gone.
    if (!connection || request.socket.destroyed) return
    if (connection.answering === null && connection.waiting.length === 0)
      begin(connection, [request, response])
    else if (connection.waiting.length >= limits.waiting) {
      stopReading(request.socket)
      request.socket.destroy()
      // What he sent at once was taken in all the same: whoever does so again and again is not let in for a while.
      door.cutOff(connection.networks)
      endSilent(connection)
    } else connection.waiting.push([request, response])
  }
}

/**
 * Ends connections that asked nothing yet, of a network that is not heard any more: the next one would be refused, so these are. What
 * was sent over them is not read.
 */
function silentEnder(door: Pick<Door, 'shutAmong'>, open: ReadonlySet<Connection>) {
  // Until what was ended is not counted any more: a flood is refused hundreds of times in one turn.
  const ending = new Set<string>()
  return ({ networks, held }: Connection): void => {
    if (held.every(({ silent }) => silent === 0)) return
    const shut = door.shutAmong(networks)
    if (shut === null || ending.has(shut) || held[networks.indexOf(shut)]?.silent === 0) return
    ending.add(shut)
    setImmediate(() => ending.delete(shut))
    for (const each of open) if (each.begun === 0 && each.networks.includes(shut)) each.socket.destroy()
  }
}

/** Byte by byte the rest of a body could come for as long as a request may take, and each costs a read. */
function endIfSlow(request: IncomingMessage, limits: ConnectionLimits): void {
  const { socket } = request
  const { bytesRead } = socket
  const look = () => {
    if (request.complete || socket.destroyed) return
    if (socket.bytesRead - bytesRead < limits.restBytes) socket.destroy()
    else endIfSlow(request, limits)
  }
  // After what lies there already, if the process had no time for it, was read.
  if (!socket.destroyed) setTimeout(setImmediate, limits.restMs, look).unref()
}

/**
 * Of the bytes that were read already Node would make requests to their end, and of each an error with its trace: thousands,
 * for one connection. What its parser is told about the next one, an upgrade, ends that.
 */
function stopReading(
  socket: Socket & {
    parser?: { onIncoming?: (next: IncomingMessage & { upgrade: boolean }) => number } | null
  },
): void {
  if (!socket.parser) return
  socket.parser.onIncoming = (next) => {
    // Whatever it asked for: it gets no upgrade.
    next.upgrade = false
    return 2
  }
}

/** In as few steps as can be. Whoever goes on has to make another connection. */
function refuse(response: ServerResponse, headers: AnswerHeaders, waitSeconds: number): void {
  const requestId = newRequestId()
  const message = `too many requests from this address; wait ${waitSeconds} s`
  response.shouldKeepAlive = false
  response
    .writeHead(429, {
      ...headers,
      'Content-Type': 'application/json; charset=utf-8',
      'Retry-After': waitSeconds,
      'X-Request-Id': requestId,
    })
    .end(JSON.stringify(failure(429, { reason: 'rate_limit_exceeded', message, requestId })))
}

/** Ends connections whose finished answer nobody takes: it would lie in memory for as long as they like. */
function cutUnread(open: ReadonlySet<Connection>, unreadMs: number): void {
  const nowMs = performance.now()
  for (const connection of open) {
    const { answering, unreadSinceMs, socket } = connection
    if (!answering?.writableEnded || answering.writableFinished) continue
    if (unreadSinceMs === null) connection.unreadSinceMs = nowMs
    else if (nowMs - unreadSinceMs >= unreadMs) socket.destroy()
  }
}
