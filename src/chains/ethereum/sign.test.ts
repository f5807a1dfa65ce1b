import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeFunctionData, erc20Abi, parseTransaction, recoverTransactionAddress } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { recoverAuthorizationAddress } from 'viem/utils'
import { delegateAddress, signAgain, signSweepBatch, signTransfer, type Transfer } from './sign.ts'

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

const DEPOSIT_KEY = Buffer.from('59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d', 'hex')
const batch = {
  chainId: 1,
  nonce: 9n,
  gasLimit: 300_000n,
  maxFeeWei: 30_000_000_000n,
  priorityFeeWei: 1_000_000_000n,
  treasury: SENDER,
  accounts: [
    { account: TO, token: USDC, authorization: { nonce: 3n, privateKey: DEPOSIT_KEY } },
    { account: SENDER, token: USDC, authorization: null },
  ],
}

test('EIP-7702: a batch authorises our delegate alone, by the address, its nonce and on this chain', async () => {
  const { raw } = await signSweepBatch(batch, KEY)
  const read = parseTransaction(raw as `0x04${string}`)
  assert.equal(read.type, 'eip7702')
  assert.equal(read.to?.toLowerCase(), delegateAddress(SENDER).toLowerCase())
  assert.equal(read.value ?? 0n, 0n)
  const [authorization, ...others] = read.authorizationList ?? []
  assert.ok(authorization && others.length === 0)
  assert.equal(authorization.address.toLowerCase(), delegateAddress(SENDER).toLowerCase())
  assert.deepEqual([authorization.chainId, authorization.nonce], [1, 3])
  assert.equal(await recoverAuthorizationAddress({ authorization }), TO)
})

test('a delegate stands at another address for each treasury', () => {
  assert.notEqual(delegateAddress(SENDER), delegateAddress(TO))
})

test('the same bytes at a higher price change nothing else', async () => {
  const price = { maxFeeWei: 60_000_000_000n, priorityFeeWei: 2_000_000_000n }
  for (const { raw } of [await signSweepBatch(batch, KEY), await signTransfer(ether, KEY)]) {
    const again = await signAgain(raw, price, KEY)
    const [before, after] = [raw, again.raw].map((each) => parseTransaction(each as `0x02${string}`))
    assert.ok(before && after)
    const { maxFeePerGas, maxPriorityFeePerGas, r: _r, s: _s, v: _v, yParity: _y, ...rest } = after
    assert.deepEqual([maxFeePerGas, maxPriorityFeePerGas], [price.maxFeeWei, price.priorityFeeWei])
    const { maxFeePerGas: _m, maxPriorityFeePerGas: _p, r: _1, s: _2, v: _3, yParity: _4, ...same } = before
    assert.deepEqual(rest, same)
    assert.equal(
      await recoverTransactionAddress({ serializedTransaction: again.raw as `0x02${string}` }),
      SENDER,
    )
  }
})
