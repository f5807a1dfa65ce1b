/**
 * JSON-RPC to Bitcoin and Litecoin Core (0.21 and newer) over HTTP with connections kept alive. What the node answers
 * and what keeps it from answering are told apart; the user and password of the URL never reach a message.
 */
import http from 'node:http'
import https from 'node:https'
import { OutsideFailure } from '../../core/errors.ts'
import { SECOND_MS } from '../../core/time.ts'

export interface RpcCall {
  readonly method: string
  readonly params?: readonly unknown[]
}

export interface RpcOptions {
  /** For the whole exchange; 5 s unless a large answer is expected. */
  readonly timeoutMs?: number
}

export interface RpcClient {
  /** Scheme, host and port: fit for messages and log lines. */
  readonly endpoint: string
  readonly host: string
  /**
   * Calls one method and returns its result.
   *
   * @throws {NodeError} when the node answers with an error.
   * @throws {OutsideFailure} when it does not answer at all.
   */
  call(method: string, params?: readonly unknown[], options?: RpcOptions): Promise<unknown>
  /** Calls several methods in one exchange; each has a result or an error of its own, in the order of the calls. */
  batch(calls: readonly RpcCall[], options?: RpcOptions): Promise<readonly RpcAnswer[]>
  close(): void
}

export type RpcAnswer =
  | { readonly result: unknown; readonly error?: undefined }
  | { readonly error: NodeError }

/** The node answered, and its answer was an error with one of the codes of Core's src/rpc/protocol.h. */
export class NodeError extends OutsideFailure {
  override readonly name = 'NodeError'
  readonly code: number
  /** What the node said, alone. */
  readonly answer: string

  constructor(endpoint: string, method: string, code: number, answer: string) {
    super(`the node at ${endpoint} answered ${method} with error ${code}: ${answer}`, {
      retryable: TEMPORARY_CODES.has(code),
    })
    this.code = code
    this.answer = answer
  }
}

export const RPC_INTERNAL_ERROR = -32_603
export const RPC_INVALID_ADDRESS_OR_KEY = -5
export const RPC_INVALID_PARAMETER = -8
/** Named `RPC_VERIFY_ALREADY_IN_CHAIN` before Core 28. */
export const RPC_VERIFY_ALREADY_IN_UTXO_SET = -27
const RPC_NOT_CONNECTED = -9
const RPC_IN_INITIAL_DOWNLOAD = -10
const RPC_IN_WARMUP = -28
const TEMPORARY_CODES = new Set([RPC_NOT_CONNECTED, RPC_IN_INITIAL_DOWNLOAD, RPC_IN_WARMUP])

const CALL_TIMEOUT_MS = 5 * SECOND_MS
/**
 * Core closes a connection after 30 s of silence, so we part first; and a node that is told to stop waits until its
 * connections are closed, so we part soon.
 */
const IDLE_MS = 3 * SECOND_MS
/** Core up to 28 works on four requests at a time and refuses more than sixteen waiting; 29 and newer on sixteen and 64. */
const CONNECTIONS_MAX = 4
/** The largest block is 8 MB of hex; a batch of transactions is bounded by its caller. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024

/**
 * @param url - `http://user:password@host:port`; characters of the password that a URL reserves are percent-encoded.
 * @throws {RangeError} when it is no such URL. The message does not repeat it.
 */
export function openRpc(url: string, defaultPort: number): RpcClient {
  const target = readUrl(url, defaultPort)
  const transport = target.protocol === 'https:' ? https : http
  const agent = new transport.Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: IDLE_MS })
  let lastId = 0

  const send = async (calls: readonly RpcCall[], body: string, options: RpcOptions): Promise<unknown> => {
    const exchange = { ...target, agent, transport, body, timeoutMs: options.timeoutMs ?? CALL_TIMEOUT_MS }
    const { status, text } = await post(exchange)
    const answer = readJson(text)
    if (answer !== undefined) return answer
    throw refusedByHttp(target.endpoint, status, calls)
  }

  return {
    endpoint: target.endpoint,
    host: target.host,
    async call(method, params = [], options = {}) {
      const request = { id: ++lastId, method, params }
      const answer = await send([request], JSON.stringify(request), options)
      return take(readAnswer(target.endpoint, method, answer))
    },
    async batch(calls, options = {}) {
      if (calls.length === 0) return []
      const requests = calls.map(({ method, params = [] }) => ({ id: ++lastId, method, params }))
      const answers = await send(calls, JSON.stringify(requests), options)
      if (!Array.isArray(answers)) take(readAnswer(target.endpoint, calls[0]?.method ?? '', answers))
      const byId = new Map((Array.isArray(answers) ? answers : []).map((answer) => [answer?.id, answer]))
      return requests.map(({ id, method }) => readAnswer(target.endpoint, method, byId.get(id)))
    },
    close: () => agent.destroy(),
  }
}

/** The result, or the error thrown. */
export function take(answer: RpcAnswer | undefined): unknown {
  if (!answer) throw new OutsideFailure('the node left an answer out', { retryable: true })
  if (answer.error) throw answer.error
  return answer.result
}

interface Target {
  readonly endpoint: string
  readonly protocol: string
  readonly host: string
  readonly port: string
  readonly path: string
  readonly authorization: string | undefined
}

function readUrl(text: string, defaultPort: number): Target {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const [user, password] = [decoded(url?.username), decoded(url?.password)]
  if (!url || !/^https?:$/.test(url.protocol) || !url.hostname || user === null || password === null) {
    throw new RangeError(
      'a node URL is http://user:password@host:port with reserved characters of the password percent-encoded, got something else',
    )
  }
  const portGiven = /^https?:\/\/(?:[^@/]*@)?[^/?#]*:\d+(?:[/?#]|$)/i.test(text)
  const port = url.port || (portGiven || url.protocol === 'https:' ? schemePort(url) : String(defaultPort))
  const credentials = `${user}:${password}`
  return {
    endpoint: `${url.protocol}//${url.hostname}:${port}`,
    protocol: url.protocol,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port,
    path: url.pathname,
    authorization: credentials === ':' ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`,
  }
}

/** Percent-decoded; null when that is not possible. */
function decoded(text = ''): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

const schemePort = (url: URL): string => (url.protocol === 'https:' ? '443' : '80')

interface Exchange extends Target {
  readonly transport: Pick<typeof http, 'request'>
  readonly agent: http.Agent
  readonly body: string
  readonly timeoutMs: number
}

/** One exchange; once more on a fresh connection when a kept one turned out to be closed before any answer came. */
async function post(exchange: Exchange): Promise<{ status: number; text: string }> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await postOnce(exchange)
    } catch (error) {
      if (!(error instanceof StaleConnection) || attempt > CONNECTIONS_MAX) throw error
    }
  }
}

class StaleConnection extends OutsideFailure {}

function postOnce(exchange: Exchange): Promise<{ status: number; text: string }> {
  const { endpoint, body, timeoutMs } = exchange
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let received = 0
    const failed = (message: string, cause?: unknown) => {
      clearTimeout(timer)
      reject(new OutsideFailure(`the node at ${endpoint} ${message}`, { cause, retryable: true }))
      request.destroy()
    }
    const request = exchange.transport.request({
      host: exchange.host,
      port: exchange.port,
      path: exchange.path,
      method: 'POST',
      agent: exchange.agent,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...(exchange.authorization ? { authorization: exchange.authorization } : {}),
      },
    })
    const timer = setTimeout(() => failed(`did not answer within ${timeoutMs / SECOND_MS} s`), timeoutMs)
    request.on('error', (cause: NodeJS.ErrnoException) => {
      if (request.reusedSocket && received === 0 && (cause.code === 'ECONNRESET' || cause.code === 'EPIPE')) {
        clearTimeout(timer)
        reject(
          new StaleConnection(`the node at ${endpoint} closed the connection`, { cause, retryable: true }),
        )
      } else failed(`cannot be reached: ${cause.code ?? cause.message}`, cause)
    })
    request.on('response', (response) => {
      const { socket } = response
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        received += chunk.length
        if (received > ANSWER_BYTES_MAX) failed(`sent more than ${ANSWER_BYTES_MAX} bytes`)
      })
      response.on('error', (cause) => failed('broke off its answer', cause))
      response.on('end', () => {
        clearTimeout(timer)
        // A node that stops answers 503 for as long as anybody stays connected.
        if (response.statusCode === 503) socket.destroy()
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') })
      })
    })
    request.end(body)
  })
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Answers that carry no JSON come from the HTTP server in front of the RPC code. */
function refusedByHttp(endpoint: string, status: number, calls: readonly RpcCall[]): OutsideFailure {
  const node = `the node at ${endpoint}`
  if (status === 401)
    return new OutsideFailure(
      `${node} refuses the user or password in its URL: compare them with rpcuser and rpcpassword, or rpcauth, of the node (what it writes to .cookie changes with every start)`,
      { retryable: false },
    )
  const methods = [...new Set(calls.map(({ method }) => method))].join(', ')
  // An address that rpcallowip leaves out, and a user whose rpcwhitelist leaves a method out, get the same bare answer.
  if (status === 403)
    return new OutsideFailure(
      `${node} does not allow ${methods} (HTTP 403): see to it that rpcallowip has this machine and rpcwhitelist, where it is used, these methods`,
      { retryable: false },
    )
  const cause = status === 503 ? ': its work queue is full, or it is stopping' : ''
  return new OutsideFailure(`${node} answered ${methods} with HTTP ${status} and no JSON${cause}`, {
    retryable: true,
  })
}

function readAnswer(endpoint: string, method: string, answer: unknown): RpcAnswer {
  if (typeof answer === 'object' && answer !== null) {
    const error: unknown = 'error' in answer ? answer.error : null
    if (typeof error === 'object' && error !== null) {
      const code = 'code' in error && typeof error.code === 'number' ? error.code : 0
      const message = 'message' in error ? String(error.message) : 'no message'
      return { error: new NodeError(endpoint, method, code, message) }
    }
    if ('result' in answer) return { result: answer.result }
  }
  throw new OutsideFailure(`the node at ${endpoint} left out its answer to ${method}`, { retryable: true })
}
