import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { startAnvil } from '../../../test/anvil.ts'
import { SILENT } from '../../core/log.ts'
import { NodeError, type Rpc } from '../json-rpc.ts'
import { createEthereumChain } from './ethereum-chain.ts'
import { findNonceUse } from './nonce-use.ts'

const anvil = await startAnvil()
const [, from = '', to = ''] = anvil.accounts
const contract = `0x${'11'.repeat(20)}`
const chain = createEthereumChain({
  rpcUrl: anvil.url,
  network: 'dev',
  usdcContract: contract,
  usdtContract: contract,
  log: SILENT,
})

test('who used a nonce is found among the blocks below a height, and only there', async () => {
  const sent: string[] = []
  for (let nonce = 0; nonce < 3; nonce++) {
    sent.push(await anvil.send({ from, to, value: 1n }))
    await anvil.mine(7)
  }
  const use = (nonce: bigint, upTo: number) => chain.findNonceUse?.(from, nonce, upTo)
  const tip = await anvil.height()
  for (const [nonce, hash] of sent.entries()) {
    const found = await use(BigInt(nonce), tip)
    assert.ok(found?.kind === 'used')
    assert.equal(found.txid, hash)
    assert.equal(found.block.height, tip - 20 + 7 * nonce)
    assert.deepEqual(await use(BigInt(nonce), found.block.height - 1), { kind: 'unused' })
    assert.deepEqual(await use(BigInt(nonce), found.block.height), found)
  }
  assert.deepEqual(await use(3n, tip), { kind: 'unused' })
  assert.deepEqual(await use(0n, -5), { kind: 'unused' })
  await anvil.mine(600)
  const long = await use(1n, tip + 600)
  assert.deepEqual(long, await use(1n, tip), 'a node that remembers tells of any time')
  const forgetful = remembering(tip + 600 - 128)
  assert.deepEqual(await findNonceUse(forgetful, from, 1n, tip + 600), { kind: 'unclear' }, 'too long ago')
  const young = remembering(tip + 601)
  assert.deepEqual(await findNonceUse(young, from, 1n, tip + 600), { kind: 'unclear' }, 'not even there')
  assert.deepEqual(await findNonceUse(young, from, 3n, tip + 600), { kind: 'unused' }, 'not even now')
})

test('a node in trouble says nothing of a nonce: it is asked again, and nothing is unclear for that', async () => {
  const node = remembering(2 ** 31, 'not now')
  const tip = await anvil.height()
  await assert.rejects(findNonceUse(node, from, 0n, tip), /not now/)
  await anvil.mine(64)
  assert.deepEqual(await findNonceUse(node, from, 0n, tip), { kind: 'unclear' }, 'so deep it has no state')
})

test('an authorisation in the transaction of somebody else uses a nonce too', async () => {
  const [authority, other] = [generatePrivateKey(), generatePrivateKey()].map((key) =>
    privateKeyToAccount(key),
  )
  /** The key of Anvil's first account, known to everybody. */
  const payer = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
  assert.ok(authority && other)
  const grants = []
  for (const account of [other, authority])
    grants.push(
      await account.signAuthorization({ contractAddress: payer.address, chainId: 31_337, nonce: 0 }),
    )
  const hash = await anvil.rpc('eth_sendRawTransaction', [
    await payer.signTransaction({
      ...{ chainId: 31_337, type: 'eip7702', to: payer.address, nonce: 0, gas: 200_000n },
      ...{ maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n, authorizationList: grants },
    }),
  ])
  await anvil.mine()
  const height = await anvil.height()
  await anvil.mine(9)
  const found = await chain.findNonceUse?.(authority.address, 0n, height + 9)
  assert.ok(found?.kind === 'used')
  assert.deepEqual([found.txid, found.block.height], [hash, height])
  assert.deepEqual(await chain.findNonceUse?.(authority.address, 0n, height - 1), { kind: 'unused' })
  assert.deepEqual(await chain.findNonceUse?.(authority.address, 1n, height + 9), { kind: 'unused' })
  assert.deepEqual(
    await findNonceUse(withNonsenseBefore(), authority.address, 0n, height + 9),
    found,
    'whatever else a block holds in place of authorisations',
  )
  await chain.close()
})

const HUGE = `0x${'f'.repeat(64)}`
const GRANT = {
  chainId: '0x7a69',
  address: `0x${'22'.repeat(20)}`,
  nonce: '0x0',
  r: '0x1',
  s: '0x1',
  yParity: '0x0',
}
/** Each alone is what blocks can hold: nobody checks an authorisation before its transaction is taken in. */
const NONSENSE = [
  ...['chainId', 'r', 's', 'yParity'].map((field) => ({ ...GRANT, [field]: HUGE })),
  ...['r', 's'].map((field) => ({ ...GRANT, [field]: '0x0' })),
  ...Object.keys(GRANT).map((field) => ({ ...GRANT, [field]: null })),
]

/** The node as if every transaction that authorises had others' nonsense before that. */
function withNonsenseBefore(): Rpc {
  const node = remembering(0)
  return {
    ...node,
    async call(method, params) {
      const answer = await node.call(method, params)
      if (method !== 'eth_getBlockByNumber') return answer
      const block = answer as { transactions: { authorizationList?: unknown[] }[] }
      for (const transaction of block.transactions) transaction.authorizationList?.unshift(...NONSENSE)
      return block
    },
  }
}

/** The node as if it kept no state below a height. */
function remembering(since: number, message = 'missing trie node'): Rpc {
  const call = (method: string, params: readonly unknown[] = []) => anvil.rpc(method, params)
  return {
    call,
    batch: (calls) =>
      Promise.all(
        calls.map(async ({ method, params = [] }) =>
          method === 'eth_getTransactionCount' && Number(params[1]) < since
            ? { error: new NodeError('a node', method, -32_000, message, false) }
            : { result: await call(method, params) },
        ),
      ),
    close() {},
  }
}
