/** What the many Ethereum clients and providers say, in their own words. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeError, type Rpc, type RpcAnswer } from '../json-rpc.ts'
import { broadcastRaw } from './broadcast.ts'
import { isUnsupported, readNode } from './rpc.ts'
import { isStateGone } from './state-gone.ts'

const node = readNode('http://127.0.0.1:8545', ['http:'])
const METHOD = 'eth_sendRawTransaction'

/** A node that says this to whatever it is sent, and knows of no transaction. */
function saying(code: number, message: string): Rpc {
  const kind = node.judge(code, message)
  const error = new NodeError('the node', METHOD, code, message, kind !== 'final')
  return {
    call: async () => null,
    async batch(): Promise<RpcAnswer[]> {
      if (kind === 'busy') throw error
      return [{ error }]
    },
    close() {},
  }
}

for (const [client, code, message] of [
  ['geth', -32000, 'insufficient funds for gas * price + value: balance 0, tx cost 42000, overshot 42000'],
  ['geth', -32000, 'nonce too low: next nonce 8, tx nonce 7'],
  ['geth', -32000, 'replacement transaction underpriced'],
  ['geth', -32000, 'intrinsic gas too low: gas 21000, minimum needed 204600'],
  ['geth', -32000, 'exceeds block gas limit'],
  ['geth', -32000, 'transaction gas limit too high (cap: 16777216, tx: 16777217)'],
  ['geth', -32000, 'tx fee (1.05 ether) exceeds the configured cap (1.00 ether)'],
  ['geth', -32000, 'in-flight transaction limit reached for delegated accounts'],
  ['geth', -32000, 'txpool is full'],
  ['geth', -32000, 'transaction type not supported'],
  ['reth', -32003, 'insufficient funds for gas * price + value: have 0 want 42000'],
  ['reth', -32003, 'transaction gas limit exceeds the block gas limit'],
  ['reth', -32000, 'max fee per gas less than block base fee'],
  ['nethermind', -32010, 'InsufficientFunds, Account balance: 0, cumulative cost: 42000'],
  ['nethermind', -32010, 'FeeTooLow, EffectivePriorityFeePerGas too low 0 < 1'],
  ['nethermind', -32010, 'GasLimitExceeded, Gas limit: 30000000, gas limit of rejected tx: 30000001'],
  ['besu', -32001, 'Nonce too low'],
  ['besu', -32003, 'Intrinsic gas exceeds gas limit'],
  ['besu', -32004, 'Upfront cost exceeds account balance'],
  ['besu', -32005, 'Transaction gas limit exceeds block gas limit'],
  ['besu', -32006, 'Nonce too high'],
  ['besu', -32007, 'Sender account not authorized to send transactions'],
  ['besu', -32009, 'Gas price below current base fee'],
  ['besu', -32000, 'Transaction fee cap exceeded'],
  ['erigon', -32000, 'insufficient funds'],
  ['erigon', -32000, 'gas uint64 overflow'],
  ['a proxy', -32603, 'internal error: nonce too low'],
  ['a node that runs it first', 3, 'execution reverted: already known'],
  ['a node that runs it first', -32000, 'execution reverted: method not found, too many requests, syncing'],
] as const)
  test(`${client} refuses a transaction (${code}): ${message}`, async () => {
    const outcome = await broadcastRaw(saying(code, message), '0x02')
    assert.deepEqual(outcome, { kind: 'refused', reason: `${message} (${code})` })
  })

for (const [who, code, message] of [
  ['Infura', -32005, 'daily request count exceeded, request rate limited'],
  ['Infura', -32005, 'project ID request rate exceeded'],
  ['Alchemy', 429, 'Your app has exceeded its compute units per second capacity'],
  ['Alchemy', -32000, 'Monthly capacity limit exceeded. Upgrade your plan'],
  [
    'QuickNode',
    -32007,
    '50/second request limit reached - reduce calls per second or upgrade your account at quicknode.com',
  ],
  ['QuickNode', -32003, 'daily request limit reached - upgrade your account at quicknode.com'],
  ['QuickNode', -32012, 'credits limited to 6000/sec'],
  ['dRPC', 15, 'Too many request, try again later'],
  ['Chainstack', -32005, "You've exceeded the RPS limit available on the current plan."],
  ['a provider', -32000, 'you have exceeded your quota'],
  ['a provider', -32005, 'limit exceeded'],
  ['besu', -32008, 'Initial sync is still in progress'],
  ['geth', -32601, 'the method eth_sendRawTransaction does not exist/is not available'],
  ['besu', -32604, 'Method not enabled'],
  ['a proxy', -32603, 'internal error'],
] as const)
  test(`${who} says nothing about a transaction (${code}): ${message}`, async () => {
    await assert.rejects(broadcastRaw(saying(code, message), '0x02'), { retryable: true })
  })

for (const [who, code, message, expected] of [
  ['geth', -32601, 'the method trace_block does not exist/is not available', true],
  ['Infura', -32601, 'The method trace_block does not exist/is not available', true],
  ['besu', -32604, 'Method not enabled', true],
  ['EIP-1474', -32004, 'Method not supported', true],
  ['a provider', -32000, 'eth_getBlockReceipts is not available on the free tier', true],
  ['a provider', -32600, 'Unsupported method: trace_block. See available methods at https://docs', true],
  ['besu', -32004, 'Upfront cost exceeds account balance', false],
  ['a node', -32000, 'sender account does not exist', false],
  ['geth', -32000, 'transaction type not supported', false],
  ['geth', 3, 'execution reverted: method not supported', false],
  ['a provider', -32000, 'method not allowed: too many requests', false],
] as const)
  test(`${who} (${code}): ${message} is ${expected ? '' : 'not '}about the method`, () => {
    assert.equal(isUnsupported(new NodeError('the node', METHOD, code, message, true)), expected)
  })

test('only a code of its own makes an error one of the whole batch', () => {
  assert.equal(node.judge(429, 'slow down'), 'busy')
  assert.equal(node.judge(-32005, 'daily request count exceeded'), 'busy')
  assert.equal(node.judge(-32000, 'you have exceeded your quota'), 'passing')
  assert.equal(node.judge(-32005, 'execution reverted: too many requests'), 'passing')
})

for (const [code, message] of [
  [3, 'execution reverted: missing trie node'],
  [-32000, 'execution reverted'],
  [-32000, 'you have exceeded your quota of historical state'],
] as const)
  test(`${message} (${code}) is not about the state of a block`, async () => {
    const latest = { result: { number: '0x3e8', hash: `0x${'ab'.repeat(32)}` } }
    const rpc = { ...saying(code, message), batch: async () => [latest, { result: '0x0' }] }
    const error = new NodeError('the node', 'eth_call', code, message, true)
    assert.equal(await isStateGone(rpc, 1, error, { method: 'eth_getBalance' }), false)
  })

test('a batch that is too long is no want of time', () => {
  assert.equal(node.judge(-32005, 'Number of requests exceeds max batch size'), 'passing')
  assert.equal(node.judge(-32005, 'Requested range exceeds maximum RPC range limit'), 'passing')
})
