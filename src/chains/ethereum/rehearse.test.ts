/** What the many Ethereum clients say when a transfer would fail, and what says nothing about it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeError } from '../json-rpc.ts'
import { judgeEstimate } from './rehearse.ts'

const error = (code: number, answer: string) => ({
  error: new NodeError('the node', 'eth_estimateGas', code, answer, true),
})

for (const [client, answer] of [
  ['geth, Erigon and Anvil', error(3, 'execution reverted: Blacklistable: account is blacklisted')],
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
  ['an answer that is none', { result: null }],
  ['an answer that is no number', { result: 'unlimited' }],
] as const)
  test(`${client}: not clear`, () => assert.equal(judgeEstimate(answer, 60_000n).kind, 'unclear'))

test('an estimate within the bound: it would succeed', () =>
  assert.deepEqual(judgeEstimate({ result: '0xea60' }, 60_000n), { kind: 'succeeds' }))
