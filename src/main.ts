/**
 * The composition root: settings become ports, ports become a gateway, and a role says which parts of Beck run here. The
 * HTTP server and the chains are loaded by the roles that run them: each is megabytes of memory to every other one.
 */
import { join } from 'node:path'
import { hasLiveAccount } from './accounts/accounts.sql.ts'
import type { ChainPort } from './chains/chain.ts'
import { SIMULATED_CHAINS } from './chains/simulated/network.ts'
import type { Config } from './config/config.ts'
import { requireMatchingSecret } from './config/matching-secret.ts'
import type { Store } from './config/store.ts'
import { type ChainName, isSimulated, NETWORKS, type Network } from './core/assets.ts'
import { giveBackMemory } from './core/give-back-memory.ts'
import type { Log } from './core/log.ts'
import { pause } from './core/pause.ts'
import { keyIdOf } from './core/secrets.ts'
import { openDatabase } from './db/database.ts'
import { requireSight } from './db/grants.ts'
import { startBeating } from './db/running-roles.ts'
import { BACKGROUND_TIME_FILE, openTimeMemory, TIME_FILE } from './db/time-arrow.ts'
import { openDatabaseClock } from './flows/database-clock.ts'
import type { Gateway, Queue } from './flows/gateway.ts'
import { readHealth } from './flows/operation/health.ts'
import { type FirstSteps, NO_FIRST_STEPS, takeFirstSteps } from './flows/people/first-steps.ts'
import { openTimeKeeper, type TimeKeeper } from './flows/recovery/keep-time.ts'
import { openToldPayments } from './flows/recovery/told-payments.ts'
import { portRefusal } from './http/port.ts'
import { openMailSender } from './mails/send-mail.ts'
import { openBackground } from './process/background-process.ts'
import { type Role, RUNS, type Share } from './process/shares.ts'
import { hasSigner, superviseSigner } from './process/signer-process.ts'
import { openTraceExport } from './process/trace-export.ts'
import { fixedRates } from './rates/fixed.ts'
import { startMarket } from './rates/market.ts'
import { sandboxRates } from './rates/sandbox.ts'
import { allSources } from './rates/sources/all.ts'
import { openAddressPool } from './wallets/address-pool.sql.ts'
import { startActChainer } from './workers/chain-acts.ts'
import { startDayCloser } from './workers/close-day.ts'
import { startDeliverer } from './workers/deliver.ts'
import { startAddressFiller } from './workers/derive-addresses.ts'
import { startExpirer } from './workers/expire.ts'
import { startForgetter } from './workers/forget.ts'
import { startTimeKeeper } from './workers/keep-time.ts'
import { gatherWakes, joined, type Loop } from './workers/loop.ts'
import { startMiner } from './workers/mine.ts'
import { startPayer } from './workers/pay-out.ts'
import { startProver, startRowProver } from './workers/prove.ts'
import { startRanker } from './workers/rank-payments.ts'
import { startMailer } from './workers/send-mails.ts'
import { startSettler } from './workers/settle.ts'
import { startApprovalTender } from './workers/tend-approvals.ts'
import { startWatcher } from './workers/watch.ts'

export interface Beck {
  readonly first: FirstSteps
  /** Something is there for a loop of this process, or of its background. */
  wake(queue: Queue): void
  /** Closes in order: no new requests, running ones end, then turns and signer, ports, pool and PostgreSQL. */
  stop(): Promise<void>
}

/** A first request right after the start finds everything in place; a node that is down does not hold Beck up. */
const READY_WITHIN_MS = 30_000

/** Of a start that has begun (`start.ts`). */
interface Begun {
  readonly opening: Promise<Store>
  readonly showsSecrets: boolean
}

/** What the parts of a start are given. What they open is closed by closers, the last one first. */
interface Start {
  readonly config: Config
  readonly share: Share
  readonly store: Store
  readonly log: Log
  readonly closers: (() => Promise<void>)[]
}

/** Goes on with a start when the database is there. @throws as `startBeck`. */
export async function runBeck(
  config: Config,
  share: Share,
  log: Log,
  { opening, showsSecrets }: Begun,
): Promise<Beck> {
  const runs = (part: Role) => RUNS[share].includes(part)
  const closers: Start['closers'] = []
  const stop = async () => {
    for (let close = closers.pop(); close; close = closers.pop()) {
      await close().catch((error) => log.error({ err: error }, 'a part of Beck did not close in order'))
    }
  }
  try {
    readAhead(runs)
    const store = await opening
    closers.push(() => store.close())
    const start: Start = { config, share, store, log, closers }
    // The background's parent did, as the owner of the tables.
    const hasMigrated = share !== 'background' && (await bringUpToDate(store, log))
    if (share !== 'signer') await requireSight(store.db)
    await requireMatchingSecret(store, share === 'signer', log)
    const keeper = share === 'signer' ? null : await keepTime(start)

    const children: Stoppable[] = []
    // Together, for each may take its time and a stop has little.
    closeTogether(start, children)
    if (runs('signer') && hasSigner()) children.push(superviseSigner(store, log))
    if (share === 'signer') return { first: NO_FIRST_STEPS, wake() {}, stop }
    const background = share === 'all' ? openBackground(store, log) : null
    if (background) children.push(background)
    // It gets a first start its addresses. Later people wait for the API alone, and both at once take processors from each other.
    if (hasMigrated) background?.start()

    const loops = new Map<Queue, Woken>()
    const wake = gatherWakes((queue: Queue) =>
      background ? background.wake(queue) : loops.get(queue)?.wake(),
    )
    const rates = openRates(start)
    const gateway: Gateway = {
      db: store.db,
      settings: config.settings,
      rates,
      addresses: openAddressPool(store.secrets),
      databaseTime: openDatabaseClock(store.db),
      secrets: store.secrets,
      log,
      stopped: () => keeper?.stopped() ?? null,
      ...trace(start),
      ...(await beat(start)),
      wake,
    }
    if (runs('watcher') || runs('worker')) await startLoops(start, gateway, loops)
    if (runs('api')) closers.push(await listen(config, gateway))
    background?.start()
    if (share === 'all') await untilReady(gateway, config)
    // Last of all, since what is shown only once is shown only when the start succeeds.
    const first = runs('api')
      ? await takeFirstSteps(gateway, { showsSecrets, isForTrying: isForTrying(config) })
      : NO_FIRST_STEPS
    giveBackMemory({ boundsYoungSpace: !runs('api') })
    return { first, wake, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** @returns Whether it was not: at the first start of this Beck, or of a newer version. */
async function bringUpToDate(store: Store, log: Log): Promise<boolean> {
  const applied = await store.migrate()
  if (applied.length > 0) log.info({ applied }, 'the database is up to date')
  return applied.length > 0
}

/** Modules that will be needed are read while PostgreSQL starts, or is made. Whoever needs them hears what fails. */
function readAhead(runs: (part: Role) => boolean): void {
  const parts = [
    ...(runs('watcher') || runs('worker') ? [import('./config/ports.ts')] : []),
    ...(runs('api') ? [readServer()] : []),
  ]
  Promise.all(parts).catch(() => {})
}

/** And what its routes compile with: its first request would wait for that. */
async function readServer() {
  const [server, { readCompilers }] = await Promise.all([
    import('./http/server.ts'),
    import('./http/compile-late.ts'),
  ])
  readCompilers()
  return server
}

/** Before anything is handed out or sent: the database may have lost commits since this machine saw it. */
async function keepTime(start: Start): Promise<TimeKeeper> {
  const { config, share, store, log, closers } = start
  // Of its own, so that it can look at a database that nobody else may use.
  const db = openDatabase({ url: store.url, connectionsMax: 2, applicationName: 'beck' })
  closers.push(() => db.close())
  const isSecond = share === 'background'
  const memory = await openTimeMemory(join(config.dataDir, isSecond ? BACKGROUND_TIME_FILE : TIME_FILE))
  const told = openToldPayments(config.dataDir, memory.seen?.at ?? null)
  const keeper = openTimeKeeper({
    db,
    secrets: store.secrets,
    log,
    memory,
    // Its parent notes them in the same folder.
    told: isSecond ? { ...told, async note() {} } : told,
  })
  await keeper.turn()
  store.verifyWith(keeper.verify)
  closeTogether(start, [startTimeKeeper(keeper, log)])
  return keeper
}

/** Says from now on that this process runs; the signer says so itself. */
async function beat(start: Start): Promise<Pick<Gateway, 'writeProblem' | 'concerns'>> {
  const { config, share, store, log, closers } = start
  const concerns = new Map<string, string>()
  const roles = RUNS[share].filter((role) => role === 'api' || role === 'worker' || role === 'watcher')
  const heart = await startBeating({
    db: store.db,
    roles,
    dataDir: config.dataDir,
    keyId: keyIdOf(store.secretKey),
    log,
    concerns: () => [...concerns.values()],
  })
  closers.push(() => heart.stop())
  return { writeProblem: heart.writeProblem, concerns }
}

/** Before whatever is traced, so that it closes behind it. */
function trace({ config, share, log, closers }: Start): Pick<Gateway, 'traces'> {
  if (config.traces === null) return {}
  const traces = openTraceExport(config.traces, share, log)
  closers.push(() => traces.close())
  return { traces }
}

/** A gateway that a main network is connected to is not there to be tried out: a key that nobody asked for stays unmade. */
const isForTrying = (config: Config): boolean =>
  NETWORKS.every((network) => config.nodes[network]?.network !== 'mainnet')

/** The chains that the settings connect; the simulated ones always are. */
export const connectedChains = (config: Config): ChainName[] => [
  ...NETWORKS.filter((network) => config.nodes[network] !== null),
  ...SIMULATED_CHAINS,
]

function openRates({ config, store, log, closers }: Start): Gateway['rates'] {
  const test = sandboxRates()
  if (config.fixedRates !== null) return { live: fixedRates(config.fixedRates), test }
  const live = startMarket({ sources: allSources(), isNeeded: () => hasLiveAccount(store.db), log })
  closers.push(() => live.stop())
  return { live, test }
}

type Woken = Pick<Loop, 'wake'>

/** Of watchers and workers, what this process runs. */
async function startLoops(start: Start, gateway: Gateway, loops: Map<Queue, Woken>): Promise<void> {
  const { config, share, store, log, closers } = start
  const { openPorts } = await import('./config/ports.ts')
  const ports = openPorts(config, store.db, log)
  closers.push(() => Promise.all(ports.map((port) => port.close())).then(() => {}))
  if (RUNS[share].includes('watcher')) startWatchers(start, gateway, ports, loops)
  if (RUNS[share].includes('worker')) startWorkers(start, gateway, ports, loops)
}

function startWatchers(
  start: Start,
  gateway: Gateway,
  ports: readonly ChainPort[],
  loops: Map<Queue, Woken>,
): void {
  const simulated: Loop[] = []
  const follow = (port: ChainPort) => {
    const watcher = startWatcher(gateway, port)
    if (isSimulated(port.chain)) simulated.push(watcher)
    return watcher
  }
  closeTogether(start, [
    ...ports.flatMap((port) => [follow(port), startProver(gateway, port)]),
    startRowProver(gateway),
  ])
  loops.set('sandbox', joined(simulated))
  const { sandboxBlockMs } = start.config
  if (sandboxBlockMs > 0) closeTogether(start, [startMiner(gateway, sandboxBlockMs)])
}

function startWorkers(
  start: Start,
  gateway: Gateway,
  ports: readonly ChainPort[],
  loops: Map<Queue, Woken>,
): void {
  const { mail } = start.config
  const settler = startSettler(gateway)
  const deliverer = startDeliverer(gateway)
  const payer = joined(ports.map((port) => startPayer(gateway, port)))
  loops.set('settle', settler).set('deliver', deliverer).set('pay-out', payer)
  closeTogether(start, [
    settler,
    deliverer,
    payer,
    startAddressFiller(gateway),
    startExpirer(gateway),
    startDayCloser(gateway),
    startRanker(gateway),
    startForgetter(gateway),
    startActChainer(gateway),
    startApprovalTender(gateway),
    ...(mail ? [startMailer(gateway, openMailSender(mail))] : []),
  ])
}

interface Stoppable {
  stop(): Promise<void>
}

function closeTogether({ closers }: Start, parts: readonly Stoppable[]): void {
  closers.push(async () => {
    await Promise.all(parts.map((part) => part.stop()))
  })
}

/** @returns What closes the server. */
async function listen(config: Config, gateway: Gateway): Promise<() => Promise<void>> {
  const { startServer } = await readServer()
  try {
    const server = await startServer(gateway, {
      port: config.port,
      ...(config.host === null ? {} : { host: config.host }),
      ...(config.monitor === null ? {} : { monitor: config.monitor }),
      rateLimit: config.rateLimit,
      addressRateLimit: config.addressRateLimit,
      chains: connectedChains(config),
      limits: config.limits,
      hosted: { networks: networkNames(config) },
      ...(config.securityContact === null ? {} : { securityContact: config.securityContact }),
      ...(config.singleSignOn === null ? {} : { singleSignOn: config.singleSignOn }),
      ...(config.redisUrl === null ? {} : { redisUrl: config.redisUrl }),
      ...(config.trustProxy === null ? {} : { trustProxy: config.trustProxy }),
    })
    return () => server.close()
  } catch (error) {
    throw portRefusal(error, config.port) ?? error
  }
}

const networkNames = ({ nodes }: Config): Partial<Record<Network, string>> =>
  Object.fromEntries(
    NETWORKS.flatMap((network) => (nodes[network] ? [[network, nodes[network].network]] : [])),
  )

async function untilReady(gateway: Gateway, config: Config): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS
  while (performance.now() < deadline) {
    const { chains, backlog } = await readHealth(gateway, connectedChains(config))
    const simulated = chains.filter(({ chain }) => isSimulated(chain))
    if (simulated.every(({ ok, chain }) => ok && (backlog?.freshAddresses[chain] ?? 0) > 0)) return
    await pause(50)
  }
  gateway.log.warn({}, 'the simulated chains are not ready yet; test accounts may have to wait')
}
