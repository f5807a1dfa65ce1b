import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { freePort } from '../src/db/embedded/embedded.ts'
import { waitFor } from './wait-for.ts'

/** PgBouncer in transaction mode before a database: it shares a few connections among all. Ends with the test file. */
export async function startPooler(databaseUrl: string): Promise<string> {
  const { url, stop } = await launchPooler(databaseUrl, { connections: 4, clients: 200 })
  after(stop)
  return url
}

/** The same, until it is stopped. @param sizes.connections - To PostgreSQL. */
export async function launchPooler(
  databaseUrl: string,
  sizes: { readonly connections: number; readonly clients: number },
): Promise<{ readonly url: string; stop(): Promise<void> }> {
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
log_connections = 0
log_disconnections = 0
`,
    { mode: 0o644 },
  )
  // PgBouncer does not run as root.
  const options = process.getuid?.() === 0 ? ['--user', 'postgres'] : []
  const child = spawn('pgbouncer', [...options, file], {
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const stop = async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
    await rm(folder, { recursive: true, force: true })
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
  return { url: `postgres://beck@127.0.0.1:${listenPort}/beck`, stop }
}
