/** `beck start` as people run it, all roles, on a PostgreSQL of the bench. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '../src/db/embedded/embedded.ts'

const PROGRAM = fileURLToPath(new URL('../src/cli/beck.ts', import.meta.url))

export interface StartedBeck {
  readonly url: string
  /** Of the first account, with every scope; empty where another process made it. */
  readonly key: string
  readonly pid: number
  stop(): Promise<void>
}

export async function startBeck(env: NodeJS.ProcessEnv, args: readonly string[] = []): Promise<StartedBeck> {
  const child = spawn(process.execPath, [PROGRAM, '--json', 'start', ...args], {
    env: {
      ...process.env,
      BECK_SECRET_KEY: 'ab'.repeat(32),
      BECK_RATE_LIMIT: '1000000',
      BECK_RATE_BURST: '1000000',
      BECK_LOG_LEVEL: 'warn',
      PORT: String(await freePort()),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = async () => {
    child.stdout.resume()
    if (child.exitCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  for await (const line of createInterface(child.stdout)) {
    const said: { url?: string; key?: string } = JSON.parse(line)
    if (said.url) return { url: said.url, key: said.key ?? '', pid: child.pid ?? 0, stop }
  }
  throw new Error('Beck ended before it was ready')
}
