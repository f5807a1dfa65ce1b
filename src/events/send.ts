/**
 * HTTP exchanges with receivers that nobody vouches for. Connections go to public addresses only, checked on the very
 * addresses that are connected to, so that a name that resolves differently a second time (DNS rebinding) gains nothing.
 */
import { promises as dns, Resolver } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { createSecureContext } from 'node:tls'
import { exchange, NoAnswer, openConnections } from '../core/http.ts'
import type { Outcome } from './delivery.ts'
import { isPublicAddress } from './public-address.ts'
import { hostOf } from './webhook-url.ts'

export interface SenderOptions {
  /** BECK_WEBHOOK_ALLOW_PRIVATE: http URLs and private addresses are fine. */
  readonly allowPrivate: boolean
  /** For the whole exchange. */
  readonly timeoutMs?: number
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
/** What comes beyond is not read, and the status decides. */
const BODY_BYTES_MAX = 64 * 1_024
/** How much of an answer is kept for the merchant to see. */
const START_BYTES_MAX = 1_024
/** One dead address of several must not eat the whole deadline. */
const ADDRESS_TIMEOUT_MS = 3_000
const IDLE_CONNECTION_MS = 10_000

export function openSender(options: SenderOptions): Sender {
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS
  const connections = openConnections({
    idleMs: IDLE_CONNECTION_MS,
    connect: {
      lookup: guardedLookup(options),
      autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
      // One for all connections: each would build its own, with a copy of every authority in it.
      secureContext: createSecureContext(options.ca === undefined ? {} : { ca: options.ca }),
      // Said aloud, so that NODE_TLS_REJECT_UNAUTHORIZED cannot switch it off.
      rejectUnauthorized: true,
    },
  })

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
      const refused = refusal(URL.parse(message.url))
      if (refused !== null) return { kind: 'unanswered', status: null, error: refused }
      try {
        const answer = await exchange({
          ...message,
          method: 'POST',
          timeoutMs,
          bytesMax: BODY_BYTES_MAX,
          bytesKept: START_BYTES_MAX,
          signal,
          connections,
        })
        const retryAfter = answer.headers['retry-after'] ?? null
        return { kind: 'answered', status: answer.status, retryAfter, start: textOf(answer.body) }
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error
        if (error.kind === 'aborted') return null
        const late = `no complete answer within ${timeoutMs / 1_000} seconds`
        const told = error.kind === 'too_late' ? late : sentence(error.cause ?? error)
        return { kind: 'unanswered', status: error.status, error: told }
      }
    },
    close: () => connections.close(),
  }
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

function sentence(error: unknown): string {
  if (!(error instanceof Error)) return 'the exchange failed'
  // Nothing failed: a switch of protocols, for one.
  if (error instanceof NoAnswer) return 'the connection was closed before an answer came'
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
