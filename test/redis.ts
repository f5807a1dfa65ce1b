/** A real Redis for tests (Debian: `apt-get install redis-server`), on a free port, in memory only. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after } from 'node:test'
import { freePort } from '../src/db/embedded/embedded.ts'

export interface TestRedis {
  readonly url: string
  start(): Promise<void>
  stop(): Promise<void>
}

/** Starts one; stopped when the test file ends. */
export async function startRedis(): Promise<TestRedis> {
  const port = await freePort()
  let child = spawnServer(port)
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const start = async () => {
    if (child.exitCode !== null || child.signalCode !== null) child = spawnServer(port)
    await new Promise<void>((resolve, reject) => {
      child.once('error', () =>
        reject(new Error('no redis-server on the PATH; on Debian: apt-get install redis-server')),
      )
      child.stdout.on('data', (chunk: Buffer) => {
        if (chunk.includes('Ready to accept connections')) resolve()
      })
    })
  }
  after(stop)
  await start()
  return { url: `redis://127.0.0.1:${port}`, start, stop }
}

const spawnServer = (port: number) =>
  spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
