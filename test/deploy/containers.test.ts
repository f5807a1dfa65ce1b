/** The Dockerfile and compose.yaml, held against what Beck needs and against each other; the database's first start is run. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'
import { readConfig } from '../../src/config/config.ts'
import { openDatabase } from '../../src/db/database.ts'
import { freePort, startCluster } from '../../src/db/embedded/embedded.ts'
import { readSignerConfig } from '../../src/signer/config.ts'
import { startBeckProcess } from '../beck-process.ts'

const dockerfile = await readFile('deploy/Dockerfile', 'utf8')

interface Service {
  readonly image?: string
  readonly build?: object
  readonly profiles?: readonly string[]
  readonly command?: readonly string[]
  readonly entrypoint?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly networks?: readonly string[]
  readonly volumes?: readonly string[]
  readonly restart: string
  readonly stop_grace_period?: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly ulimits?: object
  readonly depends_on?: unknown
  readonly secrets?: readonly string[]
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
  readonly volumes: Readonly<Record<string, object>>
  readonly secrets: Readonly<Record<string, object>>
}
/** Ruby reads YAML, anchors and merges and all. */
const compose: Compose = JSON.parse(
  (
    await promisify(execFile)('ruby', [
      '-ryaml',
      '-rjson',
      '-e',
      'puts JSON.dump(YAML.load(File.read("deploy/compose.yaml"), aliases: true))',
    ])
  ).stdout,
)
const service = (name: string): Service => compose.services[name] ?? assert.fail(name)

/** Of a service, by the Compose Specification. */
const SERVICE_KEYS = [
  ...[
    'build',
    'cap_drop',
    'command',
    'depends_on',
    'entrypoint',
    'environment',
    'healthcheck',
    'image',
    'logging',
  ],
  ...['networks', 'ports', 'profiles', 'read_only', 'restart', 'secrets', 'security_opt', 'shm_size'],
  ...['stop_grace_period', 'tmpfs', 'ulimits', 'volumes'],
]

test('every service has what the specification knows, and names only what is there', () => {
  for (const [name, each] of Object.entries(compose.services)) {
    for (const key of Object.keys(each)) assert.ok(SERVICE_KEYS.includes(key), `${name}: ${key}`)
    assert.ok(each.image !== undefined || each.build !== undefined, name)
    if (each.image !== undefined) assert.match(each.image, /:[^:]*\d|\$\{BECK_VERSION/, `${name} is pinned`)
    for (const network of each.networks ?? []) assert.ok(network in compose.networks, network)
    for (const volume of each.volumes ?? []) {
      const [source = ''] = volume.split(':')
      assert.ok(
        source.startsWith('./') ? existsSync(join('deploy', source)) : source in compose.volumes,
        volume,
      )
    }
    for (const secret of each.secrets ?? []) assert.ok(secret in compose.secrets, secret)
    for (const other of Array.isArray(each.depends_on) ? each.depends_on : Object.keys(each.depends_on ?? {}))
      assert.ok(other in compose.services, other)
  }
})

test('each role is a service with 90 s to end; only the API has ports, on this machine alone; the signer sees the database alone', () => {
  for (const role of ['api', 'worker', 'watcher', 'signer']) {
    const each = service(role)
    assert.deepEqual(each.command, ['start', '--role', role])
    assert.equal(each.stop_grace_period, '90s')
    assert.deepEqual([each.read_only, each.cap_drop, each.restart], [true, ['ALL'], 'unless-stopped'])
    assert.deepEqual(each.ulimits, { core: 0 }, 'no dump has its keys')
    for (const port of each.ports ?? []) assert.match(port, /^127\.0\.0\.1:/)
    assert.deepEqual(each.ports === undefined, role !== 'api')
    // What a process remembers of the database is its own.
    assert.deepEqual(each.volumes, [`${role}:/var/lib/beck`])
  }
  assert.deepEqual(service('signer').networks, ['database'])
  assert.equal(compose.networks.database?.internal, true)
  // Of what runs, the signer alone; `wallet` seals the keystore with it, once and by hand.
  for (const [name, each] of Object.entries(compose.services))
    if (name !== 'signer' && name !== 'wallet')
      assert.equal(each.secrets, undefined, `${name} has the passphrase`)
  // Who takes over what strangers talk to, or the keys, reaches no node.
  for (const node of ['bitcoin', 'litecoin', 'ethereum', 'consensus']) {
    assert.equal(service(node).profiles?.length, 1)
    assert.equal(service(node).ports, undefined)
    for (const role of ['api', 'signer', 'postgres', 'migrate'])
      for (const network of service(role).networks ?? [])
        assert.ok(!service(node).networks?.includes(network), `${role} reaches ${node} by ${network}`)
  }
  for (const role of ['worker', 'watcher']) assert.ok(service(role).networks?.includes('nodes'))
  assert.equal(compose.networks.nodes?.internal, true)
  // Of Geth's namespaces Beck asks these; `debug` can wind a chain back.
  assert.ok(service('ethereum').command?.includes('--http.api=eth,net,web3'))
})

test('a backup is the owner of the tables beside the journal, encrypted, and reaches nothing but the database', () => {
  const each = service('backup')
  // biome-ignore lint/suspicious/noTemplateCurlyInString: compose's own
  assert.deepEqual(each.command, ['backup', '-', '--recipient', '${BACKUP_RECIPIENT:-}'])
  assert.match(each.environment?.DATABASE_URL ?? '', /^postgres:\/\/beck_owner:/)
  assert.deepEqual(each.volumes, service('signer').volumes)
  assert.deepEqual([each.networks, each.profiles, each.restart], [['database'], ['backup'], 'no'])
  assert.match(dockerfile, /apt-get install .* age\b/, 'what encrypts is in the image')
})

test('the wallet is made by the owner of the tables where the signer will look, and nothing else is reached', () => {
  const [each, signer] = [service('wallet'), service('signer')]
  assert.deepEqual(each.entrypoint, ['beck', 'wallet'])
  assert.match(each.environment?.DATABASE_URL ?? '', /^postgres:\/\/beck_owner:/)
  assert.deepEqual([each.volumes, each.secrets], [signer.volumes, signer.secrets])
  assert.equal(
    each.environment?.BECK_KEYSTORE_PASSPHRASE_FILE,
    signer.environment?.BECK_KEYSTORE_PASSPHRASE_FILE,
  )
  assert.deepEqual([each.networks, each.profiles, each.restart], [['database'], ['wallet'], 'no'])
})

test('other commands are run by the owner of the tables beside the nodes, without the keys', async () => {
  const [each, api] = [service('command'), service('api')]
  assert.match(each.environment?.DATABASE_URL ?? '', /^postgres:\/\/beck_owner:/)
  for (const network of ['database', 'nodes', 'outside']) assert.ok(each.networks?.includes(network), network)
  assert.deepEqual([each.profiles, each.restart, each.secrets], [['command'], 'no', undefined])
  // What the API remembers of the database, for `beck restored`.
  assert.deepEqual(each.volumes, api.volumes)
  assert.deepEqual(each.entrypoint, undefined)
})

/** Settings of README's table that beck.env does not set, and why. */
const NOT_OF_THE_FILE: Readonly<Record<string, string>> = {
  PORT: 'inside the container, where compose.yaml publishes it from',
  BECK_HOST: 'as PORT',
  BECK_METRICS_HOST: 'as PORT',
  BECK_METRICS_PORT: 'as PORT',
  BECK_DATA_DIR: "the image's, where the volumes are",
  DATABASE_URL: 'of the user of each service, by its password',
  BECK_SIGNER_DATABASE_URL: 'the signer is a service of its own',
  BECK_KEYSTORE_PASSPHRASE: 'a file of its own, as a secret',
  BECK_KEYSTORE_PASSPHRASE_FILE: 'as BECK_KEYSTORE_PASSPHRASE',
}
/** What opens something, and who reads it. */
const SECRETS: Readonly<Record<string, readonly string[]>> = {
  BECK_OIDC_CLIENT_SECRET: ['api'],
  REDIS_URL: ['api', 'command'],
  OTEL_EXPORTER_OTLP_HEADERS: ['api', 'watcher', 'worker'],
  ETHEREUM_WS_URL: ['command', 'watcher', 'worker'],
  ETHEREUM_RPC_URL: ['api', 'command', 'watcher', 'worker'],
  BITCOIN_RPC_URL: ['api', 'command', 'watcher', 'worker'],
  LITECOIN_RPC_URL: ['api', 'command', 'watcher', 'worker'],
  SMTP_URL: ['api', 'command', 'watcher', 'worker'],
}
/** Services to which the file's value of a variable is passed on. */
const readersOf = (variable: string): string[] =>
  Object.entries(compose.services)
    .filter(([, { environment }]) => environment?.[variable]?.startsWith(`\${${variable}:`))
    .map(([name]) => name)
    .sort()

test('every setting goes from beck.env to who reads it, and what opens something to nobody else', async () => {
  const table = (await readFile('README.md', 'utf8')).matchAll(/^\| (`[A-Z].*?) \|/gm)
  const variables = [...table].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name),
  )
  assert.ok(variables.length > 50, String(variables))
  for (const variable of variables as string[])
    assert.equal(readersOf(variable).length === 0, variable in NOT_OF_THE_FILE, variable)
  for (const [variable, readers] of Object.entries(SECRETS))
    assert.deepEqual(readersOf(variable), readers, variable)
})

test('the signer, and who makes its wallet, get all that a signer reads and nothing else', async () => {
  const asked = new Set<string>()
  await readSignerConfig(
    new Proxy<Record<string, string>>(
      { BECK_SECRET_KEY: 'ab'.repeat(32), DATABASE_URL: 'postgres://x/beck' },
      {
        get(given, name: string) {
          asked.add(name)
          return given[name]
        },
      },
    ),
  )
  const passed = [...asked].filter((name) => !(name in NOT_OF_THE_FILE) && !name.endsWith('_FD')).sort()
  for (const name of ['signer', 'wallet']) {
    const given = Object.keys(service(name).environment ?? {})
    assert.deepEqual(given.filter((variable) => !(variable in NOT_OF_THE_FILE)).sort(), passed, name)
  }
})

test('what is empty in beck.env counts as not set', async () => {
  const needed = { BECK_SECRET_KEY: 'ab'.repeat(32), DATABASE_URL: 'postgres://x/beck' }
  const empty = (name: string) => ({
    ...Object.fromEntries(Object.keys(service(name).environment ?? {}).map((variable) => [variable, ''])),
    ...needed,
  })
  for (const name of ['api', 'worker', 'watcher', 'command', 'migrate', 'backup'])
    assert.deepEqual(readConfig(empty(name)), readConfig(needed), name)
  for (const name of ['signer', 'wallet'])
    assert.deepEqual(await readSignerConfig(empty(name)), await readSignerConfig(needed), name)
})

test('every variable that compose.yaml and its example set means something to Beck', async () => {
  for (const name of ['api', 'worker', 'watcher', 'signer', 'migrate', 'wallet', 'backup', 'command']) {
    const environment = Object.fromEntries(
      Object.entries(service(name).environment ?? {}).map(([variable, value]) => [
        variable,
        // As the example has it.
        value.replace(/\$\{(\w+):[?-]([^}]*)\}/g, (_, of: string, other: string) =>
          of === 'BECK_SECRET_KEY' ? 'ab'.repeat(32) : of.endsWith('PASSWORD') ? 'abc' : other,
        ),
      ]),
    )
    assert.deepEqual(readConfig(environment).unknownVariables, [], name)
  }
  const asked = [...(await readFile('deploy/compose.yaml', 'utf8')).matchAll(/\$\{([A-Z_]+):\?/g)].map(
    ([, name]) => name,
  )
  const example = await readFile('deploy/beck.env.example', 'utf8')
  for (const name of asked) assert.match(example, new RegExp(`^${name}=`, 'm'), `the example has ${name}`)
})

test('the image is of the Node that Beck is tested with, runs as nobody, and holds every file that Beck reads', async () => {
  const { dependencies } = JSON.parse(await readFile('package.json', 'utf8'))
  assert.match(dockerfile, new RegExp(`^ARG BASE=node:${dependencies.node}-\\w+-slim$`, 'm'))
  assert.match(dockerfile, /^USER 10001:10001$/m)
  assert.match(dockerfile, /npm ci --omit=dev/)
  const [, probe = '[]'] = dockerfile.match(/^HEALTHCHECK .*(?:\\\n)?.* CMD (\[.*\])$/m) ?? []
  const flags = (await readFile('src/process/orderly-exit.ts', 'utf8'))
    .matchAll(/^ {2}setFlagsFromString\('(--[\w-]+)'\)/gm)
    .map(([, flag]) => flag)
  assert.deepEqual(JSON.parse(probe), ['node', ...flags, '/opt/beck/bin/beck.mjs', 'alive'])
  const ignored = await readFile('deploy/Dockerfile.dockerignore', 'utf8')
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = '']) =>
    sources.split(' '),
  )
  for (const source of copied) {
    assert.ok(existsSync(source), source)
    assert.ok(ignored.includes(`\n!${source}\n`), `${source} goes to the builder`)
  }
  // What a module of Beck imports or reads outside of packages lies in a folder that is copied.
  for (const file of await Array.fromAsync(glob('{src,cli/src}/**/*.ts'))) {
    if (file.endsWith('.test.ts') || /write-openapi|dump-schema/.test(file)) continue
    const text = await readFile(file, 'utf8')
    for (const [, path = ''] of text.matchAll(/from '(\.[^']+)'|new URL\('(\.[^']+)', import/g)) {
      if (path === '') continue
      const target = join(file, '..', path)
      assert.ok(
        copied.some((source) => target === source || target.startsWith(`${source}/`)) ||
          target.startsWith('node_modules'),
        `${file} reads ${target}`,
      )
    }
  }
})

test('the users of the database that its first start makes are enough for each role, and no more', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beck-first-start-'))
  const cluster = await startCluster({ dataDir: folder, settings: ['fsync=off'] })
  after(async () => {
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const admin = openDatabase({ url: cluster.url('postgres'), connectionsMax: 1 })
  const script = (await readFile('deploy/postgres/roles.sql', 'utf8')).replace(/^--.*$/gm, '')
  // psql sends one statement after the other.
  const statements = script
    .split(/;\n(?![^$]*end \$\$)/)
    .map((text) => text.trim())
    .filter((text) => text !== '')
  for (const statement of statements)
    await admin.query(statement.replace(/:(owner|server|signer)\b/, "'word-of-$1'"))
  await admin.close()
  const url = (user: string, word: string) => {
    const of = new URL(cluster.url('beck'))
    of.username = user
    of.password = `word-of-${word}`
    return of.href
  }
  const common = { BECK_SECRET_KEY: 'ab'.repeat(32), BECK_DATA_DIR: join(folder, 'data') }
  const owner = { ...common, DATABASE_URL: url('beck_owner', 'owner') }
  assert.equal(await startBeckProcess(['migrate'], owner).ended, 0)
  const wallet = {
    ...owner,
    BECK_DATA_DIR: join(folder, 'signer'),
    BECK_KEYSTORE_PASSPHRASE: 'correct horse battery staple',
  }
  assert.equal(await startBeckProcess(['wallet', 'init'], wallet).ended, 0)
  const port = String(await freePort())
  const api = startBeckProcess(['start', '--role', 'api'], {
    ...common,
    DATABASE_URL: url('beck_api', 'server'),
    PORT: port,
    BECK_METRICS_PORT: '0',
  })
  const signer = startBeckProcess(['start', '--role', 'signer'], {
    ...wallet,
    DATABASE_URL: url('beck_keys', 'signer'),
  })
  await api.hears((object) => 'url' in object)
  await signer.complains('"the signer runs"')
  const roles = openDatabase({ url: url('beck_keys', 'signer'), connectionsMax: 1 })
  await assert.rejects(roles.query('select * from users'), /permission denied/)
  await roles.close()
  assert.equal(await startBeckProcess(['alive', '--role', 'signer'], owner).ended, 0)
  await Promise.all([api.stop(), signer.stop()])
})
