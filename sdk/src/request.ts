/** One call to the API: key, time limit, retries that never do a thing twice, errors as classes. */
import { ConfigurationError, ConnectionError, errorOf } from './errors.ts'

export interface BeckOptions {
  /** `bk_live_…` or `bk_test_…`. Only ever on your server. A variable that is not set is told at once. */
  readonly apiKey: string | undefined
  /** Where your Beck is: `https://pay.example.com`, or with the version, `https://pay.example.com/v1`. */
  readonly baseUrl: string | undefined
  /** Tries after the first one when no answer came, on 429, on 5xx and while the first is under way; 2 unless set. */
  readonly retries?: number
  /** For one try, in milliseconds; 30,000 unless set. */
  readonly timeoutMs?: number
  /** Another `fetch`, for tests and unusual runtimes. */
  readonly fetch?: typeof fetch
}

/** The first try is still under way, and nobody waits for it any more: its answer is had by asking again. */
const IN_FLIGHT = 'idempotency_key_in_flight'

export interface CallOptions {
  /**
   * Chosen at random for every POST unless given: a retry of the same call is carried out once. 1 to 255 characters of printable
   * ASCII, without spaces around them; a whole number stands for its digits.
   */
  readonly idempotencyKey?: string | number
  readonly signal?: AbortSignal
}

export interface Call extends CallOptions {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: object
  readonly body?: object
  /** What it comes to when what was to be deleted is not there any more, and an earlier try of this call may have done it. */
  readonly ifGone?: object
}

export type Send = <Data>(call: Call) => Promise<Data>

/** @throws {ConfigurationError} */
export function openSend(options: BeckOptions): Send {
  const { retries = 2, timeoutMs = 30_000 } = options
  const apiKey = readKey(options.apiKey)
  const base = readBase(options.baseUrl)
  const send = options.fetch ?? fetch
  return async <Data>(call: Call): Promise<Data> => {
    const url = new URL(base + call.path)
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const headers: Record<string, string> = { 'x-api-key': apiKey, accept: 'application/json' }
    if (call.body) headers['content-type'] = 'application/json'
    // The key stays the same through all tries: that is what makes them safe.
    if (call.method === 'POST')
      headers['idempotency-key'] = readIdempotencyKey(call.idempotencyKey ?? crypto.randomUUID())
    // The key goes to the address that was given and to no other.
    const init = {
      method: call.method,
      redirect: 'manual' as const,
      headers,
      ...(call.body && { body: JSON.stringify(call.body) }),
    }

    let mayBeDone = false
    for (let attempt = 0; ; attempt++) {
      const timeout = AbortSignal.timeout(timeoutMs)
      const signal = call.signal ? AbortSignal.any([call.signal, timeout]) : timeout
      let answer: Response | undefined
      let body: Body<Data> = {}
      try {
        const begun = await send(url, { ...init, signal })
        const text = await begun.text()
        body = readBody(text, begun.ok)
        // It was carried out, but what became of it is not known before the whole of it is there: until then no answer came.
        answer = begun
      } catch (cause) {
        if (call.signal?.aborted) throw call.signal.reason
        if (attempt >= retries)
          throw new ConnectionError(`no whole answer from ${url.origin} to ${call.method} ${call.path}`, {
            cause,
          })
      }
      if (answer?.ok) return body.data as Data
      const isGone = answer?.status === 404 && body.error?.reason?.endsWith('_not_found')
      if (isGone && mayBeDone && call.ifGone) return call.ifGone as Data
      mayBeDone ||= !answer || (answer.status >= 500 && !answer.headers.has('retry-after'))
      const passing =
        !answer || answer.status === 429 || answer.status >= 500 || body.error?.reason === IN_FLIGHT
      if (answer && (!passing || attempt >= retries)) throw errorOf(answer.status, body.error ?? {})
      await pause(waitMs(answer, attempt), call.signal)
    }
  }
}

interface Body<Data> {
  readonly data?: Data
  readonly error?: Parameters<typeof errorOf>[1]
}

/**
 * Of an error its status is enough, as when a proxy answers in HTML. A success without its object is none.
 *
 * @throws {SyntaxError}
 */
function readBody<Data>(text: string, isSuccess: boolean): Body<Data> {
  let body: Body<Data> | null = null
  try {
    body = JSON.parse(text)
  } catch (error) {
    if (isSuccess) throw error
  }
  if (isSuccess && body?.data === undefined) throw new SyntaxError('the answer holds no data')
  return body ?? {}
}

/** A placeholder that nobody replaced, or `undefined` in a header, would be answered with a puzzle. */
function readKey(key: string | undefined): string {
  if (typeof key === 'string' && /^bk_(live|test)_[0-9A-Za-z]+$/.test(key)) return key
  throw new ConfigurationError(
    key
      ? 'apiKey is not an API key: expected bk_live_ or bk_test_ and letters and digits, as Beck showed it once'
      : 'apiKey is not set; is its variable, such as BECK_API_KEY, there?',
  )
}

/** As Beck takes it: what cannot stand in a header would never be sent, and must not be told as an answer that did not come. */
function readIdempotencyKey(given: string | number): string {
  // Of other numbers two may be written alike.
  const key = Number.isSafeInteger(given) ? String(given) : given
  if (typeof key === 'string' && /^[\x21-\x7e]+( +[\x21-\x7e]+)*$/.test(key) && key.length <= 255) return key
  throw new ConfigurationError(
    'idempotencyKey is none: expected 1 to 255 characters of printable ASCII, without spaces around them',
  )
}

/** @returns The address with its version, without a slash at its end. */
function readBase(baseUrl: string | undefined): string {
  let url: URL | undefined
  try {
    url = new URL(baseUrl ?? '')
  } catch {}
  if (!url || !/^https?:$/.test(url.protocol))
    throw new ConfigurationError(
      `baseUrl is ${baseUrl ? JSON.stringify(baseUrl.slice(0, 100)) : 'not set'}; expected Beck's address, such as https://pay.example.com/v1`,
    )
  const path = url.pathname.replace(/(?<!\/)\/+$/, '')
  return url.origin + (path.endsWith('/v1') ? path : `${path}/v1`)
}

/** What the server asks for, else half a second doubled each time, with jitter; never more than half a minute. */
function waitMs(answer: Response | undefined, attempt: number): number {
  const asked = Number(answer?.headers.get('retry-after'))
  return asked > 0
    ? Math.min(asked, 30) * 1_000
    : Math.min(500 * 2 ** attempt, 8_000) * (0.5 + Math.random() / 2)
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
