/**
 * The signer: a process of its own that holds the keys and reads nothing but PostgreSQL and its own directory.
 *
 *   main.ts init [--restore] [--json]   make the keystore (or restore it from 24 words on standard input), publish xpubs
 *   main.ts show [--json]               the account xpubs, and the hot wallet's address of each network
 *   main.ts allow NETWORK ADDRESS       put an address on the allowlist; its waiting time begins
 *   main.ts check                       whether the settings can be used and the keystore opens; for `beck doctor`
 *   main.ts run                         sign what is requested, until SIGTERM
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ASSETS, CHAINS, isSimulated, NETWORKS } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { openSecrets } from '../core/secrets.ts'
import { type Database, openDatabase } from '../db/database.ts'
import { lockDirectory } from '../db/embedded/directory-lock.ts'
import { openLog } from '../process/log.ts'
import { HOT_WALLET_POSITION, OWN_BRANCH, readAccountKey } from '../wallets/derivation.ts'
import { currentWallets, publishWallet } from '../wallets/wallets.sql.ts'
import { readDestination } from '../withdrawals/destination.ts'
import { readSignerConfig, type SignerConfig } from './config.ts'
import { makeFolder } from './folder.ts'
import { openJournal } from './journal.ts'
import { createKeystore, entropyOf, newEntropy, openKeystore, rootOf, wordsOf } from './keystore.ts'
import { allowAddress } from './policy.ts'
import { putBackBumps } from './put-back.ts'
import { signerTurn } from './signer.ts'
import { type ChainKeys, chainKeys, openVault, type Vault } from './vault.ts'

const IDLE_MS = 250
const FAILURE_PAUSE_MS_MAX = 10_000
/** How often a signer without live keys looks whether a keystore was made meanwhile. */
const KEYSTORE_LOOK_MS = 2_000

interface Options {
  readonly json: boolean
  readonly restore: boolean
}

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false }, restore: { type: 'boolean', default: false } },
  })
  const [command, ...rest] = positionals
  const config = await readSignerConfig(process.env)
  const db = openDatabase({ url: config.databaseUrl, connectionsMax: 4, applicationName: 'beck-signer' })
  try {
    if (command === 'init') await init(config, db, values)
    else if (command === 'show') await show(db, config, values)
    else if (command === 'allow') await allow(config, rest)
    else if (command === 'check') await check(config, db)
    else if (command === 'run') await run(config, db)
    else
      throw new Refusal(
        'invalid',
        'unknown_command',
        `the signer knows init, show, allow, check and run; got ${command ?? 'nothing'}`,
      )
  } finally {
    await db.close()
  }
}

async function init(config: SignerConfig, db: Database, { json, restore }: Options): Promise<void> {
  if (config.passphrase === null)
    throw new Refusal(
      'invalid',
      'no_passphrase',
      'set BECK_KEYSTORE_PASSPHRASE or BECK_KEYSTORE_PASSPHRASE_FILE: the keystore is encrypted with it',
    )
  const entropy = restore ? entropyOf(await readStandardInput()) : newEntropy()
  await createKeystore(config.keystorePath, entropy, config.passphrase)
  const root = await rootOf(entropy)
  const live = NETWORKS.map((network) => chainKeys(root, network, config.modes[network]))
  // Shown before anything else can fail: they would not be shown again.
  showInit(restore ? null : wordsOf(entropy), live.map(shownWallet), json)
  await publish(config, db, live)
}

function showInit(words: string | null, wallets: readonly ShownWallet[], json: boolean): void {
  if (json) print(JSON.stringify({ ...(words ? { words } : {}), wallets }))
  else {
    if (words) printWords(words)
    printWallets(wallets)
  }
}

function printWords(words: string): void {
  print('These 24 words are the only copy of your funds. Write them down now; they are not shown again.\n')
  const numbered = words
    .split(' ')
    .map((word, index) => `${String(index + 1).padStart(2)} ${word.padEnd(10)}`)
  for (let row = 0; row < numbered.length; row += 6) print(numbered.slice(row, row + 6).join(' '))
  print('')
}

async function publish(config: SignerConfig, db: Database, keys: readonly ChainKeys[]): Promise<void> {
  const secrets = openSecrets(config.secretKey)
  await db.transaction(async (tx) => {
    for (const { chain, mode, xpub } of keys) await publishWallet(tx, secrets, { chain, mode, xpub })
  })
}

interface ShownWallet {
  readonly chain: string
  readonly network: string
  readonly xpub: string
  readonly hot_wallet: string
}

const shownWallet = ({ chain, mode, xpub, hotWallet }: ChainKeys): ShownWallet => ({
  chain,
  network: mode,
  xpub,
  hot_wallet: hotWallet.address,
})

/** Needs no passphrase: everything it shows is public. */
async function show(db: Database, config: SignerConfig, { json }: Options): Promise<void> {
  const wallets = await currentWallets(db, openSecrets(config.secretKey))
  const shown = wallets.map(({ chain, mode, xpub }) => ({
    chain,
    network: mode,
    xpub,
    hot_wallet: hotWalletOf({ chain, mode, xpub }),
  }))
  if (json) return print(JSON.stringify({ wallets: shown }))
  printWallets(shown)
  if (!shown.some(({ chain }) => !isSimulated(chain)))
    print('There is no live wallet yet; make one with `npx beck wallet init`.')
}

function printWallets(wallets: readonly ShownWallet[]): void {
  for (const { chain, network, xpub, hot_wallet } of wallets)
    print(`${chain} (${network})\n  account xpub  ${xpub}\n  hot wallet    ${hot_wallet}`)
}

async function allow(config: SignerConfig, [network, address]: readonly string[]): Promise<void> {
  const known = NETWORKS.find((each) => each === network)
  if (!known || !address)
    throw new Refusal('invalid', 'unknown_command', `expected: allow ${NETWORKS.join('|')} ADDRESS`)
  const asset = known === 'bitcoin' ? 'BTC' : known === 'litecoin' ? 'LTC' : 'ETH'
  readDestination(asset, config.modes[known], address)
  await allowAddress(config.folder, known, address)
  print(`${address} is on the ${known} allowlist`)
}

async function check(config: SignerConfig, db: Database): Promise<void> {
  const entropy =
    config.passphrase === null ? null : await openKeystore(config.keystorePath, config.passphrase)
  if (!entropy) return
  const root = await rootOf(entropy)
  const published = await currentWallets(db, openSecrets(config.secretKey))
  const foreign = NETWORKS.filter((network) => {
    const current = published.find(({ chain, mode }) => chain === network && mode === config.modes[network])
    return current && current.xpub !== chainKeys(root, network, config.modes[network]).xpub
  })
  if (foreign.length > 0)
    throw new Refusal(
      'conflict',
      'other_keystore',
      `it opens, but the current wallets of ${foreign.join(', ')} belong to another keystore: their coins cannot be paid out from here`,
    )
}

async function run(config: SignerConfig, db: Database): Promise<void> {
  const log = openSignerLog()
  const secrets = openSecrets(config.secretKey)
  await makeFolder(config.folder)
  const lock = lockDirectory(config.folder, 'server')
  const journal = await openJournal(join(config.folder, 'journal'))
  const stopping = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort())
  const keys = liveKeys(config, db, log)
  log.info({ unsettled: journal.unsettled().length }, 'the signer runs')
  let failures = 0
  let putBackFor: Vault | null = null
  while (!stopping.signal.aborted && !journal.isBroken()) {
    const startedAtMs = Date.now()
    try {
      const vault = await keys()
      const signer = { db, secrets, journal, config, vault, log, stopping: stopping.signal }
      if (vault !== putBackFor) await putBackBumps(signer)
      putBackFor = vault
      const more = await signerTurn(signer)
      failures = 0
      // It rests as long as it looked: with many that wait a look is long.
      if (!more) await pause(Math.max(IDLE_MS, Date.now() - startedAtMs), stopping.signal)
    } catch (error) {
      failures += 1
      log.error({ err: error, failures }, 'a turn of the signer failed; it goes on')
      await pause(Math.min(FAILURE_PAUSE_MS_MAX, 250 * 2 ** Math.min(failures, 6)), stopping.signal)
    }
  }
  await journal.close()
  lock.release()
  if (!journal.isBroken()) {
    log.info({}, 'the signer has ended')
    return
  }
  log.error(
    {},
    "the signer's journal could not be written; it ends, to read it anew when it is started again",
  )
  process.exitCode = 1
}

/** The vault, opened at the first call; opened again when a keystore appears beside a signer that had none. */
function liveKeys(config: SignerConfig, db: Database, log: Log): () => Promise<Vault> {
  let vault: Vault | null = null
  let lookedAt = 0
  let usable = config
  const open = () => openVault(usable, db, openSecrets(config.secretKey))
  return async () => {
    const isWhole = vault !== null && vault.size === CHAINS.length
    if (vault !== null && (isWhole || Date.now() - lookedAt < KEYSTORE_LOOK_MS)) return vault
    lookedAt = Date.now()
    const opened = await open().catch((error: unknown) => {
      if (!(error instanceof Refusal && error.reason === 'wrong_passphrase')) throw error
      // Test accounts go on; asking a keystore costs too much to be done again and again.
      log.error({}, `${error.message}; correct it and start the signer again`)
      usable = { ...config, passphrase: null }
      return open()
    })
    if (opened.size === vault?.size) return vault
    vault = opened
    await announceWallets(config, db, vault, log)
    return vault
  }
}

/** Publishes what is not published; a wallet of other keys stays, and is not this signer's to pay from. */
async function announceWallets(config: SignerConfig, db: Database, vault: Vault, log: Log): Promise<void> {
  const published = await currentWallets(db, openSecrets(config.secretKey))
  for (const keys of vault.values()) {
    const current = published.find((wallet) => wallet.chain === keys.chain)
    if (current?.xpub === keys.xpub && current.mode === keys.mode) continue
    const isOurs = !current || keys.mode !== current.mode || isSimulated(keys.chain)
    if (isOurs) await publish(config, db, [keys])
    else
      log.error(
        { chain: keys.chain, published: current.series, ours: keys.series },
        'the current wallet belongs to another keystore: its coins cannot be paid out from here',
      )
  }
  const live = [...vault.keys()].filter((chain) => !isSimulated(chain))
  log.info(
    { chains: [...vault.keys()] },
    live.length > 0 ? 'keys are loaded' : 'no live keys: test accounts only',
  )
  const unlimited = ASSETS.filter((asset) => !config.limits[asset]?.hour && !config.limits[asset]?.day)
  if (live.length > 0 && unlimited.length > 0)
    log.warn(
      { unlimited },
      'BECK_SIGNER_LIMITS gives these coins no limit per hour or day: whoever takes over the server can have all of them paid out',
    )
  if (live.length === 0 && config.passphrase === null && existsSync(config.keystorePath))
    log.warn(
      {},
      'there is a keystore, and BECK_KEYSTORE_PASSPHRASE is not set: withdrawals of live accounts wait',
    )
}

const hotWalletOf = ({ chain, mode, xpub }: Pick<ChainKeys, 'chain' | 'mode' | 'xpub'>): string =>
  readAccountKey(chain, mode, xpub).derive(OWN_BRANCH, HOT_WALLET_POSITION).address

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, { signal }).catch(() => {})

async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

const openSignerLog = (): Log => openLog(process.env.BECK_LOG_LEVEL || 'info').child({ role: 'signer' })

const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

try {
  await main()
} catch (error) {
  if (!(error instanceof Refusal)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
