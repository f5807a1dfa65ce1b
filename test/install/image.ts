/**
 * `npm run test:image`: deploy/Dockerfile built by buildah, and what it makes run as compose.yaml runs it: as its own user, on a
 * read-only system, without a capability, until it sells. In place of the base, which comes from a registry, there is
 * Debian as debootstrap makes it, with the Node that Beck's packages bring and this machine's npm.
 *
 * It needs root, buildah, some 5 GB of disk, Debian's mirrors and npm's registry.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, copyFile, cp, mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'
import { freePort, startCluster } from '../../src/db/embedded/embedded.ts'
import { until } from '../wait-for.ts'

const exec = promisify(execFile)
/** Of the Dockerfile's base. */
const RELEASE = 'bookworm'
/** The image's own. */
const BECK = 10_001

if (process.getuid?.() !== 0) throw new Error('npm run test:image makes a system: run it as root')
for (const program of ['buildah', 'debootstrap', 'systemd-nspawn'])
  await exec('sh', ['-c', `PATH="$PATH:/usr/sbin:/sbin" command -v ${program}`]).catch(() => {
    throw new Error('npm run test:image needs: apt-get install buildah debootstrap systemd-container')
  })

const folder = await mkdtemp(join('/var/tmp', 'beck-image-'))
// PostgreSQL and the image's user pass through.
await chmod(folder, 0o711)
const running: ChildProcess[] = []
after(async () => {
  for (const child of running) child.kill('SIGKILL')
  await buildah('umount', '--all').catch(() => {})
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

async function buildah(...args: string[]): Promise<string> {
  const { stdout } = await exec(
    'buildah',
    [
      ...['--storage-driver=vfs', `--root=${join(folder, 'storage')}`, `--runroot=${join(folder, 'run')}`],
      ...args,
    ],
    { maxBuffer: 1 << 26 },
  )
  return stdout.trim()
}

/** What the Dockerfile's base is made of: Debian, a Node, and npm. @returns Its name. */
async function makeBase(): Promise<string> {
  const [root, name] = [join(folder, 'base'), 'localhost/beck-base']
  await exec('debootstrap', ['--variant=minbase', RELEASE, root, 'http://deb.debian.org/debian'], {
    maxBuffer: 1 << 26,
  })
  await copyFile('node_modules/node/bin/node', join(root, 'usr/local/bin/node'))
  const npm = dirname(dirname(await realpath((await exec('sh', ['-c', 'command -v npm'])).stdout.trim())))
  await mkdir(join(root, 'usr/local/lib/node_modules'), { recursive: true })
  await cp(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true, verbatimSymlinks: true })
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'))
  const container = await buildah('from', 'scratch')
  // Of use where the registry is reached through a proxy that opens TLS.
  const authorities = process.env.NODE_EXTRA_CA_CERTS
  if (authorities) await copyFile(authorities, join(root, 'authorities.pem'))
  await buildah('copy', '--quiet', container, root, '/')
  if (authorities) await buildah('config', '--env=NODE_EXTRA_CA_CERTS=/authorities.pem', container)
  await buildah(
    'config',
    '--env=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    container,
  )
  await buildah('commit', '--quiet', '--rm', container, name)
  return name
}

interface Image {
  /** Its system, as a folder of this machine. */
  readonly root: string
  readonly config: {
    readonly User: string
    readonly Env: readonly string[]
    readonly Entrypoint: readonly string[]
    readonly Cmd: readonly string[]
    readonly StopSignal: string
    readonly Healthcheck: { readonly Test: readonly string[] }
  }
}

async function buildImage(): Promise<Image> {
  const name = 'localhost/beck'
  await buildah(
    ...['build', '--quiet', '--isolation=chroot', '--format=docker', `--build-arg=BASE=${await makeBase()}`],
    ...['--file=deploy/Dockerfile', '--ignorefile=deploy/Dockerfile.dockerignore', `--tag=${name}`, '.'],
  )
  const container = await buildah('from', name)
  const { Docker } = JSON.parse(await buildah('inspect', '--type=image', name))
  return { root: await buildah('mount', container), config: Docker.config }
}

const image = await buildImage()
const data = join(folder, 'data')
await mkdir(data)
await chown(data, BECK, BECK)
const cluster = await startCluster({
  dataDir: join(folder, 'database'),
  settings: ['fsync=off'],
  roles: true,
})
after(() => cluster.stop())
const [port, metricsPort] = [String(await freePort()), String(await freePort())]
const settings = {
  DATABASE_URL: overLoopback(cluster.urlAs('owner')),
  BECK_SECRET_KEY: 'ab'.repeat(32),
  PORT: port,
  BECK_METRICS_PORT: metricsPort,
}

/** The folder of its socket is not in the image. */
function overLoopback(url: string): string {
  const plain = new URL(url)
  plain.search = ''
  return plain.toString()
}

/** In the image, as compose.yaml has it; on this machine's network, where the database is. */
function start(command: readonly string[]): ChildProcess {
  const environment = [
    ...image.config.Env,
    ...Object.entries(settings).map(([name, value]) => `${name}=${value}`),
  ]
  const child = spawn(
    'systemd-nspawn',
    [
      ...['--quiet', '--register=no', '--keep-unit', '--resolv-conf=off', `--directory=${image.root}`],
      ...['--read-only', '--tmpfs=/tmp', `--bind=${data}:/var/lib/beck`, '--chdir=/opt/beck'],
      ...['--user=beck', '--drop-capability=all', '--no-new-privileges=yes', '--console=pipe'],
      ...[`--kill-signal=${image.config.StopSignal}`, ...environment.map((each) => `--setenv=${each}`)],
      ...['--', ...command],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  running.push(child)
  return child
}

/** Of systemd-nspawn itself, about a folder of its own that it leaves alone. */
const REMARK = /^Attempted to remove disk file system under "\/run\/systemd\/nspawn\/.*(\r?\n|$)/gm

/** @returns What it printed, and how it ended. */
async function run(...command: string[]): Promise<{ said: string; status: number | null }> {
  const child = start(command)
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  const [status] = await once(child, 'close')
  return { said: said.replace(REMARK, ''), status }
}
const beck = (...args: string[]) => run(...image.config.Entrypoint, ...args)

test('the image is nobody’s but its user’s, who can change nothing of the program', async () => {
  assert.equal(image.config.User, `${BECK}:${BECK}`)
  const { said } = await run('sh', '-c', 'id -u; command -v age')
  assert.deepEqual(said.trim().split(/\r?\n/), [String(BECK), '/usr/bin/age'])
  const his = [
    '-uid',
    String(BECK),
    '-o',
    '-gid',
    String(BECK),
    '-o',
    '-path',
    '*/opt/*',
    '-perm',
    '-o+w',
    '!',
    '-type',
    'l',
  ]
  const { stdout } = await exec('find', [image.root, '-xdev', ...his])
  assert.equal(stdout.trim(), join(image.root, 'var/lib/beck'))
  const { said: version } = await beck('--version')
  assert.match(version, /^\d+\.\d+\.\d+\s*$/)
})

test('tables, wallet and a role are as in compose.yaml: it sells, is healthy by its own check, and ends by its signal', async () => {
  const migrated = await beck('migrate')
  assert.equal(migrated.status, 0, migrated.said)
  const all = start([...image.config.Entrypoint, 'start', '--role', 'all'])
  let said = ''
  for (const stream of [all.stdout, all.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  await until('it answers', async () => {
    assert.equal(all.exitCode, null, said)
    return (await fetch(`http://127.0.0.1:${port}/livez`).catch(() => null))?.ok ?? false
  })
  const [, ...check] = image.config.Healthcheck.Test
  const health = await run(...check)
  assert.equal(health.status, 0, health.said)
  const [key] = /bk_test_\w+/.exec(said) ?? assert.fail(said)
  const answer = await fetch(`http://127.0.0.1:${port}/v1/payments`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ asset: 'LTC', fiat_amount: 5 }),
  })
  assert.equal(answer.status, 201, await answer.text())
  const ended = once(all, 'exit')
  all.kill('SIGTERM')
  const [status] = await ended
  assert.equal(status, 0, said)
})
