/**
 * The signer at work: what is live and what is simulated each in a loop and with a journal of its own, so that nothing a
 * test account does, however much, holds up a payout of a live one.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ASSETS, CHAINS, isSimulated } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import { giveBackMemory } from '../core/give-back-memory.ts'
import type { Log } from '../core/log.ts'
import { type Backoff, backoffMs, pause } from '../core/pause.ts'
import { keyIdOf, openSecrets } from '../core/secrets.ts'
import type { Database } from '../db/database.ts'
import { lockDirectory } from '../db/embedded/directory-lock.ts'
import { startBeating } from '../db/running-roles.ts'
import { Approvals } from './approvals/approvals.ts'
import type { SignerConfig } from './config.ts'
import { makeFolder } from './folder.ts'
import { type Journal, openJournal } from './journal.ts'
import { findLiveNeed } from './live-need.sql.ts'
import { otherWallet, publishedWallets, publishKeys } from './publish-keys.ts'
import { type Signer, signerTurn } from './signer.ts'
import { openTimeCheck, type TimeCheck } from './time.ts'
import { openVault, type Vault } from './vault.ts'

const IDLE_MS = 250
const FAILURE_PAUSE: Backoff = { firstMs: 500, maxMs: 10_000 }
/** How often a signer without live keys looks whether a keystore was made meanwhile. */
const KEYSTORE_POLL_MS = 2_000

/** Signs what is requested until SIGTERM, or until its journal cannot be written: only opening it again tells its end. */
export async function runSigner(config: SignerConfig, db: Database, log: Log): Promise<void> {
  await makeFolder(config.folder)
  const lock = lockDirectory(config.folder, 'server')
  const stopping = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort())
  const secrets = openSecrets(config.secretKey, config.alsoSecretKey)
  const concerns = new Map<string, string>()
  const scene = {
    db,
    secrets,
    config,
    log,
    stopping: stopping.signal,
    keys: liveKeys(config, db, log, concerns),
    mayMove: await openTimeCheck(config.folder, db, log),
  }
  const heart = await startBeating({
    db,
    roles: ['signer'],
    dataDir: config.folder,
    keyId: keyIdOf(config.secretKey),
    log,
    concerns: () => [...concerns.values()],
  })
  try {
    giveBackMemory({ boundsYoungSpace: false })
    const simulated = keepSimulated(scene)
    const isWhole = await runSide(scene, 'live').finally(() => stopping.abort())
    await simulated
    if (isWhole) return log.info({}, 'the signer has ended')
    log.error(
      {},
      "the signer's journal, or its log of approvals, could not be written; it ends, to read it anew when it is started again",
    )
    process.exitCode = 1
  } finally {
    await heart.stop()
    lock.release()
  }
}

interface Scene extends Omit<Signer, 'journal' | 'approvals' | 'vault' | 'era' | 'stopping'> {
  readonly config: SignerConfig
  readonly stopping: AbortSignal
  keys(): Promise<Vault>
  readonly mayMove: TimeCheck
}

const JOURNALS = { live: 'journal', simulated: 'journal-simulated' } as const
const MODES = { live: 'live', simulated: 'test' } as const
type Side = keyof typeof JOURNALS

/** Whatever happens to the journal of coins that are worth nothing, live ones are paid. */
async function keepSimulated(scene: Scene): Promise<void> {
  while (!scene.stopping.aborted) {
    try {
      if (await runSide(scene, 'simulated')) return
      scene.log.error(
        {},
        'the journal of simulated chains, or its log of approvals, could not be written; it is opened again',
      )
    } catch (error) {
      scene.log.error({ err: error }, 'simulated chains cannot be signed for; live ones go on')
    }
    await pause(FAILURE_PAUSE.maxMs, scene.stopping)
  }
}

/** @returns False when its journal could not be written. */
async function runSide(scene: Scene, side: Side): Promise<boolean> {
  const journal = await openJournal(join(scene.config.folder, JOURNALS[side]))
  try {
    const approvals = await Approvals.open(scene.config.folder, MODES[side])
    try {
      scene.log.info({ side, pending: journal.pending().length }, 'the signer runs')
      await signUntilEnd(scene, side, journal, approvals)
    } finally {
      await approvals.close()
    }
    return !journal.isBroken() && !approvals.isBroken()
  } finally {
    await journal.close()
  }
}

async function signUntilEnd(scene: Scene, side: Side, journal: Journal, approvals: Approvals): Promise<void> {
  const { log, stopping } = scene
  const keysOf = keysOfSide(scene, side)
  let failures = 0
  while (!stopping.aborted && !journal.isBroken() && !approvals.isBroken()) {
    const startedAtMs = performance.now()
    try {
      const era = await scene.mayMove()
      if (era === null) {
        await pause(KEYSTORE_POLL_MS, stopping)
        continue
      }
      const vault = await keysOf()
      const more = vault.size > 0 && (await signerTurn({ ...scene, journal, approvals, vault, era }))
      failures = 0
      // It rests as long as it scanned: with many that wait a scan is long.
      if (!more) await pause(Math.max(IDLE_MS, performance.now() - startedAtMs), stopping)
    } catch (error) {
      failures += 1
      log.error({ side, err: error, failures }, 'a turn of the signer failed; it goes on')
      await pause(backoffMs(failures, FAILURE_PAUSE), stopping)
    }
  }
}

/** The same vault as long as nothing in it changed. */
function keysOfSide({ keys }: Scene, side: Side): () => Promise<Vault> {
  let whole: Vault | null = null
  let ofSide: Vault = new Map()
  return async () => {
    const vault = await keys()
    if (vault !== whole)
      ofSide = new Map([...vault].filter(([chain]) => isSimulated(chain) === (side === 'simulated')))
    whole = vault
    return ofSide
  }
}

/** The vault, opened at the first call; opened again when a keystore appears beside a signer that had none. */
function liveKeys(
  config: SignerConfig,
  db: Database,
  log: Log,
  concerns: Map<string, string>,
): () => Promise<Vault> {
  let vault: Vault | null = null
  let readAtMs = Number.NEGATIVE_INFINITY
  let usable = config
  const open = async () =>
    vault !== null && !mayOpen(usable)
      ? vault
      : openVault(usable, db, openSecrets(config.secretKey, config.alsoSecretKey))
  const readKeystore = async (): Promise<Vault> => {
    const isWhole = vault !== null && vault.size === CHAINS.length
    if (vault !== null && (isWhole || performance.now() - readAtMs < KEYSTORE_POLL_MS)) return vault
    readAtMs = performance.now()
    const opened = await open().catch((error: unknown) => {
      if (!(error instanceof Refusal && error.reason === 'wrong_passphrase')) throw error
      // Test accounts go on; asking a keystore costs too much to be done again and again.
      log.error({}, `${error.message}; correct it and start the signer again`)
      concerns.set('keystore', `${error.message}; withdrawals of live accounts wait`)
      config.passphrase?.fill(0)
      usable = { ...config, passphrase: null }
      return open()
    })
    if (opened.size === CHAINS.length) config.passphrase?.fill(0)
    await sayWhatLacks(config, db, opened, concerns)
    if (opened.size === vault?.size) return vault
    vault = opened
    await announceWallets(config, db, vault, log, concerns)
    return vault
  }
  let reading: Promise<Vault> | null = null
  return () => {
    reading ??= readKeystore().finally(() => {
      reading = null
    })
    return reading
  }
}

/** Whether there is more to open than the sandbox's keys, which take a tenth of a second of a processor to derive. */
const mayOpen = ({ passphrase, keystorePath }: SignerConfig): boolean =>
  passphrase !== null && existsSync(keystorePath)

/** Accounts go live, and keystores are made, while a signer runs: asked at each look. */
async function sayWhatLacks(
  config: SignerConfig,
  db: Database,
  vault: Vault,
  concerns: Map<string, string>,
): Promise<void> {
  const lack = await findLack(config, db, vault)
  if (lack === null) concerns.delete('keys')
  else concerns.set('keys', lack)
}

async function findLack(config: SignerConfig, db: Database, vault: Vault): Promise<string | null> {
  // One that is there and does not open is a concern of its own.
  if (vault.size === CHAINS.length || existsSync(config.keystorePath)) return null
  const { hasAccount, hasWallet } = await findLiveNeed(db)
  if (hasWallet)
    return `there is no keystore at ${config.keystorePath}, and live wallets are published: their withdrawals wait for the signer that has it`
  if (hasAccount)
    return `there is no keystore at ${config.keystorePath}: live accounts cannot be paid until npx beck wallet init makes it`
  return null
}

/** Publishes what is not published; a wallet of other keys stays until `wallet init --replace`, and is not this signer's to pay from. */
async function announceWallets(
  config: SignerConfig,
  db: Database,
  vault: Vault,
  log: Log,
  concerns: Map<string, string>,
): Promise<void> {
  const published = await publishedWallets(config, db)
  for (const keys of vault.values()) {
    const { chain } = keys
    const other = isSimulated(chain) ? null : otherWallet(config, published, keys)
    if (other) {
      concerns.set(`wallet of ${chain}`, other.problem)
      log.error({ chain, ours: keys.series }, other.problem)
      continue
    }
    concerns.delete(`wallet of ${chain}`)
    if (!published.some((wallet) => wallet.chain === chain && wallet.xpub === keys.xpub))
      await publishKeys(config, db, [keys], { replaces: isSimulated(chain) })
  }
  const live = [...vault.keys()].filter((chain) => !isSimulated(chain))
  log.info(
    { chains: [...vault.keys()] },
    live.length > 0 ? 'keys are loaded' : 'no live keys: test accounts only',
  )
  const unlimited = ASSETS.filter((asset) => !config.limits[asset]?.hour && !config.limits[asset]?.day)
  if (live.length > 0 && unlimited.length > 0) {
    concerns.set('limits', `BECK_SIGNER_LIMITS gives ${unlimited.join(', ')} no limit per hour or day`)
    log.warn(
      { unlimited },
      'BECK_SIGNER_LIMITS gives these coins no limit per hour or day: whoever takes over the server can have all of them paid out',
    )
  }
  if (live.length === 0 && config.passphrase === null && existsSync(config.keystorePath)) {
    concerns.set('keystore', 'there is a keystore and no passphrase: withdrawals of live accounts wait')
    log.warn(
      {},
      'there is a keystore, and BECK_KEYSTORE_PASSPHRASE is not set: withdrawals of live accounts wait',
    )
  }
}
