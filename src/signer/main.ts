/**
 * The signer: a process of its own that holds the keys and reads nothing but PostgreSQL and its own directory.
 *
 *   main.ts init [--restore] [--json]   make the keystore (or restore it from 24 words on standard input), publish xpubs
 *   main.ts show [--json]               the account xpubs, and the hot wallet's address of each network
 *   main.ts allow NETWORK ADDRESS       put an address on the allowlist; its waiting time begins
 *   main.ts disallow NETWORK ADDRESS    take it off
 *   main.ts allowed [--json]            the allowlist
 *   main.ts approvers list|add|remove   whose passkeys approve payouts, by their fingerprints
 *   main.ts passphrase FILE             seal the keystore anew, with the passphrase in this file
 *   main.ts check                       whether the settings can be used and the keystore opens; for `beck doctor`
 *   main.ts run                         sign what is requested, until SIGTERM
 */
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { isSimulated, NETWORKS, type Network } from '../core/assets.ts'
import { conflict, invalid, notFound, Refusal } from '../core/errors.ts'
import { mindNoReader } from '../core/no-reader.ts'
import { type Database, openDatabase } from '../db/database.ts'
import { openLog } from '../process/log.ts'
import { HOT_WALLET_POSITION, INTERNAL_BRANCH, readAccountKey } from '../wallets/derivation.ts'
import { readDestination } from '../withdrawals/destination.ts'
import { approversCommand } from './approvals/approvers-command.ts'
import { readPassphrase, readSignerConfig, type SignerConfig } from './config.ts'
import {
  changePassphrase,
  createKeystore,
  entropyOf,
  newEntropy,
  openKeystore,
  requireNoKeystore,
  rootOf,
  wordsOf,
} from './keystore.ts'
import { allowAddress, disallowAddress, readAllowlist } from './policy.ts'
import { otherWallet, publishedWallets, publishKeys } from './publish-keys.ts'
import { runSigner } from './run.ts'
import { type ChainKeys, chainKeys } from './vault.ts'

interface Options {
  readonly json: boolean
  readonly restore: boolean
  readonly replace: boolean
  readonly yes: boolean
  readonly dashboard?: string | undefined
}

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      restore: { type: 'boolean', default: false },
      replace: { type: 'boolean', default: false },
      yes: { type: 'boolean', default: false },
      dashboard: { type: 'string' },
    },
  })
  const [command, ...rest] = positionals
  const config = await readSignerConfig(process.env)
  const db = openDatabase({ url: config.databaseUrl, connectionsMax: 4, applicationName: 'beck-signer' })
  try {
    if (command === 'init') await init(config, db, values)
    else if (command === 'show') await show(db, config, values)
    else if (command === 'allow') await allow(config, rest, values)
    else if (command === 'disallow') await disallow(config, rest, values)
    else if (command === 'allowed') await showAllowed(config, values)
    else if (command === 'approvers') await approvers(config, db, rest, values)
    else if (command === 'passphrase') await sealAnew(config, rest, values)
    else if (command === 'check') await check(config, db)
    else if (command === 'run')
      await runSigner(config, db, openLog(config.logLevel).child({ role: 'signer' }))
    else
      throw invalid(
        'unknown_command',
        `the signer knows init, show, allow, disallow, allowed, approvers, passphrase, check and run; got ${command ?? 'nothing'}`,
      )
  } finally {
    await db.close()
  }
}

async function init(config: SignerConfig, db: Database, { json, restore, replace }: Options): Promise<void> {
  if (config.passphrase === null)
    throw invalid(
      'no_passphrase',
      'set BECK_KEYSTORE_PASSPHRASE or BECK_KEYSTORE_PASSPHRASE_FILE: the keystore is encrypted with it',
    )
  await requireNoKeystore(config.keystorePath)
  const entropy = restore ? entropyOf(await readStandardInput()) : newEntropy()
  const root = await rootOf(entropy)
  const live = NETWORKS.map((network) => chainKeys(root, network, config.modes[network]))
  if (!replace) await requireNoOther(config, db, live)
  await createKeystore(config.keystorePath, entropy, config.passphrase)
  // Shown before anything else can fail: they would not be shown again.
  showInit(restore ? null : wordsOf(entropy), live.map(shownWallet), json)
  await publishKeys(config, db, live, { replaces: replace })
}

/** A wallet of other words, or of another network, would retire the present one: its coins could not be paid out from here any more. */
async function requireNoOther(config: SignerConfig, db: Database, live: readonly ChainKeys[]): Promise<void> {
  const published = await publishedWallets(config, db)
  const others = live.map((keys) => ({ chain: keys.chain, other: otherWallet(config, published, keys) }))
  const ofNetwork = others.find(({ other }) => other?.of === 'network')?.other
  if (ofNetwork) throw conflict('other_network', ofNetwork.problem)
  const ofWords = others.filter(({ other }) => other !== null)
  if (ofWords.length === 0) return
  throw conflict(
    'wallet_exists',
    `this database has a live wallet of ${ofWords.map(({ chain }) => chain).join(', ')} already, made from other words. Start the signer where its keystore.json is (BECK_DATA_DIR), or bring it here with its 24 words: npx beck wallet init --restore. Only to give it up, with its coins: npx beck wallet init --replace`,
  )
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
  const wallets = await publishedWallets(config, db)
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

function readNetwork(verb: string, [network, address]: readonly string[]): [Network, string] {
  const known = NETWORKS.find((each) => each === network)
  if (known && address) return [known, address]
  throw invalid('unknown_command', `expected: ${verb} ${NETWORKS.join('|')} ADDRESS`)
}

async function allow(config: SignerConfig, given: readonly string[], { json }: Options): Promise<void> {
  const [known, address] = readNetwork('allow', given)
  const asset = known === 'bitcoin' ? 'BTC' : known === 'litecoin' ? 'LTC' : 'ETH'
  readDestination(asset, config.modes[known], address)
  await allowAddress(config.folder, known, address)
  answer(json, { allowed: { network: known, address } }, `${address} is on the ${known} allowlist`)
}

async function disallow(config: SignerConfig, given: readonly string[], { json }: Options): Promise<void> {
  const [known, address] = readNetwork('disallow', given)
  if (!(await disallowAddress(config.folder, known, address)))
    throw notFound(
      'not_on_allowlist',
      `${address} is not on the ${known} allowlist; \`npx beck wallet allowed\` shows it`,
    )
  answer(json, { disallowed: { network: known, address } }, `${address} is off the ${known} allowlist`)
}

async function showAllowed(config: SignerConfig, { json }: Options): Promise<void> {
  const entries = await readAllowlist(config.folder)
  if (json) return print(JSON.stringify({ allowlist: entries }))
  if (entries.length === 0) print('The allowlist of this data directory is empty.')
  for (const { network, address, added_at } of entries) print(`${network.padEnd(9)} ${added_at}  ${address}`)
}

async function approvers(
  config: SignerConfig,
  db: Database,
  given: readonly string[],
  { json, yes, dashboard = config.dashboardUrl }: Options,
): Promise<void> {
  if (!URL.canParse(dashboard))
    throw invalid('invalid_url', `"${dashboard}" is no URL such as https://dashboard.example.com`)
  const ask = async (question: string): Promise<string> => {
    process.stderr.write(question)
    for await (const line of createInterface({ input: process.stdin })) return line.trim()
    return ''
  }
  await approversCommand({ db, folder: config.folder, json, yes, dashboardUrl: dashboard, print, ask }, given)
}

async function sealAnew(config: SignerConfig, [file]: readonly string[], { json }: Options): Promise<void> {
  if (config.passphrase === null || !file)
    throw invalid(
      'no_passphrase',
      'set BECK_KEYSTORE_PASSPHRASE or BECK_KEYSTORE_PASSPHRASE_FILE to the present passphrase, and name the file of the new one',
    )
  await changePassphrase(config.keystorePath, config.passphrase, readPassphrase(file))
  answer(
    json,
    { sealed_with: file },
    `The keystore opens with the passphrase in ${file} from now on; set it, and start the signer again.`,
  )
}

async function check(config: SignerConfig, db: Database): Promise<void> {
  const entropy =
    config.passphrase === null ? null : await openKeystore(config.keystorePath, config.passphrase)
  if (!entropy) return
  const root = await rootOf(entropy)
  const published = await publishedWallets(config, db)
  const others = NETWORKS.map((network) => ({
    network,
    other: otherWallet(config, published, chainKeys(root, network, config.modes[network])),
  }))
  const ofNetwork = others.find(({ other }) => other?.of === 'network')?.other
  if (ofNetwork) throw conflict('other_network', `it opens, but ${ofNetwork.problem}`)
  const foreign = others.flatMap(({ network, other }) => (other ? [network] : []))
  if (foreign.length > 0)
    throw conflict(
      'other_keystore',
      `it opens, but the current wallets of ${foreign.join(', ')} belong to another keystore: their coins cannot be paid out from here`,
    )
}

const hotWalletOf = ({ chain, mode, xpub }: Pick<ChainKeys, 'chain' | 'mode' | 'xpub'>): string =>
  readAccountKey(chain, mode, xpub).derive(INTERNAL_BRANCH, HOT_WALLET_POSITION).address

async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

/** One object for programs, a line for people. */
const answer = (json: boolean, object: object, line: string): void =>
  print(json ? JSON.stringify(object) : line)

const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

mindNoReader()
try {
  await main()
} catch (error) {
  if (!(error instanceof Refusal)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
