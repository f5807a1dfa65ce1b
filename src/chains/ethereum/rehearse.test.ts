/** What the many Ethereum clients say when a transfer would fail, and what says nothing about it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { NodeError, openRpc, type RpcRequest } from '../json-rpc.ts'
import { judgeEstimate, rehearse } from './rehearse.ts'
import { readNode } from './rpc.ts'

const error = (code: number, answer: string) => ({
  error: new NodeError('the node', 'eth_estimateGas', code, answer, true),
})

for (const [client, answer] of [
  ['geth, Erigon and Anvil', error(3, 'execution reverted: Blacklistable: account is blacklisted')],
  ['geth, of a reason in words of its own', error(3, 'execution reverted: insufficient funds')],
  ['Besu, of such a reason', error(-32000, 'Execution reverted: quota: too many requests per second')],
  ['geth, of all gas used up', error(-32000, 'gas required exceeds allowance (60000)')],
  ['geth, of an invalid opcode', error(-32000, 'invalid opcode: INVALID')],
  ['Nethermind', error(-32015, 'VM execution error.')],
  ['Besu', error(-32000, 'Execution reverted')],
  ['Anvil, of all gas used up', error(-32003, 'Out of gas: gas required exceeds allowance: 60000')],
  ['Anvil, of an invalid opcode', error(-32603, 'EVM error InvalidFEOpcode')],
  ['a client that estimates beyond the bound', { result: '0xea61' }],
] as const)
  test(`${client}: it would revert`, () => assert.equal(judgeEstimate(answer, 60_000n).kind, 'reverts'))

for (const [client, answer] of [
  ['geth, of a sender without ether', error(-32000, 'insufficient funds for transfer')],
  ['Anvil, of one', error(-32003, 'Insufficient funds for gas * price + value')],
  ['a node that lacks the state', error(-32000, 'missing trie node 0xab (path )')],
  ['a node without the method', error(-32601, 'the method eth_estimateGas does not exist/is not available')],
  ['a provider that limits', error(-32005, 'too many requests')],
  ['a provider that limits in words', error(-32000, 'out of gas for today: quota exceeded')],
  ['an answer that is none', { result: null }],
  ['an answer that is no number', { result: 'unlimited' }],
] as const)
  test(`${client}: not clear`, () => assert.equal(judgeEstimate(answer, 60_000n).kind, 'unclear'))

test('an estimate within the bound: it would succeed', () =>
  assert.deepEqual(judgeEstimate({ result: '0xea60' }, 60_000n), { kind: 'succeeds' }))

/** What nodes and providers say of themselves, each of which makes Beck do something, so that a receiver may say it too. */
const NODE_WORDS = [
  ...['rate limit', 'too many requests', 'one per second', '50 rps', 'compute units', 'credits', 'quota'],
  ...[
    'request count exceeded',
    'exceeded its capacity',
    'throughput exceeded',
    'limit of your plan, upgrade',
  ],
  ...['method not found', 'eth_call is not available', 'unsupported method', 'eth_estimateGas disabled'],
  ...['missing trie node', 'pruned', 'historical state', 'state not available', 'BlockOutOfRange'],
  ...['already known', 'unknown', 'syncing', 'nonce too low', 'insufficient funds', 'batch', 'range', '0x'],
]
const head = { number: '0x64', hash: `0x${'ab'.repeat(32)}` }
const addressOf = (digits: string) => `0x${digits.repeat(20)}`
const STRANGER = addressOf('66')

/** A node that says yes to every transfer but those to one receiver, of which it says this. */
const saying = (error: { readonly code: number; readonly message: string }) =>
  openRpc(readNode('http://127.0.0.1:8545', ['http:']), {
    carry: async (asked) => {
      const answer = ({ id, method, params = [] }: RpcRequest) => {
        if (method === 'eth_getBlockByNumber') return { id, result: head }
        if (method === 'eth_call') return { id, result: `0x${'f'.padStart(64, '0')}` }
        const [call] = params as { to: string }[]
        return call?.to === STRANGER ? { id, error } : { id, result: '0x5208' }
      }
      return Array.isArray(asked) ? asked.map(answer) : answer(asked as RpcRequest)
    },
    close() {},
  })

test('whatever one receiver has the node answer, the answers about all others stay', async () => {
  const words = fc
    .array(fc.oneof(fc.constantFrom(...NODE_WORDS), fc.string()), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join(' '))
  const codes = fc.constantFrom(3, -32000, -32003, -32007, -32015, -32601, -32603, 15)
  const prefix = fc.constantFrom('execution reverted: ', 'VM execution error. ', '')
  await fc.assert(
    fc.asyncProperty(codes, prefix, words, fc.nat(2), async (code, start, reason, place) => {
      const receivers = [addressOf('22'), addressOf('33')].toSpliced(place, 0, STRANGER)
      const answers = await rehearse(
        saying({ code, message: start + reason }),
        new Map(),
        receivers.map((to) => ({ from: addressOf('11'), to, asset: 'ETH', atoms: 1n, gasMax: 60_000n })),
      )
      const kinds = answers.map(({ kind }) => kind)
      const [stranger] = kinds.splice(place, 1)
      assert.deepEqual(kinds, ['succeeds', 'succeeds'])
      if (code === 3 || start !== '') assert.equal(stranger, 'reverts')
    }),
  )
})
