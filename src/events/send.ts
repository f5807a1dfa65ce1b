/**
 * One HTTP exchange with a receiver that nobody vouches for. The deadline holds for all of it, name resolution and
 * the answer's body included; only so much of the answer is read; redirects are not followed; and connections go to
 * public addresses only, checked on the very addresses that are connected to, so that a name that resolves
 * differently a second time (DNS rebinding) gains nothing.
 */
import { promises as dns, Resolver } from 'node:dns'
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { Outcome } from './delivery.ts'
import { isPublicAddress } from './public-address.ts'
import { hostOf } from './webhook-url.ts'

export interface SenderOptions {
  /** BECK_WEBHOOK_ALLOW_PRIVATE: http URLs and private addresses are fine. */
  readonly allowPrivate: boolean
  /** For the whole exchange. */
  readonly timeoutMs?: number
  /** Of the answer's body; what comes beyond is not read, and the status decides. */
  readonly bodyBytesMax?: number
  /** All addresses of a host name. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>
  /** Certificate authorities to trust instead of the usual ones. */
  readonly ca?: string
}

export interface Message {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Sender {
  /**
   * Posts a message. Never throws: whatever the receiver does is an outcome.
   *
   * @returns Null when `signal` cut the exchange off.
   */
  send(message: Message, signal?: AbortSignal): Promise<Outcome | null>
  /** Drops the connections kept open. */
  close(): void
}

const TIMEOUT_MS = 15_000
const BODY_BYTES_MAX = 64 * 1_024
/** How much of an answer is kept for the merchant to see. */
const START_BYTES_MAX = 1_024
/** One dead address of several must not eat the whole deadline. */
const ADDRESS_TIMEOUT_MS = 3_000
const IDLE_CONNECTION_MS = 10_000

export function openSender(options: SenderOptions): Sender {
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS
  const bodyBytesMax = options.bodyBytesMax ?? BODY_BYTES_MAX
  const lookup = guardedLookup(options)
  const connection = {
    lookup,
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
    // One for all connections: each would build its own, with a copy of every authority in it.
    secureContext: createSecureContext(options.ca === undefined ? {} : { ca: options.ca }),
    // Said aloud, so that NODE_TLS_REJECT_UNAUTHORIZED cannot switch it off.
    rejectUnauthorized: true,
  }
  const kept = { keepAlive: true, timeout: IDLE_CONNECTION_MS, maxFreeSockets: 256 }
  const agents = {
    kept: {
      'http:': new HttpAgent({ ...connection, ...kept }),
      'https:': new HttpsAgent({ ...connection, ...kept }),
    },
    fresh: { 'http:': new HttpAgent(connection), 'https:': new HttpsAgent(connection) },
  }

  const refusal = (url: URL | null): string | null => {
    if (!url) return 'the URL cannot be read'
    if (url.protocol !== 'https:' && !(options.allowPrivate && url.protocol === 'http:'))
      return 'the URL is not https'
    // Literal addresses are connected to without a lookup.
    const host = hostOf(url)
    return isIP(host) !== 0 && !options.allowPrivate && !isPublicAddress(host) ? NOT_PUBLIC : null
  }

  return {
    async send(message, signal) {
      const url = URL.parse(message.url)
      const refused = refusal(url)
      if (refused !== null || !url) return { kind: 'unanswered', status: null, error: refused ?? '' }
      const protocol = url.protocol === 'https:' ? 'https:' : 'http:'
      const limits = { timeoutMs, endsAtMs: performance.now() + timeoutMs, bodyBytesMax }
      const first = await exchange(
        url,
        message,
        { agent: agents.kept[protocol], isKept: true },
        limits,
        signal,
      )
      if (first !== 'stale') return first
      const fresh = { agent: agents.fresh[protocol], isKept: false }
      const second = await exchange(url, message, fresh, limits, signal)
      return second === 'stale' ? null : second
    },
    close() {
      for (const { 'http:': http, 'https:': https } of Object.values(agents)) {
        http.destroy()
        https.destroy()
      }
    },
  }
}

interface Limits {
  readonly timeoutMs: number
  /** On the clock of `performance.now()`. */
  readonly endsAtMs: number
  readonly bodyBytesMax: number
}

/** A connection of an earlier exchange, where there is one, or a fresh one. */
interface Way {
  readonly agent: HttpAgent | HttpsAgent
  readonly isKept: boolean
}

/**
 * Posts a message once.
 *
 * @returns `stale` when a connection that was kept open broke before any answer: the receiver had closed it, most likely,
 *   and the message is worth a fresh one. Null when `signal` cut the exchange off.
 */
function exchange(
  url: URL,
  message: Message,
  way: Way,
  limits: Limits,
  signal?: AbortSignal,
): Promise<Outcome | 'stale' | null> {
  return new Promise((resolve) => {
    let response: IncomingMessage | undefined
    let request: ClientRequest | undefined
    let settled = false
    const settle = (outcome: Outcome | 'stale' | null, keep = false) => {
      if (settled) return
      settled = true
      clearTimeout(deadline)
      signal?.removeEventListener('abort', abort)
      resolve(outcome)
      if (!keep) request?.destroy()
    }
    const unanswered = (error: string) =>
      settle({ kind: 'unanswered', status: response?.statusCode ?? null, error })
    const abort = () => settle(null)
    const deadline = setTimeout(
      () => unanswered(`no complete answer within ${limits.timeoutMs / 1_000} seconds`),
      limits.endsAtMs - performance.now(),
    )
    if (signal?.aborted) return abort()
    signal?.addEventListener('abort', abort, { once: true })

    request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      agent: way.agent,
      headers: { ...message.headers, 'content-length': Buffer.byteLength(message.body) },
    })
    request.on('error', (error) => {
      // A connection kept open, closed by the receiver just as it was used again: says nothing about the receiver.
      if (way.isKept && request?.reusedSocket && !response) return settle('stale')
      unanswered(sentence(error))
    })
    // Ends without an error or an answer: a switch of protocols, for one.
    request.on('close', () => unanswered('the connection was closed before an answer came'))
    request.on('response', (answer) => {
      response = answer
      const start: Buffer[] = []
      let bytes = 0
      const answered = (keep: boolean) =>
        settle(
          {
            kind: 'answered',
            status: answer.statusCode ?? 0,
            retryAfter: answer.headers['retry-after'] ?? null,
            start: textOf(Buffer.concat(start).subarray(0, START_BYTES_MAX)),
          },
          keep,
        )
      answer.on('data', (chunk: Buffer) => {
        if (bytes < START_BYTES_MAX) start.push(chunk.subarray(0, START_BYTES_MAX - bytes))
        bytes += chunk.length
        if (bytes > limits.bodyBytesMax) answered(false)
      })
      answer.on('end', () => answered(true))
      answer.on('error', (error) => unanswered(sentence(error)))
    })
    request.end(message.body)
  })
}

const NOT_PUBLIC = 'the address of the host is not on the public internet'

/** What sockets resolve names with: they connect to what this returns and to nothing else. */
function guardedLookup(options: SenderOptions): LookupFunction {
  const resolve = options.resolve ?? (options.allowPrivate ? bySystem : byNameServer())
  return (hostname, { all }, callback) => {
    resolve(hostname).then(
      (found) => {
        const addresses = found
          .filter((address) => options.allowPrivate || isPublicAddress(address))
          .map((address) => ({ address, family: isIP(address) }))
        const [first] = addresses
        if (!first) {
          const error = found.length > 0 ? new Error(NOT_PUBLIC) : new Error(`${hostname} has no address`)
          callback(error, '', 0)
        } else if (all) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      (error: Error) => callback(error, '', 0),
    )
  }
}

/**
 * Asks the name servers directly. The system's resolver would do so on four threads shared by the whole process,
 * where a few names that answer slowly would hold up every other delivery.
 */
function byNameServer(): (hostname: string) => Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: 3_000, tries: 2 })
  const ask = (family: 'resolve4' | 'resolve6', hostname: string) =>
    new Promise<readonly string[]>((resolve, reject) =>
      resolver[family](hostname, (error, found) => (error ? reject(error) : resolve(found))),
    )
  return async (hostname) => {
    const [v4, v6] = await Promise.allSettled([ask('resolve4', hostname), ask('resolve6', hostname)])
    if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
    return [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  }
}

/** In a closed network names may stand in the hosts file, and everyone's name server is the operator's own. */
async function bySystem(hostname: string): Promise<readonly string[]> {
  const found = await dns.lookup(hostname, { all: true })
  return found.map(({ address }) => address)
}

/** PostgreSQL stores every character but U+0000. */
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8').replaceAll('\0', '\u{FFFD}')

const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  ETIMEDOUT: 'the host did not answer',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network of the host cannot be reached',
  ENOTFOUND: 'the host name is not known',
  ENODATA: 'the host name has no address',
}

function sentence(error: Error): string {
  const code = 'code' in error ? String(error.code) : ''
  // Several addresses were tried; each failure stands in `errors`.
  const causes = error instanceof AggregateError ? error.errors.map(String) : []
  const told =
    SENTENCES[code] ?? ([error.message, ...causes].find((text) => text !== '') || 'the exchange failed')
  return textOf(Buffer.from(SENTENCES[code] === undefined && code !== '' ? `${told} (${code})` : told)).slice(
    0,
    300,
  )
}
