/**
 * JSON-RPC 2.0 to one Ethereum node: calls travel in batches, one answer within 5 s, and nothing of the URL but its
 * host in any error (users, passwords and the keys that providers put into paths are secrets).
 *
 * viem's own transport is not used: its timeout ends with the headers, so that a node that stalls in the middle of a
 * body would hold the watcher for ever, and its errors print URLs with their paths and whole request bodies.
 */
import { OutsideFailure } from '../../core/errors.ts'
import { SECOND_MS } from '../../core/time.ts'

export const RPC_TIMEOUT_MS = 5 * SECOND_MS
/** Providers refuse larger batches. */
const BATCH_CALLS_MAX = 100
/** A full block of receipts is a tenth of this. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

export interface RpcError {
  readonly code: number
  readonly message: string
}

/** What the node answered to one call: a result, or its error. */
export type RpcAnswer = { readonly result: unknown } | { readonly error: RpcError }

export interface Rpc {
  /**
   * The answers to the calls, in order.
   *
   * @throws {OutsideFailure} when the node gives no answer (unreachable, too slow, overloaded, not JSON-RPC).
   */
  ask(calls: readonly RpcCall[]): Promise<readonly RpcAnswer[]>
  /** The result of one call. @throws {OutsideFailure} also when the node answers with an error. */
  get(method: string, params: readonly unknown[]): Promise<unknown>
  close(): void
}

/** Carries one batch to the node and its parsed answer back, or throws an {@link OutsideFailure}. */
export interface Carrier {
  carry(requests: readonly object[]): Promise<unknown>
  close(): void
}

export interface NodeUrl {
  readonly url: URL
  /** The URL without its user and password, for the request line. */
  readonly bare: string
  readonly headers: Readonly<Record<string, string>>
  /** How messages call this node. */
  readonly name: string
  /** Text of the node or of the network, fit for a message: without the URL's secrets, and short. */
  redact(text: string): string
}

/** @throws {OutsideFailure} when the text is no URL of the given protocols; the text itself is never shown. */
export function readNodeUrl(text: string, protocols: readonly string[]): NodeUrl {
  const url = URL.parse(text)
  if (!url || !protocols.includes(url.protocol)) {
    throw new OutsideFailure(
      `the URL of the ethereum node is not of the form ${protocols.join('// or ')}//host:port; correct it`,
      { retryable: false },
    )
  }
  const user = decodeURIComponent(url.username)
  const password = decodeURIComponent(url.password)
  const bare = new URL(url)
  bare.username = ''
  bare.password = ''
  const secrets = [text, bare.href, user, password, url.pathname, url.search]
    .concat(url.pathname.split('/'), [...url.searchParams.values()])
    .filter((part) => part.length > 5)
    .sort((a, b) => b.length - a.length)
  return {
    url,
    bare: bare.href,
    headers:
      user || password
        ? { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }
        : {},
    name: `the ethereum node at ${url.host}`,
    redact: (message) =>
      secrets.reduce((clean, secret) => clean.replaceAll(secret, '***'), message).slice(0, 300),
  }
}

export function createRpc(node: NodeUrl, carrier: Carrier): Rpc {
  let lastId = 0

  async function askOnce(calls: readonly RpcCall[]): Promise<RpcAnswer[]> {
    const requests = calls.map((call) => {
      lastId += 1
      return { jsonrpc: '2.0', id: lastId, ...call }
    })
    const answers = await carrier.carry(requests)
    if (!Array.isArray(answers)) {
      const error = readError(answers, node)
      throw new OutsideFailure(
        error
          ? `${node.name} refused a batch of ${calls.length} calls: ${error.message} (${error.code})`
          : `${node.name} answered something that is not JSON-RPC; is the URL right?`,
        { retryable: true },
      )
    }
    const byId = new Map(answers.map((answer) => [isObject(answer) ? answer.id : undefined, answer]))
    return requests.map((request) => {
      const answer = byId.get(request.id)
      const error = readError(answer, node)
      if (error) return { error: overload(error, node) }
      if (!isObject(answer) || !('result' in answer)) {
        throw new OutsideFailure(`${node.name} left a call of ${request.method} unanswered`, {
          retryable: true,
        })
      }
      return { result: answer.result }
    })
  }

  return {
    async ask(calls) {
      const answers: RpcAnswer[] = []
      for (let start = 0; start < calls.length; start += BATCH_CALLS_MAX) {
        answers.push(...(await askOnce(calls.slice(start, start + BATCH_CALLS_MAX))))
      }
      return answers
    },
    async get(method, params) {
      const [answer] = await askOnce([{ method, params }])
      return resultOf(answer, method)
    },
    close: () => carrier.close(),
  }
}

/** @throws {OutsideFailure} when the node answered with an error. */
export function resultOf(answer: RpcAnswer | undefined, method: string): unknown {
  if (answer && 'result' in answer) return answer.result
  throw new OutsideFailure(
    `the ethereum node answered ${method} with an error: ${answer?.error.message} (${answer?.error.code})`,
    { retryable: true },
  )
}

/** Whether an error says that the node has no such method, or does not offer it to us. */
export const isUnsupported = (error: RpcError): boolean =>
  error.code === -32601 ||
  error.code === -32004 ||
  /method.*(not (found|supported|available|allowed|exist)|disabled|unsupported)|does not exist|unsupported method/i.test(
    error.message,
  )

/** One POST per batch. */
export function httpCarrier(node: NodeUrl): Carrier {
  const closing = new AbortController()
  return {
    async carry(requests) {
      const timeout = AbortSignal.timeout(RPC_TIMEOUT_MS)
      try {
        const response = await fetch(node.bare, {
          method: 'POST',
          headers: { ...node.headers, 'content-type': 'application/json' },
          body: JSON.stringify(requests),
          redirect: 'error',
          signal: AbortSignal.any([timeout, closing.signal]),
        })
        const body = await readBody(response)
        if (!response.ok && !body.startsWith('[')) throw new HttpFailure(response.status, body)
        return JSON.parse(body)
      } catch (error) {
        throw new OutsideFailure(`${node.name} ${node.redact(troubleOf(error, timeout))}`, {
          retryable: true,
        })
      }
    },
    close: () => closing.abort(),
  }
}

class HttpFailure extends Error {
  constructor(status: number, body: string) {
    super(`answered with HTTP status ${status}: ${body.slice(0, 200)}`)
  }
}

async function readBody(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > ANSWER_BYTES_MAX) throw new Error(`sent more than ${ANSWER_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8').trim()
}

function troubleOf(error: unknown, timeout: AbortSignal): string {
  if (timeout.aborted) return `did not answer within ${RPC_TIMEOUT_MS / SECOND_MS} s`
  if (error instanceof HttpFailure) return error.message
  if (error instanceof SyntaxError) return 'answered something that is not JSON; is the URL right?'
  if (!(error instanceof Error)) return 'did not answer'
  // The network's own error stands behind the "fetch failed" of fetch.
  const network = error.cause instanceof Error ? error.cause : error
  const code = 'code' in network ? ` (${String(network.code)})` : ''
  return `did not answer: ${network.message}${code}`
}

function readError(answer: unknown, node: NodeUrl): RpcError | null {
  if (!isObject(answer) || !isObject(answer.error)) return null
  const { code, message } = answer.error
  return {
    code: typeof code === 'number' ? code : 0,
    message: node.redact(typeof message === 'string' ? message : 'no message'),
  }
}

/** A node that has no time gave no answer, whatever it was asked. Codes: -32005 (EIP-1474), 429 of providers. */
function overload(error: RpcError, node: NodeUrl): RpcError {
  if (error.code === -32005 || error.code === 429 || /rate limit|too many requests/i.test(error.message)) {
    throw new OutsideFailure(`${node.name} is overloaded or limits our rate: ${error.message}`, {
      retryable: true,
    })
  }
  return error
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
