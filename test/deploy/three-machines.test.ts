/** docs/three-machines.md, typed on three machines that are folders: each has what its units and commands read, and no secret of another. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac, X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'
import { blocksOf } from '../install/guide.ts'

const exec = promisify(execFile)
const folder = await mkdtemp(join(tmpdir(), 'beck-three-'))
after(() => rm(folder, { recursive: true, force: true }))
const MACHINES = ['front', 'data', 'keys'] as const
type Machine = (typeof MACHINES)[number]
const guide = await readFile('docs/three-machines.md', 'utf8')

/** What would change a machine says what it was asked; what carries files goes from folder to folder. */
const STAND_INS = {
  ...Object.fromEntries(
    ['apt-get', 'git', 'npm', 'adduser', 'chown', 'systemctl', 'runuser', 'beck'].map((name) => [
      name,
      `echo "${name} $*" >> "$MACHINE/said"`,
    ]),
  ),
  install:
    'for given; do shift; case $given in --group=* | --owner=*) ;; *) set -- "$@" "$given" ;; esac; done; exec /usr/bin/install "$@"',
  scp: `place() { echo "${folder}/$(echo "\${1#root@}" | sed 's/://')"; }; cp "$(place "$2")" "$(place "$3")"`,
  ssh: `machine=${'$'}{1#root@}; shift; for given; do shift; set -- "$@" "$(echo "$given" | sed "s|^/|${folder}/$machine/|")"; done; "$@"`,
}

await mkdir(join(folder, 'bin'))
for (const [name, text] of Object.entries(STAND_INS)) {
  await writeFile(join(folder, 'bin', name), `#!/bin/bash\n${text}\n`)
  await chmod(join(folder, 'bin', name), 0o755)
}
for (const machine of MACHINES) {
  for (const place of ['opt', 'root', 'etc/ssl', 'etc/systemd/system', 'etc/postgresql/17/main/conf.d'])
    await mkdir(join(folder, machine, place), { recursive: true })
  for (const place of ['usr/local/bin', 'usr/local/sbin'])
    await mkdir(join(folder, machine, place), { recursive: true })
  await symlink(process.cwd(), join(folder, machine, 'opt/beck'))
  await writeFile(join(folder, machine, 'etc/postgresql/17/main/pg_hba.conf'), 'local all postgres peer\n')
}
const steps = guide
  .split(/^## \d+\. /m)
  .slice(1)
  .map((text) => ({
    machine: text.slice(0, text.indexOf(':')),
    block: blocksOf(text.split(/^## /m)[0] ?? '').join('\n'),
  }))
for (const { machine, block } of steps) {
  const root = join(folder, machine)
  const isOwn = machine === 'your own machine'
  assert.ok(isOwn || existsSync(root), machine)
  const here = isOwn
    ? block
    : block.replaceAll(/(?<![\w.:])\/(?=etc\/|root\/|opt\/|usr\/local\/)/g, `${root}/`)
  await exec('bash', ['-euc', here], {
    cwd: isOwn ? folder : root,
    env: { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, MACHINE: root },
  })
}

const read = (machine: Machine, path: string) => readFile(join(folder, machine, path), 'utf8')
/** As a shell and systemd read them. */
async function settings(machine: Machine, name: string): Promise<Record<string, string>> {
  const file = join(folder, machine, 'etc/beck', name)
  const { stdout } = await exec('env', ['-i', 'sh', '-euc', `set -a; . ${file}; /usr/bin/env`])
  return Object.fromEntries(
    [...stdout.matchAll(/^(\w+)=(.*)$/gm)].map(([, key, value]) => [key, value ?? '']),
  )
}
const [front, signer, owner] = await Promise.all([
  settings('front', 'beck.env'),
  settings('keys', 'signer.env'),
  settings('keys', 'owner.env'),
])

test('every unit that a machine runs is on it, with every file that it reads', async () => {
  const expected: Readonly<Record<Machine, readonly string[]>> = {
    front: ['beck.target', 'beck-api', 'beck-worker', 'beck-watcher'],
    data: ['litecoind'],
    keys: ['beck.target', 'beck-signer', 'beck-backup.timer'],
  }
  for (const machine of MACHINES) {
    const said = await read(machine, 'said')
    const enabled = [...said.matchAll(/^systemctl enable --now (.*)$/gm)].flatMap(([, units = '']) =>
      units.split(' '),
    )
    assert.deepEqual(enabled, expected[machine])
    const units = await readdir(join(folder, machine, 'etc/systemd/system'))
    for (const unit of enabled) assert.ok(units.includes(unit.includes('.') ? unit : `${unit}.service`), unit)
    for (const unit of units.filter((name) => name.endsWith('.service'))) {
      const text = await read(machine, `etc/systemd/system/${unit}`)
      for (const [, file = ''] of text.matchAll(
        /^(?:EnvironmentFile=|LoadCredential=[\w-]+:|ExecStart=(?=\/usr\/local))(\S+)/gm,
      ))
        assert.ok(existsSync(join(folder, machine, file)), `${unit} of ${machine} reads ${file}`)
      for (const [, file = ''] of text.matchAll(/ -conf=(\S+)/g))
        assert.ok(existsSync(join(folder, machine, file)), file)
    }
  }
})

test('no machine has the settings or the secrets of another, and nothing of what was carried is left', async () => {
  const has = (machine: Machine) => readdir(join(folder, machine, 'etc/beck')).catch(() => [])
  assert.deepEqual(await has('front'), ['beck.env'])
  assert.deepEqual(await has('data'), [])
  assert.deepEqual((await has('keys')).sort(), [
    'backup.env',
    'keystore-passphrase',
    'owner.env',
    'signer.env',
  ])
  for (const machine of MACHINES)
    assert.deepEqual(await readdir(join(folder, machine, 'root')), machine === 'data' ? ['beck-ca.pem'] : [])
})

test('each secret is made once, and is the same wherever it is used', async () => {
  assert.equal(guide.match(/openssl rand -hex 32/g)?.length, 1)
  assert.match(signer.BECK_SECRET_KEY ?? '', /^[0-9a-f]{64}$/)
  assert.equal(front.BECK_SECRET_KEY, signer.BECK_SECRET_KEY)
  const said = await read('data', 'said')
  const words = Object.entries({ server: front, signer, owner }).map(([name, { DATABASE_URL = '' }]) => {
    const { username, password } = new URL(DATABASE_URL)
    assert.ok(said.includes(`${name}='${password}'`), `${username}: ${said}`)
    return password
  })
  assert.equal(new Set(words).size, 3)
  const conf = await read('data', 'etc/litecoin/litecoin.conf')
  const [, salt = '', hash] = /^rpcauth=beck:([0-9a-f]+)\$([0-9a-f]{64})$/m.exec(conf) ?? assert.fail(conf)
  for (const { LITECOIN_RPC_URL = '' } of [front, owner]) {
    const { password, hostname } = new URL(LITECOIN_RPC_URL)
    assert.equal(createHmac('sha256', salt).update(password).digest('hex'), hash)
    assert.match(conf, new RegExp(`^rpcbind=${hostname}$`, 'm'))
  }
  assert.match(conf, /^zmqpubhashblock=tcp:\/\/10\.0\.0\.20:28332$/m)
})

test('where commands are the owner’s they reach the nodes, and the signer does not know them', () => {
  assert.equal(new URL(owner.DATABASE_URL ?? '').username, 'beck_owner')
  assert.ok(owner.LITECOIN_RPC_URL)
  assert.equal(owner.BECK_PUBLIC_URL, front.BECK_PUBLIC_URL)
  assert.equal(signer.LITECOIN_RPC_URL, undefined)
  assert.match(signer.BECK_SIGNER_LIMITS ?? '', /^BTC=tx:.*USDT=/)
})

test('the database is reached over TLS, by a certificate that each user of it can check and read', async () => {
  const main = 'etc/postgresql/17/main'
  const certificate = new X509Certificate(await read('data', `${main}/beck.pem`))
  assert.ok(certificate.ca && certificate.checkHost('data.internal'))
  const conf = await read('data', `${main}/conf.d/beck.conf`)
  for (const [, file = ''] of conf.matchAll(/^ssl_\w+ = '(.*)'$/gm)) assert.ok(existsSync(file), file)
  const doors = [...(await read('data', `${main}/pg_hba.conf`)).matchAll(/^hostssl beck (\w+) +(\S+)\/32 /gm)]
  const allowed = Object.fromEntries(doors.map(([, user, address]) => [user, address]))
  for (const [url, machine, address] of [
    [front.DATABASE_URL, 'front', '10.0.0.10'],
    [signer.DATABASE_URL, 'keys', '10.0.0.30'],
    [owner.DATABASE_URL, 'keys', '10.0.0.30'],
  ] as const) {
    const { username, searchParams, hostname } = new URL(url ?? '')
    assert.equal(allowed[username], address)
    assert.equal(searchParams.get('sslmode'), 'verify-full')
    // /etc/beck is root's alone.
    const authority = searchParams.get('sslrootcert') ?? ''
    assert.doesNotMatch(authority, /etc\/beck\//)
    assert.ok((await readFile(authority, 'utf8')).includes('BEGIN CERTIFICATE'))
    assert.match(await read(machine, 'etc/hosts'), new RegExp(`^10\\.0\\.0\\.20 ${hostname}$`, 'm'))
  }
})
