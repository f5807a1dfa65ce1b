import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeFunctionData, erc20Abi, parseTransaction, recoverTransactionAddress } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { signTransfer, type Transfer } from './sign.ts'

const KEY = Buffer.from('ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80', 'hex')
const SENDER = privateKeyToAddress(`0x${KEY.toString('hex')}`)
const TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'

const ether: Transfer = {
  chainId: 1,
  nonce: 7n,
  asset: 'ETH',
  contract: null,
  to: TO,
  atoms: 123_456_789_012_345_678n,
  gasLimit: 50_000n,
  maxFeeWei: 30_000_000_000n,
  priorityFeeWei: 1_000_000_000n,
}

test('EIP-1559: ether goes to its receiver, from the key, on this chain alone', async () => {
  const { raw, txid } = await signTransfer(ether, KEY)
  const serialized = raw as `0x02${string}`
  const read = parseTransaction(serialized)
  assert.equal(read.type, 'eip1559')
  assert.equal(read.chainId, 1)
  assert.equal(read.nonce, 7)
  assert.equal(read.to?.toLowerCase(), TO.toLowerCase())
  assert.equal(read.value, ether.atoms)
  assert.equal(read.gas, 50_000n)
  assert.equal(read.maxFeePerGas, 30_000_000_000n)
  assert.equal(await recoverTransactionAddress({ serializedTransaction: serialized }), SENDER)
  assert.match(txid, /^0x[0-9a-f]{64}$/)
})

test('ERC-20: tokens go by their contract, without ether', async () => {
  const { raw } = await signTransfer({ ...ether, asset: 'USDC', contract: USDC, atoms: 5n }, KEY)
  const read = parseTransaction(raw as `0x02${string}`)
  assert.equal(read.to?.toLowerCase(), USDC.toLowerCase())
  assert.equal(read.value ?? 0n, 0n)
  assert.deepEqual(decodeFunctionData({ abi: erc20Abi, data: read.data ?? '0x' }), {
    functionName: 'transfer',
    args: [TO, 5n],
  })
})

test('a token without its contract, and ether with one, are refused', async () => {
  await assert.rejects(signTransfer({ ...ether, contract: USDC }, KEY), RangeError)
  await assert.rejects(signTransfer({ ...ether, asset: 'USDT' }, KEY), RangeError)
})
