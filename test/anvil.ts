/**
 * A real Anvil of its own for each test file: started on a free port, mined by hand, stopped when the file ends. Start it
 * at the top level of the file, not in a `before` hook.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { type Abi, encodeDeployData, encodeFunctionData, parseAbi } from 'viem'
import { freePort } from '../src/db/embedded/embedded.ts'
import { type Artifacts, compileFolder } from './solidity.ts'

type Hex = `0x${string}`

const BINARY = new URL('../node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil', import.meta.url).pathname
const TEST_CONTRACTS = new URL('./contracts/', import.meta.url)
/** Enough for every test call: estimating would refuse the calls that are meant to revert. */
const GAS = 3_000_000

const CONTRACT_ABI = parseAbi([
  'function transfer(address to, uint256 value)',
  'function transferFrom(address from, address to, uint256 value)',
  'function addBlackList(address account)',
  'function removeBlackList(address account)',
  'function setParams(uint256 newBasisPoints)',
  'function emitOdd(address to)',
  'function pass(address[] path) payable',
  'function payAll(address[] to) payable',
  'function payAndRevert(address to) payable',
  'function tryToPay(address to) payable',
  'function payFrugally(address to) payable',
])

export interface AnvilOptions {
  readonly hardfork?: string
  readonly chainId?: number
  /** Further options of the command line. */
  readonly options?: readonly string[]
}

interface Send {
  /** One of Anvil's unlocked accounts; the first unless told. */
  readonly from?: string
  readonly to?: string
  readonly value?: bigint
  readonly data?: Hex
  /** The account's next one unless told. */
  readonly nonce?: number
}

export interface Anvil {
  readonly url: string
  readonly wsUrl: string
  /** Ten unlocked accounts with 10,000 ether each. */
  readonly accounts: readonly Hex[]
  rpc<Result = unknown>(method: string, params?: readonly unknown[]): Promise<Result>
  /** Mines blocks; what waits goes into the first. */
  mine(count?: number): Promise<void>
  height(): Promise<number>
  tipHash(): Promise<Hex>
  /** Hands a transaction to the node, which holds it until it mines. Returns its hash. */
  send(transaction: Send): Promise<Hex>
  /** Calls a function of {@link CONTRACT_ABI}. */
  call(
    to: string,
    functionName: string,
    args: readonly unknown[],
    transaction?: Omit<Send, 'to' | 'data'>,
  ): Promise<Hex>
  /** Deploys a contract of test/contracts, mines it, returns its address in lower case. */
  deploy(name: string, args?: readonly unknown[], transaction?: Omit<Send, 'to' | 'data'>): Promise<Hex>
  balance(address: string): Promise<bigint>
  /**
   * Replaces the last blocks by as many empty ones. Anvil forgets their transactions: the returned function sends the
   * same bytes again.
   */
  reorganise(depth: number): Promise<() => Promise<void>>
  /** Ends the process; blocks and state are kept for {@link start}. */
  stop(): Promise<void>
  start(): Promise<void>
  /** Ends it for good. */
  remove(): Promise<void>
}

export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const anvil = await launchAnvil(options)
  after(() => anvil.remove())
  return anvil
}

/** For programs that are no tests: the caller ends it. */
async function launchAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const folder = await mkdtemp(join(tmpdir(), 'beck-anvil-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const args = [
    ...['--port', String(port), '--no-mining', '--order', 'fifo'],
    ...['--state', join(folder, 'state.json'), '--preserve-historical-states', '--cache-path', folder],
    ...['--hardfork', options.hardfork ?? 'prague', '--chain-id', String(options.chainId ?? 31_337)],
    ...(options.options ?? []),
  ]
  let child: ChildProcess | undefined
  let artifacts: Artifacts | undefined
  const rpc = async <Result>(method: string, params: readonly unknown[] = []): Promise<Result> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const answer = (await response.json()) as { result: Result; error?: { message: string } }
    if (answer.error) throw new Error(`anvil refused ${method}: ${answer.error.message}`)
    return answer.result
  }

  async function start() {
    const binary = await access(BINARY).then(
      () => BINARY,
      () => 'anvil',
    )
    const started = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    child = started
    let output = ''
    let isListening = false
    const listening = Promise.withResolvers<void>()
    // It tells of every request: what it told is kept for its end, and looked through until it listens.
    const collect = (chunk: Buffer) => {
      output += chunk.toString()
      if (output.length > 20_000) output = output.slice(-10_000)
      if (isListening || !output.includes('Listening on')) return
      isListening = true
      listening.resolve()
    }
    started.stdout.on('data', collect)
    started.stderr.on('data', collect)
    started.on('error', (error) =>
      listening.reject(new Error(`anvil does not start (npm ci installs it): ${error.message}`)),
    )
    started.on('exit', (code) => listening.reject(new Error(`anvil ended with ${code}: ${output}`)))
    await listening.promise
  }

  /** Only a node that ends in order writes its state. */
  async function end(signal: 'SIGTERM' | 'SIGKILL') {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  await start()
  const accounts = (await rpc<Hex[]>('eth_accounts')).map((account) => account.toLowerCase() as Hex)

  const anvil: Anvil = {
    url,
    wsUrl: `ws://127.0.0.1:${port}`,
    accounts,
    rpc,
    async mine(count = 1) {
      await rpc('anvil_mine', [`0x${count.toString(16)}`])
    },
    async height() {
      return Number(await rpc<string>('eth_blockNumber'))
    },
    async tipHash() {
      return (await rpc<{ hash: Hex }>('eth_getBlockByNumber', ['latest', false])).hash
    },
    send({ from = accounts[0], to, value = 0n, data, nonce }) {
      const number = nonce === undefined ? {} : { nonce: `0x${nonce.toString(16)}` }
      return rpc('eth_sendTransaction', [
        { from, to, data, value: `0x${value.toString(16)}`, gas: `0x${GAS.toString(16)}`, ...number },
      ])
    },
    call(to, functionName, callArgs, transaction = {}) {
      const abi: Abi = CONTRACT_ABI
      return anvil.send({
        ...transaction,
        to,
        data: encodeFunctionData({ abi, functionName, args: callArgs }),
      })
    },
    async deploy(name, deployArgs = [], transaction = {}) {
      artifacts ??= await compileFolder(TEST_CONTRACTS)
      const artifact = artifacts[name]
      if (!artifact) throw new Error(`there is no contract ${name} in test/contracts`)
      const inputs = deployArgs.map(() => ({ type: 'address' }) as const)
      const abi = [{ type: 'constructor', stateMutability: 'payable', inputs }] as const
      const data =
        deployArgs.length === 0
          ? artifact.bytecode
          : encodeDeployData({ abi, bytecode: artifact.bytecode, args: deployArgs })
      const hash = await anvil.send({ ...transaction, data })
      await anvil.mine()
      const receipt = await rpc<{ contractAddress: Hex; status: Hex }>('eth_getTransactionReceipt', [hash])
      if (receipt.status !== '0x1') throw new Error(`deploying ${name} failed`)
      return receipt.contractAddress.toLowerCase() as Hex
    },
    async balance(address) {
      return BigInt(await rpc<string>('eth_getBalance', [address, 'latest']))
    },
    async reorganise(depth) {
      const tip = await anvil.height()
      const taken: Hex[] = []
      for (let height = tip - depth + 1; height <= tip; height++) {
        const block = await rpc<{ transactions: Hex[] }>('eth_getBlockByNumber', [
          `0x${height.toString(16)}`,
          false,
        ])
        for (const hash of block.transactions) taken.push(await rpc('eth_getRawTransactionByHash', [hash]))
      }
      await rpc('anvil_reorg', [depth, []])
      return async () => {
        for (const raw of taken) await rpc('eth_sendRawTransaction', [raw])
      }
    },
    stop: () => end('SIGTERM'),
    start,
    async remove() {
      await end('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
  return anvil
}
