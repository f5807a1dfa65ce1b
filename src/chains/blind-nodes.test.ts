/** A node that answers and sees nothing is no node: no window ends by it and no quote begins. */
import assert from 'node:assert/strict'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { OutsideFailure } from '../core/errors.ts'
import { SILENT } from '../core/log.ts'
import { createBitcoinChain } from './bitcoin/bitcoin-chain.ts'
import { type BitcoinLike, bitcoinNetwork } from './bitcoin/networks.ts'
import { createEthereumChain, type EthereumChainOptions } from './ethereum/ethereum-chain.ts'

/** What the node says of itself. */
interface State {
  readonly syncing?: boolean
  readonly headersAhead?: number
  readonly peers?: number
  /** By its own time, which its miner may have set too late. */
  readonly tipAgeMinutes?: number
}

const HASH = 'ab'.repeat(32)
const HEIGHT = 900_001
let answers: Readonly<Record<string, unknown>> = {}

const server = http.createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const answer = ({ id, method }: { id: number; method: string }) => ({
    id,
    jsonrpc: '2.0',
    result: answers[method],
  })
  const calls = JSON.parse(body) as { id: number; method: string }[] | { id: number; method: string }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(Array.isArray(calls) ? calls.map(answer) : answer(calls)))
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
after(() => {
  server.closeAllConnections()
  server.close()
})

function coreAnswers(chain: BitcoinLike, network: string, state: State): Record<string, unknown> {
  const { syncing = false, headersAhead = 0, peers = 8, tipAgeMinutes = 0 } = state
  return {
    getblockchaininfo: {
      chain: bitcoinNetwork(chain, network).chainName,
      blocks: HEIGHT,
      headers: HEIGHT + headersAhead,
      bestblockhash: HASH,
      initialblockdownload: syncing,
    },
    getnetworkinfo: { connections: peers },
    getblockheader: { height: HEIGHT, time: secondsAgo(tipAgeMinutes) },
  }
}

function ethereumAnswers({ syncing = false, tipAgeMinutes = 0 }: State): Record<string, unknown> {
  const number = `0x${HEIGHT.toString(16)}`
  return {
    eth_syncing: syncing ? { currentBlock: '0x1', highestBlock: '0x9' } : false,
    eth_getBlockByNumber: {
      number,
      hash: `0x${HASH}`,
      timestamp: `0x${secondsAgo(tipAgeMinutes).toString(16)}`,
    },
  }
}

const secondsAgo = (minutes: number): number => Math.round(Date.now() / 1_000 - minutes * 60)

const SYNCS = /still syncs|still synchronises/
const OLD = /shows a last block that is \d+ minutes old/

const CASES: readonly (readonly [string, string, State, RegExp | null])[] = [
  ['bitcoin', 'mainnet', {}, null],
  ['bitcoin', 'mainnet', { syncing: true }, SYNCS],
  ['bitcoin', 'mainnet', { headersAhead: 3 }, null],
  ['bitcoin', 'mainnet', { headersAhead: 4 }, SYNCS],
  ['bitcoin', 'mainnet', { peers: 0 }, /has no peers/],
  ['bitcoin', 'mainnet', { tipAgeMinutes: 179 }, null],
  ['bitcoin', 'mainnet', { tipAgeMinutes: 181 }, OLD],
  ['bitcoin', 'mainnet', { tipAgeMinutes: -119 }, null],
  ['bitcoin', 'testnet4', { tipAgeMinutes: 600 }, null],
  ['bitcoin', 'signet', { tipAgeMinutes: 600 }, null],
  ['bitcoin', 'testnet', { peers: 0 }, /has no peers/],
  ['bitcoin', 'regtest', { tipAgeMinutes: 600, peers: 0, syncing: true, headersAhead: 9 }, null],
  ['litecoin', 'mainnet', {}, null],
  ['litecoin', 'mainnet', { syncing: true }, SYNCS],
  ['litecoin', 'mainnet', { headersAhead: 4 }, SYNCS],
  ['litecoin', 'mainnet', { peers: 0 }, /has no peers/],
  ['litecoin', 'mainnet', { tipAgeMinutes: 44 }, null],
  ['litecoin', 'mainnet', { tipAgeMinutes: 46 }, OLD],
  ['litecoin', 'testnet', { tipAgeMinutes: 600 }, null],
  ['litecoin', 'regtest', { tipAgeMinutes: 600, peers: 0, syncing: true }, null],
  ['ethereum', 'mainnet', {}, null],
  ['ethereum', 'mainnet', { syncing: true }, SYNCS],
  ['ethereum', 'mainnet', { tipAgeMinutes: 2.8 }, null],
  ['ethereum', 'mainnet', { tipAgeMinutes: 3.2 }, OLD],
  ['ethereum', 'sepolia', { tipAgeMinutes: 3.2 }, OLD],
  ['ethereum', 'dev', { tipAgeMinutes: 600, syncing: true }, null],
]

for (const [chain, network, state, refusal] of CASES)
  test(`${chain} ${network} ${JSON.stringify(state)}: ${refusal === null ? 'believed' : 'refused'}`, async () => {
    const isEthereum = chain === 'ethereum'
    answers = isEthereum ? ethereumAnswers(state) : coreAnswers(chain as BitcoinLike, network, state)
    const port = isEthereum
      ? createEthereumChain({
          rpcUrl: `http://${host}`,
          network: network as EthereumChainOptions['network'],
          usdcContract: `0x${'aa'.repeat(20)}`,
          usdtContract: `0x${'bb'.repeat(20)}`,
          log: SILENT,
        })
      : createBitcoinChain({
          chain: chain as BitcoinLike,
          rpcUrl: `http://u:p@${host}`,
          network,
          log: SILENT,
        })
    try {
      if (refusal === null) assert.equal((await port.tip()).height, HEIGHT)
      else
        await assert.rejects(port.tip(), (error) => {
          assert.ok(error instanceof OutsideFailure && error.retryable)
          assert.match(error.message, refusal)
          return true
        })
    } finally {
      await port.close()
    }
  })

test('a block that was young when it came grows old with the same node', async (t) => {
  answers = coreAnswers('bitcoin', 'mainnet', {})
  const port = createBitcoinChain({
    chain: 'bitcoin',
    rpcUrl: `http://u:p@${host}`,
    network: 'mainnet',
    log: SILENT,
  })
  await port.tip()
  const later = Date.now() + 181 * 60_000
  t.mock.method(Date, 'now', () => later)
  await assert.rejects(port.tip(), OLD)
  await port.close()
})
