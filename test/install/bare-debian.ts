/**
 * A machine of its own with nothing on it: what debootstrap makes of Debian 13, booted with its own systemd in a container
 * of systemd-nspawn, with a network of its own that reaches out through slirp4netns. Nothing of the machine that tests is
 * seen from inside but its network and, where it trusts authorities of its own, those.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after } from 'node:test'
import { promisify } from 'node:util'
import { SECOND_MS } from '../../src/core/time.ts'
import { until, waitFor } from '../wait-for.ts'

const exec = promisify(execFile)

/** That of Debian 13, which the guide begins with. */
const RELEASE = 'trixie'
const MIRROR = 'http://deb.debian.org/debian'
/** As slirp4netns gives it: where the machine asks for names. */
const NAME_SERVER = '10.0.2.3'
/** What an administrator has after `sudo --login`; a bare Debian names no language. */
const ENVIRONMENT = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root']
/** Of one block of the guide: Debian's npm alone is 400 packages. */
const BLOCK_MS = 900 * SECOND_MS
/** Where the machine that tests keeps authorities that Debian does not know, as behind a company's proxy. */
const AUTHORITIES = '/usr/local/share/ca-certificates'

const PROGRAMS = {
  debootstrap: 'debootstrap',
  'systemd-nspawn': 'systemd-container',
  slirp4netns: 'slirp4netns',
  ip: 'iproute2',
  nsenter: 'util-linux',
}

/** @throws {Error} saying what to install, or as whom to run it. */
export async function requireMachine(): Promise<void> {
  const missing: string[] = []
  for (const [program, debian] of Object.entries(PROGRAMS)) {
    const found = await exec('sh', ['-c', `PATH="$PATH:/usr/sbin:/sbin" command -v ${program}`]).catch(
      () => null,
    )
    if (!found) missing.push(debian)
  }
  if (missing.length > 0)
    throw new Error(`npm run test:install needs more programs: apt-get install ${missing.join(' ')}`)
  if (process.getuid?.() !== 0) throw new Error('npm run test:install makes a machine: run it as root')
}

export interface Machine {
  /** Its disk, as a folder of the machine that tests. */
  readonly root: string
  /** A shell of root's, which keeps its folder and its functions from one block to the next. */
  shell(): Shell
  /** One command in a shell of its own. @returns What it printed. @throws When it does not end with 0. */
  run(command: string): Promise<string>
  /** Switches it off and on again; everything in it is gone but its disk. */
  reboot(): Promise<void>
}

export interface Shell {
  /** @returns What the block printed, both streams. @throws {Error} with it, when a command in it failed. */
  run(block: string): Promise<string>
  /** The next block is run in a new one. */
  end(): void
}

/** @param folder - Where its disk is made; about 3 GB. */
export async function startMachine(folder: string): Promise<Machine> {
  const root = join(folder, 'root')
  await mkdir(root)
  // One that was made already, to try many times in a row.
  const made = process.env.BARE_DEBIAN
  if (made) await exec('cp', ['--archive', '--reflink=auto', `${made}/.`, root])
  else await exec('debootstrap', [RELEASE, root, MIRROR], { maxBuffer: 1 << 26 })
  await trustTheSame(root)
  await writeFile(join(root, 'etc/resolv.conf'), `nameserver ${NAME_SERVER}\n`)
  await writeFile(join(root, 'etc/hostname'), 'gateway\n')
  // What is thrown away need not survive a power failure: packages are there in a third of the time.
  await writeFile(join(root, 'etc/dpkg/dpkg.cfg.d/thrown-away'), 'force-unsafe-io\n')
  const network = `beck-install-${process.pid}`
  await exec('ip', ['netns', 'add', network])
  const wire = spawn(
    'slirp4netns',
    ['--configure', '--mtu=1500', '--netns-type=path', `/run/netns/${network}`, 'tap0'],
    { stdio: 'ignore' },
  )
  let power = await boot(root, network)
  after(async () => {
    await powerOff(power)
    wire.kill('SIGKILL')
    await exec('ip', ['netns', 'delete', network])
    await rm(root, { recursive: true, force: true, maxRetries: 5 })
  })
  return {
    root,
    shell: () => openShell(root, () => power.leader),
    run: (command) => runOnce(root, power.leader, command),
    async reboot() {
      await powerOff(power)
      power = await boot(root, network)
    },
  }
}

/** Of use where the registries are reached through a proxy that opens TLS: Debian and its Node read these files. */
async function trustTheSame(root: string): Promise<void> {
  const names = (await readdir(AUTHORITIES).catch(() => [])).filter((name) => name.endsWith('.crt'))
  if (names.length === 0) return
  await mkdir(join(root, AUTHORITIES), { recursive: true })
  for (const name of names) await copyFile(join(AUTHORITIES, name), join(root, AUTHORITIES, name))
}

interface Power {
  readonly container: ChildProcess
  /** Its systemd, by the number that the machine that tests knows it by. */
  readonly leader: number
}

async function boot(root: string, network: string): Promise<Power> {
  const container = spawn(
    'systemd-nspawn',
    [
      ...['--quiet', '--boot', `--directory=${root}`, `--network-namespace-path=/run/netns/${network}`],
      ...['--register=no', '--keep-unit', '--resolv-conf=off', '--link-journal=no', '--console=pipe'],
      // So that units can be kept from networks (IPAddressDeny), as on a machine of metal.
      '--capability=CAP_BPF,CAP_PERFMON',
    ],
    {
      // Debian 13 knows the unified hierarchy alone, whatever the machine that tests has.
      env: { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let said = ''
  for (const stream of [container.stdout, container.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  const leader = await waitFor('systemd of the machine', async () => {
    assert.ok(container.exitCode === null && container.signalCode === null, said)
    return leaderOf(container)
  })
  await until('the machine is up', async () => {
    const state = await runOnce(root, leader, 'systemctl is-system-running || true').catch(() => '')
    return /^(running|degraded)$/m.test(state)
  })
  return { container, leader }
}

async function powerOff({ container, leader }: Power): Promise<void> {
  if (container.exitCode !== null || container.signalCode !== null) return
  const ended = once(container, 'exit')
  // Each is stopped by systemd's last act, and nsenter with it: a machine with a process that nobody waits for never ends.
  for (const shell of shells) shell.kill('SIGKILL')
  // As by its button: SIGRTMIN+4 asks systemd to power off.
  process.kill(leader, 38)
  const late = setTimeout(() => container.kill('SIGKILL'), 120 * SECOND_MS)
  await ended
  clearTimeout(late)
}

/** The container's first process: the only child of nspawn's that is number 1 in a namespace of its own. */
async function leaderOf(container: ChildProcess): Promise<number | null> {
  const tasks = await readFile(`/proc/${container.pid}/task/${container.pid}/children`, 'utf8').catch(
    () => '',
  )
  for (const pid of tasks.trim().split(' ')) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
    if (/^NSpid:\s+\d+\s+1$/m.test(status)) return Number(pid)
  }
  return null
}

async function runOnce(root: string, leader: number, command: string): Promise<string> {
  const shell = openShell(root, () => leader)
  try {
    return await shell.run(command)
  } finally {
    shell.end()
  }
}

let blocks = 0
/** Open now. */
const shells = new Set<ChildProcess>()

function openShell(root: string, leader: () => number): Shell {
  const spaces = ['--mount', '--uts', '--ipc', '--net', '--pid', '--cgroup', '--root', '--wd']
  const start = () =>
    spawn(
      'nsenter',
      [`--target=${leader()}`, ...spaces, 'env', '--ignore-environment', ...ENVIRONMENT, 'bash'],
      { stdio: ['pipe', 'pipe', 'ignore'] },
    )
  let shell: ChildProcess | undefined
  return {
    end() {
      shell?.stdin?.end()
      shell = undefined
    },
    async run(block) {
      if (shell === undefined) {
        const started = start()
        shell = started
        shells.add(started)
        started.once('exit', () => shells.delete(started))
        shell.stdin?.on('error', () => {})
        shell.stdin?.write('set -eu -o pipefail; cd /root\n')
      }
      const name = `block-${++blocks}`
      const [file, output] = [join(root, 'root', name), join(root, 'root', `${name}.out`)]
      await writeFile(file, `${block}\n`)
      const limit = setTimeout(() => shell?.kill('SIGKILL'), BLOCK_MS)
      shell.stdin?.write(`. /root/${name} < /dev/null > /root/${name}.out 2>&1; echo done\n`)
      const isGood = await doesGoOn(shell)
      clearTimeout(limit)
      const said = await readFile(output, 'utf8').catch(() => '')
      await chmod(file, 0o600)
      if (!isGood) shell = undefined
      assert.ok(isGood, `this failed on the machine:\n${block}\n---\n${said.slice(-6_000)}`)
      return said
    },
  }
}

/** A shell ends with the first command that fails. */
async function doesGoOn(shell: ChildProcess): Promise<boolean> {
  const heard = new AbortController()
  const { signal } = heard
  assert.ok(shell.stdout)
  const goesOn = await Promise.race([
    once(shell.stdout, 'data', { signal }).then(() => true),
    once(shell, 'exit', { signal }).then(() => false),
  ])
  heard.abort()
  return goesOn
}
