/** The merchant's side of the API, for commands that work with a key instead of the database. */
import { invalid, OutsideFailure, withoutCredentials } from '../../src/core/errors.ts'
import { exchange, textOf } from '../../src/core/http.ts'
import { parseVerbatim } from '../../src/core/json.ts'

export interface ApiOptions {
  /** `http://localhost:8080`, with or without `/v1`. */
  readonly api: string
  readonly key?: string
}

export interface ApiClient {
  readonly key: string
  /**
   * @returns The `data` of the answer, as the caller says it is; numbers keep their digits, see {@link parseVerbatim}.
   * @throws {Refusal} with the API's reason. {OutsideFailure} retryable when it does not answer, or not now.
   */
  call<Data>(method: 'GET' | 'POST', path: string, body?: object): Promise<Data>
}

/** @throws {Refusal} `invalid_count` unless it is a whole number from 1 to the greatest. */
export function readCount(option: string, text: string, max: number): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= max) return count
  throw invalid('invalid_count', `${option} is a whole number from 1 to ${max}, got "${text}"`)
}

const TIMEOUT_MS = 30_000
/** Far above a page of a hundred events with all that merchants may write into them. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024

export function openApi(options: ApiOptions): ApiClient {
  const key = readKey(options.key ?? process.env.BECK_API_KEY)
  const base = `${options.api.replace(/(?<!\/)\/+$/, '').replace(/\/v1$/, '')}/v1`
  return {
    key,
    async call<Data>(method: 'GET' | 'POST', path: string, body?: object) {
      const { status, text } = await ask(base, method, path, key, body)
      const answer = parseAnswer(text)
      if (!answer && status >= 500) throw notNow(base, status)
      if (!answer) throw notBeck(base, status)
      if (answer.error === null) return answer.data as Data
      const { reason, message } = answer.error
      if (status === 429 || status >= 500) {
        throw new OutsideFailure(`the API answered ${status}: ${message}`, { retryable: true })
      }
      throw invalid(reason, message)
    },
  }
}

/** Said before anything is sent: a placeholder that nobody replaced is not even a header. */
function readKey(key: string | undefined): string {
  if (!key) throw invalid('missing_api_key', 'give an API key: --key bk_test_…, or the variable BECK_API_KEY')
  if (/^bk_(live|test)_[0-9A-Za-z]+$/.test(key)) return key
  throw invalid(
    'malformed_api_key',
    'that is no API key: one is bk_test_ or bk_live_ and letters and digits, as Beck showed it once; was bk_test_… left as it stands in the guide?',
  )
}

async function ask(base: string, method: 'GET' | 'POST', path: string, key: string, body?: object) {
  try {
    const answer = await exchange({
      url: base + path,
      method,
      headers: { 'x-api-key': key, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
      timeoutMs: TIMEOUT_MS,
      bytesMax: ANSWER_BYTES_MAX,
    })
    return { status: answer.status, text: textOf(answer) }
  } catch (cause) {
    throw new OutsideFailure(`${withoutCredentials(base)} does not answer; is Beck running there?`, {
      cause,
      retryable: true,
    })
  }
}

interface Answer {
  readonly data: unknown
  readonly error: { readonly reason: string; readonly message: string } | null
}

function parseAnswer(text: string): Answer | null {
  try {
    const answer = parseVerbatim(text)
    return typeof answer === 'object' && answer !== null && 'data' in answer && 'error' in answer
      ? (answer as Answer)
      : null
  } catch {
    return null
  }
}

/** A proxy before Beck says so in words of its own while Beck starts again. */
const notNow = (base: string, status: number) =>
  new OutsideFailure(`${withoutCredentials(base)} answered ${status}`, { retryable: true })

const notBeck = (base: string, status: number) =>
  invalid(
    'not_beck',
    `what answers at ${withoutCredentials(base)} (status ${status}) is not Beck's API; give its address with --api`,
  )
