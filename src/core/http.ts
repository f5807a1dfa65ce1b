/**
 * One exchange over HTTP with somebody who may be slow, dead or hostile. The deadline holds for all of it, name
 * resolution and the answer's body included; only so much of an answer is read; redirects are not followed.
 */
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plain,
} from 'node:http'
import { Agent as SecureAgent, request as secure } from 'node:https'
import type { TcpNetConnectOpts } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'

export interface HttpRequest {
  readonly url: string | URL
  readonly method?: 'GET' | 'HEAD' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** For the whole exchange. */
  readonly timeoutMs: number
  /** Of the answer's body, packed or not; what comes beyond is not read. */
  readonly bytesMax: number
  /** Of those, what is kept; all when absent. */
  readonly bytesKept?: number
  /**
   * Is given the body piece by piece, and nothing of it is kept. No further piece is given until it is done with one, and who sends
   * waits once some 64 kB lie here. What it throws ends the exchange; so does a packed answer, and more than `bytesMax`.
   */
  readonly onPiece?: (piece: Buffer) => void | Promise<void>
  /** Cuts the exchange off. */
  readonly signal?: AbortSignal | undefined
  /** Kept open between exchanges; a connection for this one when absent. */
  readonly connections?: Connections
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** Whether the body ended within `bytesMax`. */
  readonly isWhole: boolean
}

/** No answer, or not all of it. The message has no subject: it goes on after the name of who was asked. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
  readonly kind: 'too_late' | 'aborted' | 'failed'
  /** Of an answer that broke off. */
  readonly status: number | null

  constructor(kind: NoAnswer['kind'], message: string, status: number | null = null, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
    this.status = status
  }
}

export interface Connections {
  readonly kept: Agents
  /** For a second try: of the same kind, but none of an earlier exchange. */
  readonly fresh: Agents
  close(): void
}

interface Agents {
  readonly 'http:': PlainAgent
  readonly 'https:': SecureAgent
}

export interface ConnectionsOptions {
  /** How long one is kept open unused. */
  readonly idleMs: number
  /** To one host at a time. */
  readonly perHostMax?: number
  /** How they are made. */
  readonly connect?: Partial<TcpNetConnectOpts> & ConnectionOptions
}

export function openConnections({ idleMs, perHostMax, connect = {} }: ConnectionsOptions): Connections {
  const kept = {
    ...connect,
    keepAlive: true,
    timeout: idleMs,
    ...(perHostMax ? { maxSockets: perHostMax } : {}),
  }
  const agents = {
    kept: { 'http:': new PlainAgent(kept), 'https:': new SecureAgent(kept) },
    fresh: { 'http:': new PlainAgent(connect), 'https:': new SecureAgent(connect) },
  }
  return {
    ...agents,
    close() {
      for (const agent of [agents.kept, agents.fresh].flatMap((each) => Object.values(each))) agent.destroy()
    },
  }
}

/**
 * Asks once; and once more on a fresh connection when a kept one turns out to be closed before any answer came.
 *
 * @throws {NoAnswer} when no answer comes. {TypeError} for a URL that is none.
 */
export async function exchange(request: HttpRequest): Promise<HttpAnswer> {
  const url = new URL(request.url)
  const protocol = url.protocol === 'http:' ? 'http:' : 'https:'
  const endsAtMs = performance.now() + request.timeoutMs
  const { kept, fresh } = request.connections ?? {}
  const answer =
    (await exchangeOnce(url, request, endsAtMs, kept?.[protocol])) ??
    (await exchangeOnce(url, request, endsAtMs, fresh?.[protocol]))
  if (!answer) throw new NoAnswer('failed', 'closed the connection')
  // Nobody who keeps a part of an answer asked for a packed one.
  const isPacked = answer.headers['content-encoding'] === 'gzip' && answer.body.length > 0
  if (!isPacked || !answer.isWhole || request.bytesKept !== undefined) return answer
  const body = await unpack(answer.body, { maxOutputLength: request.bytesMax }).catch((cause) => {
    throw new NoAnswer('failed', 'packed its answer wrongly or too well', answer.status, cause)
  })
  return { ...answer, body }
}

/** The body as text. @throws {NoAnswer} when there was more of it than was to be read. */
export function textOf({ body, isWhole, status }: HttpAnswer): string {
  if (!isWhole) throw new NoAnswer('failed', `sent more than ${body.length} bytes`, status)
  return body.toString('utf8')
}

const unpack = promisify(gunzip)

/** @returns Null when a connection that was kept open broke before any answer: most likely it had been closed already. */
function exchangeOnce(
  url: URL,
  request: HttpRequest,
  endsAtMs: number,
  agent: PlainAgent | SecureAgent | undefined,
): Promise<HttpAnswer | null> {
  const { body, signal } = request
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer | null>()
  let response: IncomingMessage | undefined
  const ended = (error: unknown) => {
    reject(error)
    sent.destroy()
    // Where all of it came, Node would go on with what lies here.
    response?.destroy()
  }
  const failed = (kind: NoAnswer['kind'], message: string, cause?: unknown) =>
    ended(new NoAnswer(kind, message, response?.statusCode ?? null, cause))
  const sent = (url.protocol === 'http:' ? plain : secure)(url, {
    method: request.method ?? 'GET',
    agent: agent ?? false,
    headers: {
      ...request.headers,
      ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
    },
  })
  const late = `did not answer within ${request.timeoutMs / 1_000} s`
  const deadline = setTimeout(() => failed('too_late', late), endsAtMs - performance.now())
  const abort = () => failed('aborted', 'was not waited for')
  signal?.addEventListener('abort', abort, { once: true })

  sent.on('error', (cause: NodeJS.ErrnoException) => {
    // All of it came, and is taken.
    if (response?.complete) return
    if (sent.reusedSocket && !response && /^(ECONNRESET|EPIPE)$/.test(cause.code ?? '')) resolve(null)
    else failed('failed', `cannot be reached: ${cause.code ?? cause.message}`, cause)
  })
  // Ends without an error or an answer: a switch of protocols, for one. An answer tells of its own end.
  sent.on('close', () => {
    if (!response) failed('failed', 'closed the connection before an answer came')
  })
  sent.on('response', (answer) => {
    response = answer
    const { socket, statusCode = 0, headers } = answer
    const answered = (of: Buffer, isWhole: boolean) => {
      resolve({ status: statusCode, headers, body: of, isWhole })
      if (!isWhole) socket.destroy()
    }
    answer.on('error', (cause) => failed('failed', 'broke off its answer', cause))
    // Who stops, or has no place left, answers 503 for as long as anybody stays connected. In a moment another exchange may have it.
    if (statusCode === 503) answer.on('end', () => socket.destroy())
    const { onPiece, bytesMax } = request
    if (!onPiece) keepBody(answer, request, answered)
    else if (/^(identity)?$/.test(headers['content-encoding'] ?? ''))
      giveBody(answer, onPiece, bytesMax).then(() => answered(Buffer.alloc(0), true), ended)
    else failed('failed', 'packed an answer that was asked for as it is')
  })
  if (signal?.aborted) abort()
  else sent.end(body)

  return promise.finally(() => {
    clearTimeout(deadline)
    signal?.removeEventListener('abort', abort)
  })
}

type Answered = (body: Buffer, isWhole: boolean) => void

function keepBody(
  answer: IncomingMessage,
  { bytesMax, bytesKept = bytesMax }: HttpRequest,
  answered: Answered,
): void {
  const chunks: Buffer[] = []
  let bytes = 0
  answer.on('data', (chunk: Buffer) => {
    const room = Math.max(0, bytesKept - bytes)
    if (room > 0) chunks.push(chunk.subarray(0, room))
    bytes += chunk.length
    if (bytes > bytesMax) answered(Buffer.concat(chunks), false)
  })
  answer.on('end', () => answered(Buffer.concat(chunks), true))
}

/** Resolves when the last piece was taken. */
function giveBody(
  answer: IncomingMessage,
  onPiece: NonNullable<HttpRequest['onPiece']>,
  bytesMax: number,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let bytes = 0
  let taken = Promise.resolve()
  const give = async (piece: Buffer) => {
    if (answer.destroyed) return
    answer.pause()
    try {
      await onPiece(piece)
      answer.resume()
    } catch (error) {
      reject(error)
    }
  }
  answer.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= bytesMax) taken = give(piece)
    else reject(new NoAnswer('failed', `sent more than ${bytesMax} bytes`, answer.statusCode ?? null))
  })
  // A stream that is paused at its last piece may tell of its end all the same.
  answer.on('end', () => void taken.then(resolve))
  return promise
}
