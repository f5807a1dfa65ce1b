/**
 * Real nodes for tests: `litecoind` (Debian: `apt-get install litecoin`), and `bitcoind` too where one is on the PATH,
 * on a regtest chain of their own, in a folder of their own, on free ports. Stopped and removed when the test file ends.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { promisify } from 'node:util'
import { type BitcoinLike, bitcoinNetwork } from '../src/chains/bitcoin/networks.ts'
import { openCoreRpc } from '../src/chains/bitcoin/rpc.ts'
import { freePort } from '../src/db/embedded/embedded.ts'
import { type NodeWallet, nodeWallet } from './node-wallet.ts'

const exec = promisify(execFile)

const USER = 'tester'
/** Of characters that a URL reserves; Bitcoin Knots starts with no colon in it. */
const PASSWORD = 'p@ss/w?rd'
const WALLET = 'tests'
/** Holds nothing but coins inside the MWEB. */
const MWEB_WALLET = 'mweb'
/** The wallet's coinbases are spendable after 100 blocks; these many of them are, at the start. */
const MATURE_COINBASES = 20
/** Litecoin's MWEB activates here on regtest; this block can only be mined with a peg-in waiting. */
const MWEB_HEIGHT = 432

export interface Node extends NodeWallet {
  readonly chain: BitcoinLike
  readonly network: string
  /** Credentials included. */
  readonly rpcUrl: string
  readonly password: string
  readonly process: () => ChildProcess
  /** Calls any method, those of the node's wallet too; the caller says what it answers. */
  call<Answer = unknown>(method: string, ...params: unknown[]): Promise<Answer>
  tip(): Promise<{ height: number; hash: string }>
  /** Takes the last blocks out of the chain; their transactions go back to the mempool. Returns the first one's hash. */
  rollBack(depth: number): Promise<string>
  /** Mines up to where MWEB blocks begin, and leaves the peg-in waiting that the next block needs. Litecoin only. */
  approachMweb(): Promise<string>
  /** Pays an address out of the MWEB: the block's HogEx will hold the output. Returns the MWEB transaction's id. */
  pegOut(to: string, amount: string): Promise<string>
  stop(): Promise<void>
  start(...moreArguments: readonly string[]): Promise<void>
}

/** The chains whose node is installed here. Litecoin is always expected. */
export async function installedChains(): Promise<readonly BitcoinLike[]> {
  const found = await exec('bitcoind', ['-version']).then(
    () => true,
    () => false,
  )
  return found ? ['litecoin', 'bitcoin'] : ['litecoin']
}

export interface NodeOptions {
  readonly chain?: BitcoinLike
  /** `regtest` with a wallet full of coins, unless another network is named: then a bare node without peers. */
  readonly network?: string
  readonly arguments?: readonly string[]
  /** False for a node without blocks and coins. */
  readonly wallet?: boolean
}

export async function startNode(options: NodeOptions = {}): Promise<Node> {
  const { chain = 'litecoin', network = 'regtest' } = options
  const hasWallet = network === 'regtest' && options.wallet !== false
  const folder = await mkdtemp(join(tmpdir(), `beck-${chain}d-`))
  const port = await freePort()
  const { rpcPort, chainName } = bitcoinNetwork(chain, network)
  const rpcUrl = `http://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`
  const rpc = openCoreRpc(`${rpcUrl}/wallet/${WALLET}`, rpcPort)
  const mwebRpc = openCoreRpc(`${rpcUrl}/wallet/${MWEB_WALLET}`, rpcPort)
  const commandLine = [
    `-datadir=${folder}`,
    `-chain=${chainName}`,
    '-server',
    '-listen=0',
    '-connect=0',
    '-dnsseed=0',
    `-rpcport=${port}`,
    `-rpcuser=${USER}`,
    `-rpcpassword=${PASSWORD}`,
    '-fallbackfee=0.0001',
    '-dbcache=16',
    // On regtest the whole mempool would be checked with every transaction.
    '-checkmempool=0',
    '-checkblockindex=0',
    '-printtoconsole=0',
    // Litecoin Core refuses replacement unless told otherwise; Bitcoin Core has no such option any more. Its wallets wait
    // for the disk with every address, which nobody needs of them here.
    chain === 'litecoin' ? '-mempoolreplacement=1' : '-unsafesqlitesync',
    ...(await hintOptions(chain)),
    ...(options.arguments ?? []),
  ]
  let child: ChildProcess | undefined

  const call = async <Answer>(method: string, ...params: unknown[]): Promise<Answer> =>
    (await rpc.call(method, params, { timeoutMs: 60_000 })) as Answer

  const start = async (moreArguments: readonly string[] = []) => {
    const started = spawn(`${chain}d`, [...commandLine, ...moreArguments], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child = started
    let complaint = ''
    started.stderr?.on('data', (chunk: Buffer) => {
      complaint += chunk.toString()
    })
    started.on('error', (error) => {
      complaint += error.message
    })
    // Readiness can only be asked for: a refused connection and "warming up" both mean not yet.
    for (;;) {
      const answer = await call('getblockchaininfo').catch(() => null)
      if (answer) return
      if (started.exitCode !== null || started.signalCode !== null || started.pid === undefined)
        throw new Error(`${chain}d did not start: ${complaint}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const stop = async () => {
    const running = child
    if (!running || running.exitCode !== null || running.signalCode !== null) return
    const ended = once(running, 'exit')
    // A node that stops waits for its connections to fall silent.
    rpc.close()
    mwebRpc.close()
    running.kill('SIGCONT')
    running.kill('SIGTERM')
    await ended
  }
  const kill = () => child?.kill('SIGKILL')
  process.once('exit', kill)
  after(async () => {
    process.off('exit', kill)
    kill()
    rpc.close()
    mwebRpc.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  const wallet = nodeWallet(call)
  const node: Node = {
    ...wallet,
    chain,
    network,
    rpcUrl,
    password: PASSWORD,
    call,
    async start(...moreArguments) {
      await start(moreArguments)
      if (hasWallet) await call('loadwallet', WALLET)
    },
    stop,
    process: () => {
      if (!child) throw new Error('the node was never started')
      return child
    },
    async tip() {
      const info = await call<{ blocks: number; bestblockhash: string }>('getblockchaininfo')
      return { height: info.blocks, hash: info.bestblockhash }
    },
    async rollBack(depth) {
      const { height } = await node.tip()
      const hash = await call<string>('getblockhash', height - depth + 1)
      await call('invalidateblock', hash)
      wallet.forget()
      return hash
    },
    async approachMweb() {
      const { height } = await node.tip()
      if (height < MWEB_HEIGHT - 1) await node.mine(MWEB_HEIGHT - 1 - height)
      await call('createwallet', MWEB_WALLET)
      const address = await mwebRpc.call('getnewaddress', ['', 'mweb'])
      return call<string>('sendtoaddress', address, '5')
    },
    pegOut: async (to, amount) => String(await mwebRpc.call('sendtoaddress', [to, amount])),
  }
  await start()
  if (hasWallet) await fillWallet(node)
  return node
}

/** Debian's litecoind is built without ZeroMQ, and a node refuses options that it does not know. */
async function hintOptions(chain: BitcoinLike): Promise<string[]> {
  const { stdout } = await exec(`${chain}d`, ['-help'], { maxBuffer: 4 * 1024 * 1024 })
  if (!stdout.includes('-zmqpubhashblock')) return []
  const address = `tcp://127.0.0.1:${await freePort()}`
  return [`-zmqpubhashblock=${address}`, `-zmqpubhashtx=${address}`]
}

/** Block times may not stand still, so a hundred blocks at once would lie in the future: they are mined in the past. */
async function fillWallet(node: Node): Promise<void> {
  await node.call('createwallet', WALLET)
  await node.call('setmocktime', Math.floor(Date.now() / 1000) - 3600)
  await node.mine(100 + MATURE_COINBASES)
  await node.call('setmocktime', 0)
}
