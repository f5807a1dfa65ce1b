/** Units of systemd, by systemd's own tools: they can be loaded, and leave little for whoever takes a process over. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'

const exec = promisify(execFile)
const SOURCE = 'deploy/systemd'
/** Of a hundred: below 20 systemd calls a unit well protected. */
const EXPOSURE_MAX = 15
const folder = await mkdtemp(join(tmpdir(), 'beck-units-'))
after(() => rm(folder, { recursive: true, force: true }))

const names = await readdir(SOURCE)
const units = names.filter((name) => /\.(service|timer|target)$/.test(name))
const roles = ['api', 'worker', 'watcher', 'signer'] as const
const textOf = (unit: string) => readFile(join(SOURCE, unit), 'utf8')

test('every unit can be loaded', async () => {
  for (const unit of units) {
    // Where it is installed is not where this is.
    const text = (await textOf(unit))
      .replaceAll('/opt/beck/', `${process.cwd()}/`)
      .replaceAll('/usr/local/sbin/', `${process.cwd()}/${SOURCE}/`)
    await writeFile(join(folder, unit), text)
  }
  const { stderr } = await exec('systemd-analyze', [
    'verify',
    '--man=no',
    ...units.map((unit) => join(folder, unit)),
  ])
  assert.equal(stderr, '')
})

test('a process that is taken over can do little, and the signer least', async () => {
  const exposures = await Promise.all(
    roles.map(async (role) => {
      const { stdout } = await exec('systemd-analyze', [
        'security',
        '--offline=true',
        '--no-pager',
        `--threshold=${EXPOSURE_MAX}`,
        `./${SOURCE}/beck-${role}.service`,
      ])
      return Number(/Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1])
    }),
  )
  const [api = 0, , , signer = 10] = exposures
  assert.ok(signer < api, `${exposures}`)
})

test('nothing that has a key of Beck dumps its memory', async () => {
  for (const unit of units.filter((name) => name.endsWith('.service')))
    assert.match(await textOf(unit), /^LimitCORE=0$/m, unit)
  assert.match(await textOf('beck'), /^ulimit -c 0$/m)
})

test('each role runs as itself, has 90 s to end, and is started again; the signer is a user of its own', async () => {
  const users = new Set<string>()
  for (const role of roles) {
    const text = await textOf(`beck-${role}.service`)
    assert.match(text, new RegExp(`^ExecStart=.* start --role ${role}$`, 'm'))
    assert.match(text, /^TimeoutStopSec=90$/m)
    assert.match(text, /^Restart=always$/m)
    assert.match(text, /^WantedBy=beck\.target$/m)
    if (role === 'signer') assert.match(text, /^MemorySwapMax=0$/m)
    const user = /^User=(\S+)$/m.exec(text)?.[1] ?? assert.fail(role)
    if (role === 'signer') assert.ok(!users.has(user), 'the signer shares its user')
    users.add(user)
    // Who shares a data directory shares what a process remembers of the database.
    const data = /BECK_DATA_DIR=(\S+)/.exec(text)?.[1]
    assert.equal(data, `/var/lib/${/^StateDirectory=(\S+)$/m.exec(text)?.[1]}`)
  }
  assert.doesNotMatch(await textOf('beck-api.service'), /keystore/)
})

test('the API believes the proxy of its own machine, unless its settings name another', async () => {
  const text = await textOf('beck-api.service')
  // Settings from before there was a line for it: without this everybody would be 127.0.0.1.
  assert.match(text, /^Environment=BECK_TRUST_PROXY=127\.0\.0\.1$/m)
  // systemd.exec(5): what EnvironmentFile= has overrides Environment=, whichever comes first.
  assert.match(text, /^EnvironmentFile=\/etc\/beck\/beck\.env$/m)
  assert.match(await textOf('beck.env.example'), /^BECK_TRUST_PROXY=127\.0\.0\.1$/m)
})

test('the scripts are shell that every shell reads', async () => {
  const scripts = ['deploy/systemd/beck', 'deploy/systemd/beck-backup', 'deploy/postgres/first-start.sh']
  for (const script of scripts) await exec('sh', ['-n', script])
})

test('what the journal keeps of Beck is bounded', async () => {
  const text = await readFile(join(SOURCE, 'journald@beck.conf'), 'utf8')
  assert.match(text, /^SystemMaxUse=\d+G$/m)
  assert.match(text, /^MaxRetentionSec=/m)
  for (const role of roles) assert.match(await textOf(`beck-${role}.service`), /^LogNamespace=beck$/m)
})

test('the command line becomes the right user with the right settings', async () => {
  // As installed, but for the places: what it would run is printed by what stands in for setpriv.
  const etc = join(folder, 'etc')
  const bin = join(folder, 'bin')
  await exec('mkdir', ['-p', etc, bin])
  await writeFile(
    join(etc, 'beck.env'),
    "DATABASE_URL=postgres://beck_api@x/beck\nBECK_PUBLIC_URL='https://a b'\n",
  )
  await writeFile(
    join(etc, 'signer.env'),
    "DATABASE_URL=postgres://beck_keys@x/beck\nBECK_SIGNER_LIMITS='BTC=tx:1;LTC=tx:2'\n",
  )
  await writeFile(join(etc, 'owner.env'), 'DATABASE_URL=postgres://beck_owner@x/beck\n')
  await writeFile(join(etc, 'keystore-passphrase'), 'correct horse battery\n')
  await writeFile(join(bin, 'setpriv'), '#!/bin/sh\necho "$2 $*"\nenv\n')
  await chmod(join(bin, 'setpriv'), 0o755)
  const script = join(folder, 'beck')
  await writeFile(script, (await readFile(join(SOURCE, 'beck'), 'utf8')).replaceAll('/etc/beck', etc))
  const run = async (...args: string[]) =>
    (await exec('sh', [script, ...args], { env: { PATH: `${bin}:${process.env.PATH}` } })).stdout
  const doctor = await run('doctor')
  assert.match(doctor, /^beck .*start|^beck .* doctor$/m)
  assert.match(doctor, /^DATABASE_URL=postgres:\/\/beck_owner@x\/beck$/m)
  assert.match(doctor, /^BECK_PUBLIC_URL=https:\/\/a b$/m)
  assert.match(doctor, /^BECK_DATA_DIR=\/var\/lib\/beck$/m)
  assert.doesNotMatch(doctor, /PASSPHRASE/)
  // The journal is the signer's, and needs no key.
  const backup = await run('backup', '/x', '--recipient', 'age1x')
  assert.match(backup, /^beck-signer /)
  assert.doesNotMatch(backup, /PASSPHRASE/)
  // And a restore puts it back where its signer looks. What root alone can read comes by root's redirection.
  await writeFile(join(bin, 'setpriv'), '#!/bin/sh\necho "$2 $*"\nenv\ncat\n')
  await writeFile(join(folder, 'one.beck'), 'what the backup holds\n')
  const { stdout: restore } = await exec(
    'sh',
    ['-c', 'exec sh "$0" restore - < "$1"', script, join(folder, 'one.beck')],
    { env: { PATH: `${bin}:${process.env.PATH}` } },
  )
  assert.match(restore, /^beck-signer .* restore -$/m)
  assert.match(restore, /^BECK_DATA_DIR=\/var\/lib\/beck-signer$/m)
  assert.match(restore, /^DATABASE_URL=postgres:\/\/beck_owner@x\/beck$/m)
  assert.match(restore, /^what the backup holds$/m)
  assert.doesNotMatch(restore, /PASSPHRASE/)
  await writeFile(join(bin, 'setpriv'), '#!/bin/sh\necho "$2 $*"\nenv\n')
  const wallet = await run('wallet', 'show')
  assert.match(wallet, /^beck-signer /)
  assert.match(wallet, /^BECK_KEYSTORE_PASSPHRASE=correct horse battery$/m)
  assert.match(wallet, /^BECK_SIGNER_LIMITS=BTC=tx:1;LTC=tx:2$/m)
  assert.match(wallet, /^BECK_DATA_DIR=\/var\/lib\/beck-signer$/m)
  // Options of all commands may stand before them.
  assert.match(
    await run('--json', 'wallet', 'allow', 'bitcoin', 'bc1q'),
    /^beck-signer .* --json wallet allow bitcoin bc1q$/m,
  )
  assert.match(await run('--json', 'wallet', 'show'), /^BECK_KEYSTORE_PASSPHRASE=/m)
  for (const verb of ['backup', 'restore']) {
    const moved = await run('--json', verb, '/x')
    assert.match(moved, /^beck-signer /, verb)
    assert.match(moved, /^BECK_DATA_DIR=\/var\/lib\/beck-signer$/m, verb)
  }
  // What is called as a command is none.
  assert.match(await run('accounts', 'create', '--name', 'wallet'), /^beck /)
  // It asks the nodes, whose settings the signer has not.
  for (const before of [[], ['--json']]) {
    const find = await run(...before, 'wallet', 'find', '--gap', '5')
    assert.match(find, /^beck .* wallet find --gap 5$/m)
    assert.match(find, /^BECK_PUBLIC_URL=https:\/\/a b$/m)
    assert.match(find, /^DATABASE_URL=postgres:\/\/beck_owner@x\/beck$/m)
    assert.doesNotMatch(find, /PASSPHRASE/)
  }
  // Where only the signer runs, everything has its settings.
  await rm(join(etc, 'beck.env'))
  const migrate = await run('migrate')
  assert.match(migrate, /^beck-signer .* migrate$/m)
  assert.match(migrate, /^DATABASE_URL=postgres:\/\/beck_owner@x\/beck$/m)
  assert.doesNotMatch(migrate, /PASSPHRASE/)
})

test('the settings that the guide makes hold the passwords that it gives to the database', async () => {
  const etc = join(folder, 'made')
  const bin = join(folder, 'made-bin')
  await exec('mkdir', ['-p', bin])
  await writeFile(join(bin, 'runuser'), '#!/bin/sh\nfor given; do echo "$given"; done\n')
  await chmod(join(bin, 'runuser'), 0o755)
  const guide = await readFile('docs/single-machine.md', 'utf8')
  const steps = guide.slice(guide.indexOf('### 2. The settings'), guide.indexOf('### 4. '))
  const commands = [...steps.matchAll(/```sh\n(.*?)```/gs)].map(([, text = '']) => text).join('')
  const { stdout } = await exec('sh', ['-euc', commands.replaceAll('/etc/beck', etc)], {
    env: { PATH: `${bin}:${process.env.PATH}` },
  })
  const words = new Set<string>()
  for (const [file, name] of [
    ['beck', 'server'],
    ['signer', 'signer'],
    ['owner', 'owner'],
  ] as const) {
    const text = await readFile(join(etc, `${file}.env`), 'utf8')
    const word = /^DATABASE_URL=postgres:\/\/\w+:([0-9a-f]{48})@/m.exec(text)?.[1] ?? assert.fail(text)
    assert.ok(stdout.includes(`${name}='${word}'\n`), stdout)
    words.add(word)
  }
  assert.equal(words.size, 3)
  const keys = await Promise.all(
    ['beck', 'signer'].map(
      async (file) =>
        /^BECK_SECRET_KEY=([0-9a-f]{64})$/m.exec(await readFile(join(etc, `${file}.env`), 'utf8'))?.[1],
    ),
  )
  assert.ok(keys[0] !== undefined && keys[0] === keys[1], String(keys))
})

test('the hourly backup removes the oldest, and what was cut off long ago, and nothing else', async () => {
  const bin = join(folder, 'backup-bin')
  const backups = join(folder, 'backups')
  await exec('mkdir', ['-p', bin, backups])
  await writeFile(join(bin, 'install'), '#!/bin/sh\n')
  await writeFile(join(bin, 'beck'), '#!/bin/sh\n: > "$2"\n')
  for (const name of ['install', 'beck']) await chmod(join(bin, name), 0o755)
  const old = new Date(Date.now() - 24 * 3_600_000)
  for (const name of ['20200101T000000Z.beck', '20200101T010000Z.beck.part', 'notes'])
    await writeFile(join(backups, name), '').then(() => utimes(join(backups, name), old, old))
  await writeFile(join(backups, 'now.beck.part'), '')
  const script = (await textOf('beck-backup')).replace('/usr/local/bin/beck', join(bin, 'beck'))
  await exec('sh', ['-c', script], {
    env: {
      PATH: `${bin}:${process.env.PATH}`,
      BACKUP_FOLDER: backups,
      BACKUP_RECIPIENT: 'age1x',
      BACKUPS_KEPT: '1',
    },
  })
  const left = (await readdir(backups)).sort()
  assert.equal(left.length, 3, String(left))
  assert.match(left[0] ?? '', /^20\d{6}T\d{6}Z\.beck$/)
  assert.notEqual(left[0], '20200101T000000Z.beck')
  assert.deepEqual(left.slice(1), ['notes', 'now.beck.part'])
})
