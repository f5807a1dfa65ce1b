/** Payments over HTTP, from a process of its own. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const LOAD = fileURLToPath(new URL('./load.ts', import.meta.url))

export interface Load {
  /** Of `POST /payments`. */
  readonly url: string
  readonly key: string
  readonly body: string
  readonly connections: number
  readonly seconds: number
  /** An Idempotency-Key with each. */
  readonly isKeyed?: boolean
}

/** What was made in that time; every answer must be 201. */
export async function loadHttp(load: Load) {
  const { url, key, body, connections, seconds, isKeyed = false } = load
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [LOAD, url, key, body, String(connections), String(seconds), ...(isKeyed ? ['keyed'] : [])],
    { maxBuffer: 10_000_000 },
  )
  const result = JSON.parse(stdout) as {
    '2xx': number
    non2xx: number
    latency: { p50: number; p99: number }
    requests: { average: number }
  }
  assert.equal(result.non2xx, 0)
  const { p50: p50Ms, p99: p99Ms } = result.latency
  return { perSecond: result.requests.average, p50Ms, p99Ms, answers: result['2xx'] }
}
