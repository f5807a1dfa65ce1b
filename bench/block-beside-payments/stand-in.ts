/**
 * What Beck's watcher asks of a Bitcoin node in regtest, answered for a chain that its owner makes longer. A thread of its own:
 * what a node takes for its answers is not ours to measure.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { BITCOIN_NETWORKS } from '../../src/chains/bitcoin/networks.ts'

interface Asked {
  readonly id: number
  readonly method: string
  readonly params?: readonly unknown[]
}

const { chainName, genesisHash } = BITCOIN_NETWORKS.bitcoin.regtest
const hashes: string[] = [genesisHash]
/** As JSON; text of megabytes is written out once, before anybody may ask for it. */
const blocks = new Map<string, string>()
/** Not shown yet, in their order. */
const made: string[] = []
/** When the newest block was asked for, in milliseconds since the epoch. */
let askedAt = 0

const ANSWERS: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
  getblockchaininfo: () => ({
    chain: chainName,
    blocks: hashes.length - 1,
    headers: hashes.length - 1,
    bestblockhash: hashes.at(-1),
    initialblockdownload: false,
    warnings: [],
  }),
  getnetworkinfo: () => ({ version: 300_000, connections: 1, localrelay: true }),
  getblockhash: ([height]) => hashes[Number(height)],
  getblockheader: ([hash]) => ({ hash, height: hashes.indexOf(String(hash)), confirmations: 1 }),
  getmempoolinfo: () => ({ loaded: true, mempoolminfee: 0.00001, minrelaytxfee: 0.00001 }),
  getrawmempool: () => [],
  getzmqnotifications: () => [],
  estimatesmartfee: () => ({ feerate: 0.0001, blocks: 3 }),
}

/** As JSON. */
function answer({ id, method, params = [] }: Asked): string {
  const block = method === 'getblock' ? blocks.get(String(params[0])) : undefined
  if (block !== undefined && params[0] === hashes.at(-1)) askedAt ||= Date.now()
  if (block !== undefined) return `{"id":${id},"error":null,"result":${block}}`
  const result = ANSWERS[method]?.(params)
  return JSON.stringify(
    result === undefined
      ? { id, result: null, error: { code: -8, message: `${method} is not played` } }
      : { id, error: null, result },
  )
}

const server = http.createServer(async (request, response) => {
  const asked: Asked | readonly Asked[] = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString())
  response.setHeader('content-type', 'application/json')
  response.end(Array.isArray(asked) ? `[${asked.map(answer).join()}]` : answer(asked as Asked))
})
server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port))
parentPort?.on('message', (told: 'show' | 'asked?' | { hash: string; bytes: Uint8Array }) => {
  if (told === 'asked?') parentPort?.postMessage(askedAt)
  else if (told === 'show') parentPort?.postMessage(show())
  else {
    made.push(told.hash)
    blocks.set(told.hash, JSON.stringify(Buffer.from(told.bytes).toString('hex')))
    parentPort?.postMessage('made')
  }
})

/** The block before was followed, and nobody asks for it any more. */
function show(): string {
  const hash = made.shift() ?? ''
  blocks.delete(hashes.at(-1) ?? '')
  hashes.push(hash)
  askedAt = 0
  return hash
}
