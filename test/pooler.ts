import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '../src/db/embedded/embedded.ts'
import { waitFor } from './wait-for.ts'

/** Debian has it where only root looks. */
const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

export interface PoolerVersion {
  /** `PgBouncer 1.25.2` */
  readonly name: string
  /** Whether it knows prepared statements in transaction mode. It refuses a setting that it does not know. */
  readonly prepares: boolean
}

export async function poolerVersion(): Promise<PoolerVersion> {
  const { stdout } = await promisify(execFile)('pgbouncer', ['--version'], { env: environment })
  const [name, major, minor] = /^PgBouncer (\d+)\.(\d+)\S*/.exec(stdout) ?? assert.fail(stdout)
  return { name, prepares: Number(major) > 1 || Number(minor) >= 21 }
}

/** PgBouncer in transaction mode before a database: it shares a few connections among all. Ends with the test file. */
export async function startPooler(databaseUrl: string): Promise<string> {
  const { url, stop } = await launchPooler(databaseUrl, { connections: 4, clients: 200 })
  after(stop)
  return url
}

export interface Pooler {
  readonly url: string
  readonly pid: number
  readonly version: PoolerVersion
  stop(): Promise<void>
}

/** The same, until it is stopped. @param sizes.connections - To PostgreSQL. */
export async function launchPooler(
  databaseUrl: string,
  sizes: { readonly connections: number; readonly clients: number },
): Promise<Pooler> {
  const version = await poolerVersion()
  const folder = await mkdtemp(join(tmpdir(), 'beck-pgbouncer-'))
  const { hostname, port, pathname, username, password } = new URL(databaseUrl)
  const listenPort = await freePort()
  await chmod(folder, 0o711)
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    `[databases]
beck = host=${hostname} port=${port} dbname=${pathname.slice(1)} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${sizes.connections}
max_client_conn = ${sizes.clients}
${version.prepares ? 'max_prepared_statements = 200' : ''}
log_connections = 0
log_disconnections = 0
`,
    { mode: 0o644 },
  )
  const { child, stop } = await spawnPooler(file, listenPort)
  return {
    url: `postgres://beck@127.0.0.1:${listenPort}/beck`,
    pid: child.pid ?? assert.fail('PgBouncer did not start'),
    version,
    async stop() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** PgBouncer with the settings of a file, once it listens. */
export async function spawnPooler(file: string, listenPort: number) {
  // PgBouncer does not run as root.
  const options = process.getuid?.() === 0 ? ['--user', 'postgres'] : []
  const child = spawn('pgbouncer', [...options, file], {
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const stop = async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await waitFor('PgBouncer listens', async () => {
    assert.equal(child.exitCode, null, said)
    const socket = connect(listenPort, '127.0.0.1')
    const answer = await once(socket, 'connect').then(
      () => true,
      () => null,
    )
    socket.destroy()
    return answer
  })
  return { child, stop }
}
