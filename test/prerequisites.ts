/** Programs that tests need beside npm's packages. On Debian as root the missing ones are installed. */
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'

const execute = promisify(execFile)

interface Program {
  readonly name: string
  /** Debian's package. */
  readonly debian: string
  /** What it is for, and where else it comes from. */
  readonly about: string
}

const PROGRAMS: readonly Program[] = [
  { name: 'litecoind', debian: 'litecoind', about: 'a real Litecoin node: https://litecoin.org' },
  {
    name: process.env.CHROMIUM_PATH ?? 'chromium-headless-shell',
    debian: 'chromium-headless-shell',
    about:
      'a real browser for the hosted pages, or another Chromium that CHROMIUM_PATH names: https://www.chromium.org',
  },
  { name: 'pgbouncer', debian: 'pgbouncer', about: 'a transaction pooler: https://www.pgbouncer.org' },
  {
    name: 'python3',
    debian: 'python3',
    about: 'for a receiver of webhooks in Python: https://www.python.org',
  },
  { name: 'php', debian: 'php-cli', about: 'for a receiver of webhooks in PHP: https://www.php.net' },
  { name: 'ruby', debian: 'ruby', about: 'for a receiver of webhooks in Ruby: https://www.ruby-lang.org' },
  { name: 'go', debian: 'golang-go', about: 'for a receiver of webhooks in Go: https://go.dev' },
  { name: 'nginx', debian: 'nginx-light', about: 'for the file of a proxy: https://nginx.org' },
  { name: 'caddy', debian: 'caddy', about: 'for the file of a proxy: https://caddyserver.com' },
  { name: 'promtool', debian: 'prometheus', about: 'for the alert rules: https://prometheus.io' },
  { name: 'systemd-analyze', debian: 'systemd', about: 'for the units: https://systemd.io' },
  { name: 'age', debian: 'age', about: 'for encrypted backups: https://age-encryption.org' },
  { name: 'redis-server', debian: 'redis-server', about: 'a real Redis: https://redis.io' },
]

const ANVIL = new URL('../node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil', import.meta.url)

/**
 * @param wanted - Debian's packages of those that are needed; all, unless told.
 * @throws {Error} saying exactly what to install, where that is not done here.
 */
export async function ensurePrerequisites(
  wanted: readonly string[] = PROGRAMS.map(({ debian }) => debian),
): Promise<void> {
  if (!existsSync(ANVIL) && !(await isInstalled('anvil')))
    throw new Error('the tests need anvil, a real Ethereum node: install Foundry (https://getfoundry.sh)')
  const missing = await missingPrograms(wanted)
  if (missing.length === 0) return
  const packages = missing.map(({ debian }) => debian)
  if (process.getuid?.() === 0 && (await isInstalled('apt-get'))) await installOnDebian(packages)
  const still = await missingPrograms(wanted)
  if (still.length === 0) return
  throw new Error(
    [
      'the tests need programs that are not installed here:',
      ...still.map(({ name, about }) => `  ${name}: ${about}`),
      `on Debian: sudo apt-get install ${still.map(({ debian }) => debian).join(' ')}`,
    ].join('\n'),
  )
}

async function missingPrograms(wanted: readonly string[]): Promise<Program[]> {
  const needed = PROGRAMS.filter(({ debian }) => wanted.includes(debian))
  const found = await Promise.all(needed.map(({ name }) => isInstalled(name)))
  return needed.filter((_, index) => !found[index])
}

/** Debian keeps servers in /usr/sbin, which is not on everybody's path. */
const isInstalled = (name: string): Promise<boolean> =>
  execute('/bin/sh', ['-c', `PATH="$PATH:/usr/sbin" command -v ${name}`]).then(
    () => true,
    () => false,
  )

async function installOnDebian(packages: readonly string[]): Promise<void> {
  process.stdout.write(`installing ${packages.join(', ')} with apt-get\n`)
  await aptGet(['update'])
  await aptGet(['install', '--yes', '--no-install-recommends', ...packages])
}

function aptGet(args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('apt-get', ['--quiet=2', ...args], {
      // In runlevel 1 the packages' services are not started: the tests start their own.
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    child.once('error', reject)
    child.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`apt-get ${args.join(' ')} ended with ${code}`)),
    )
  })
}
