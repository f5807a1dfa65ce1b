/** An installation: a database of the test run's PostgreSQL, on which whole Becks are started, killed, stopped and woken. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { Account } from '../src/accounts/account.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { freePort } from '../src/db/embedded/embedded.ts'
import { testMerchant } from './api.ts'
import { type BeckProcess, startBeckProcess } from './beck-process.ts'
import { testDatabaseUrl } from './database.ts'

/** A Beck that answers. */
export interface RunningBeck {
  readonly url: string
  readonly process: BeckProcess
}

export interface Installation {
  readonly db: Database
  readonly account: Account
  readonly key: string
  /** Starts a Beck on this database and waits until it is ready. `env` goes on top. */
  start(env?: Readonly<Record<string, string>>): Promise<RunningBeck>
  /** Runs a command beside what runs. @returns Its answer, or its refusal under `error`. */
  command(...args: readonly string[]): Promise<Answer>
  /** Calls the API of a running Beck. */
  call(beck: RunningBeck, ...asked: Parameters<Call>): ReturnType<Call>
}

export type Call = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ status: number; data: Answer; error: Answer }>

// biome-ignore lint/suspicious/noExplicitAny: answers are walked by tests that assert on what they find
export type Answer = any

/** @param blockMs - Milliseconds between simulated blocks. */
export async function testInstallation(options: { blockMs?: number } = {}): Promise<Installation> {
  const url = await testDatabaseUrl()
  const db = openDatabase({ url, connectionsMax: 4 })
  const { account, key } = await testMerchant(db)
  const dataDir = await mkdtemp(join(tmpdir(), 'beck-process-'))
  after(async () => {
    await db.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  const settings = {
    DATABASE_URL: url,
    BECK_DATA_DIR: dataDir,
    BECK_SECRET_KEY: Buffer.alloc(32, 7).toString('hex'),
  }

  return {
    db,
    account,
    key,
    async start(env = {}) {
      const port = await freePort()
      const beck = startBeckProcess(['start'], {
        ...settings,
        PORT: String(port),
        BECK_SANDBOX_BLOCK_MS: String(options.blockMs ?? 250),
        BECK_WEBHOOK_ALLOW_PRIVATE: '1',
        ...env,
      })
      await beck.hears((object) => 'url' in object)
      return { url: `http://127.0.0.1:${port}`, process: beck }
    },
    async command(...args) {
      const command = startBeckProcess(args, settings)
      await command.ended
      return command.said[0] ?? assert.fail(`beck ${args.join(' ')} said nothing`)
    },
    call: (beck, ...asked) => callsTo(beck.url, key)(...asked),
  }
}

/** The API at an origin, for the owner of a key. */
export const callsTo =
  (origin: string, key: string): Call =>
  async (method, path, body) => {
    const answer = await fetch(`${origin}/v1${path}`, {
      method,
      headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const { data, error } = (await answer.json()) as { data: Answer; error: Answer }
    return { status: answer.status, data, error }
  }

export interface Received {
  readonly id: string
  readonly type: string
  readonly data: Answer
}

/** A receiver that accepts what the reference implementation of Standard Webhooks verifies, and nothing else. */
export async function startReceiver(): Promise<{
  url: string
  received: Received[]
  useSecret(secret: string): void
}> {
  const received: Received[] = []
  let webhook: Webhook | undefined
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      try {
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        )
        const event = webhook?.verify(body, headers) as { type: string; data: Answer }
        received.push({ id: String(request.headers['webhook-id']), type: event.type, data: event.data })
        response.writeHead(200).end()
      } catch {
        response.writeHead(400).end()
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    useSecret: (secret) => {
      webhook = new Webhook(secret)
    },
  }
}
