/** `beck doctor`: looks at everything Beck stands on; each finding that is not fine says what to do. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { hasLiveAccount } from '../accounts/accounts.sql.ts'
import type { ChainPort } from '../chains/chain.ts'
import { type Config, readConfig } from '../config.ts'
import { SILENT } from '../core/log.ts'
import { readMigrations } from '../db/migrate.ts'
import { readHealth } from '../flows/health.ts'
import { openLog } from '../log.ts'
import { connectedChains, openPorts } from '../main.ts'
import { sandboxRates } from '../rates/sandbox.ts'
import { allSources } from '../rates/sources/all.ts'
import { secretKeyFile } from '../secret-key.ts'
import { openStore, type Store } from '../store.ts'
import { currentWallets } from '../wallets/wallets.sql.ts'
import type { Terminal } from './terminal.ts'

interface Finding {
  readonly about: string
  readonly state: 'fine' | 'warning' | 'wrong'
  readonly message: string
  /** What to do; only when it is not fine. */
  readonly advice?: string
}

const NODE_MAJOR_MIN = 24
const POSTGRES_MIN = 150_000
const EXCHANGES_MIN = 2
const EXCHANGE_LIMIT_MS = 5_000

const fine = (about: string, message: string): Finding => ({ about, state: 'fine', message })
const warning = (about: string, message: string, advice: string): Finding => ({
  about,
  state: 'warning',
  message,
  advice,
})
const wrong = (about: string, message: string, advice: string): Finding => ({
  about,
  state: 'wrong',
  message,
  advice,
})

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export async function diagnose(terminal: Terminal): Promise<void> {
  const findings: Finding[] = []
  for await (const finding of examine()) findings.push(finding)
  const healthy = findings.every(({ state }) => state !== 'wrong')
  const signs = { fine: '  ok  ', warning: ' look ', wrong: 'WRONG ' }
  terminal.answer(
    { healthy, findings },
    findings.flatMap(({ about, state, message, advice }) => [
      `${signs[state]} ${about}: ${message}`,
      ...(advice ? [`        ${advice}`] : []),
    ]),
  )
  if (!healthy) process.exitCode = 1
}

async function* examine(): AsyncGenerator<Finding> {
  yield nodeVersion()
  let config: Config
  try {
    config = readConfig(process.env)
  } catch (error) {
    yield wrong('settings', messageOf(error), 'correct the variables; docs/operators.md explains each')
    return
  }
  yield* settings(config)
  let store: Store
  try {
    store = await openStore(config, openLog('silent'), 'tool')
  } catch (error) {
    yield wrong('database', messageOf(error), 'start PostgreSQL, or correct DATABASE_URL')
    return
  }
  try {
    const schema = await database(store)
    yield* schema
    if (schema.some(({ state }) => state === 'wrong')) return
    yield await secretKey(config, store)
    yield* await keystore(config, store)
    yield* await chains(config, store)
    yield* await rates(config, store)
  } finally {
    await store.close()
  }
}

function nodeVersion(): Finding {
  const major = Number(process.versions.node.split('.')[0])
  return major >= NODE_MAJOR_MIN
    ? fine('node', `version ${process.versions.node}`)
    : wrong(
        'node',
        `version ${process.versions.node}`,
        'run Beck through npm, which brings Node 24: npx beck …',
      )
}

function* settings(config: Config): Generator<Finding> {
  yield fine('settings', `data in ${config.dataDir}, pages at ${config.settings.publicUrl}`)
  for (const name of config.unknownVariables)
    yield warning(
      'settings',
      `${name} means nothing to Beck`,
      'is it a slip? docs/operators.md lists the variables',
    )
}

async function database({ db, name }: Store): Promise<Finding[]> {
  try {
    const { rows } = await db.query<{ number: number; version: string }>(
      `select current_setting('server_version_num')::int as number, current_setting('server_version') as version`,
    )
    const { number, version } = rows[0] ?? { number: 0, version: 'unknown' }
    if (number < POSTGRES_MIN)
      return [wrong('database', `PostgreSQL ${version}, ${name}`, 'Beck needs PostgreSQL 15 or newer')]
    const applied = await db
      .query<{ name: string }>('select name from schema_migrations')
      .then(({ rows: found }) => new Set(found.map((row) => row.name)))
      .catch(() => new Set<string>())
    const missing = (await readMigrations()).filter((migration) => !applied.has(migration.name))
    return [
      fine('database', `PostgreSQL ${version}, ${name}`),
      missing.length === 0
        ? fine('migrations', `${applied.size} of ${applied.size} ran`)
        : wrong('migrations', `${missing.length} have not run`, 'run: beck migrate'),
    ]
  } catch (error) {
    return [wrong('database', `${name}: ${messageOf(error)}`, 'start PostgreSQL, or correct DATABASE_URL')]
  }
}

async function secretKey(config: Config, { db, secrets }: Store): Promise<Finding> {
  const where = config.secretKey ? 'BECK_SECRET_KEY' : secretKeyFile(config.dataDir)
  try {
    await currentWallets(db, secrets)
    return fine('secret key', `${where}; keep a copy of it with your backups`)
  } catch (error) {
    return wrong('secret key', messageOf(error), `set the key this database was made with (now: ${where})`)
  }
}

async function keystore(config: Config, { db }: Store): Promise<Finding[]> {
  const exists = existsSync(join(config.dataDir, 'keystore.json'))
  const live = await hasLiveAccount(db)
  const connected = Object.values(config.nodes).some((node) => node !== null)
  const findings: Finding[] = []
  if (exists) findings.push(fine('keystore', 'there is one in the data directory'))
  else if (live || connected)
    findings.push(
      warning(
        'keystore',
        'there is none in this data directory',
        'run: beck wallet init (unless the signer runs elsewhere)',
      ),
    )
  else findings.push(fine('keystore', 'none yet; test accounts need none'))
  if ((live || exists) && !config.hasSignerLimits)
    findings.push(
      warning(
        'signer',
        'BECK_SIGNER_LIMITS is not set: nothing bounds what a thief of this server could pay out',
        'set it, for example BTC=tx:1,hour:2,day:5;USDC=tx:5000,hour:10000,day:50000',
      ),
    )
  return findings
}

async function chains(config: Config, { db }: Store): Promise<Finding[]> {
  const ports = openPorts(config, db, openLog('silent')).filter(({ chain }) => !chain.startsWith('sim-'))
  const never = { live: sandboxRates(), test: sandboxRates() }
  try {
    const { chains: seen } = await readHealth({ db, rates: never, log: SILENT }, connectedChains(config))
    const nodes = await Promise.all(ports.map((port) => node(port)))
    const views = seen.map(({ chain, problem, tipHeight, viewAgeMs }) =>
      problem === null
        ? fine(chain, `seen ${Math.round((viewAgeMs ?? 0) / 1_000)} s ago, at block ${tipHeight}`)
        : warning(chain, problem, 'is a server with role all or watcher running?'),
    )
    return [...nodes, ...views]
  } finally {
    await Promise.all(ports.map((port) => port.close()))
  }
}

async function node(port: ChainPort): Promise<Finding> {
  const about = `${port.chain} node`
  const variable = `${port.chain.toUpperCase()}_RPC_URL`
  try {
    await port.identity()
    return fine(about, `answers, at block ${(await port.tip()).height}`)
  } catch (error) {
    return wrong(about, messageOf(error), `start the node, or correct ${variable} and its network variable`)
  }
}

async function rates(config: Config, { db }: Store): Promise<Finding[]> {
  if (config.fixedRates !== null)
    return [warning('rates', 'fixed by BECK_RATES', 'nobody updates them: for closed networks only')]
  const live = await hasLiveAccount(db)
  if (!live) return [fine('rates', 'no live account needs any yet; test accounts have their own')]
  const answers = await Promise.allSettled(
    allSources().map(async (source) => {
      await source.readTickers(AbortSignal.timeout(EXCHANGE_LIMIT_MS))
      return source.name
    }),
  )
  const reached = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  return [
    reached.length >= EXCHANGES_MIN
      ? fine('rates', `${reached.join(', ')} answer`)
      : wrong(
          'rates',
          `${reached.length} of ${answers.length} exchanges answer, and ${EXCHANGES_MIN} must agree`,
          'let this machine reach them over HTTPS, or set BECK_RATES=fixed:… on a closed network',
        ),
  ]
}
