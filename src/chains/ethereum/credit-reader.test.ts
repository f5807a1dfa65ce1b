/** A node that drops what calls revert with, deep below the tip, where states may be gone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SILENT } from '../../core/log.ts'
import { NodeError, type Rpc, type RpcAnswer, type RpcCall } from '../json-rpc.ts'
import { balanceCalls } from './balances.ts'
import { createCreditReader } from './credit-reader.ts'
import type { WireBlock } from './wire.ts'

const ACCOUNT = `0x${'11'.repeat(20)}` as const
const hashOf = (digits: string) => `0x${digits.repeat(32)}` as const
const block: WireBlock = {
  height: 100,
  hash: hashOf('bb'),
  parentHash: hashOf('aa'),
  timeMs: 0,
  transactions: [],
}

/** @param returns - Whether it answers calls that return, and not those alone that revert. */
function dropping(returns: boolean): Rpc {
  const silent = rpcOf(() => ({ result: null }))
  const [reverting] = balanceCalls(silent, [ACCOUNT], [], 'latest').map(dataOf)
  return rpcOf(({ method, params = [] }) => {
    if (method === 'eth_getBlockByNumber') return { result: { number: '0xc8', hash: hashOf('cc') } }
    if (method === 'eth_getBalance') return { result: '0x0' }
    const [, at] = params as [unknown, { blockHash: string }]
    if (dataOf({ method, params }) === reverting || !returns)
      return { error: new NodeError('the node', method, 3, 'execution reverted', true) }
    return { result: `0x${(at.blockHash === block.hash ? '7' : '0').padStart(64, '0')}` }
  })
}

const dataOf = ({ params = [] }: RpcCall) => (params[0] as { readonly data: string }).data

const rpcOf = (answer: (call: RpcCall) => RpcAnswer): Rpc => ({
  call: async (method, params = []) => answer({ method, params }).result,
  batch: async (calls) => calls.map(answer),
  close() {},
})

test('what calls revert with is dropped: balances are asked for otherwise at once, and no account is missed', async () => {
  const read = createCreditReader(dropping(true), SILENT)
  assert.deepEqual(await read(block, [], [ACCOUNT]), {
    credits: [{ account: ACCOUNT, atoms: 7n }],
    missed: [],
  })
})

test('a call that reverts either way is asked again later: its state is there', async () => {
  const read = createCreditReader(dropping(false), SILENT)
  await assert.rejects(read(block, [], [ACCOUNT]), { retryable: true })
})
