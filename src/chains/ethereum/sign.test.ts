import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  bytesToHex,
  decodeFunctionData,
  encodeFunctionData,
  erc20Abi,
  parseAbi,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerializableEIP1559,
  type TransactionSerializableEIP7702,
} from 'viem'
import { privateKeyToAccount, privateKeyToAddress } from 'viem/accounts'
import { keccak256, recoverAuthorizationAddress } from 'viem/utils'
import { DEPLOYER, delegateCreation } from './delegate.ts'
import {
  delegateAddress,
  type Envelope,
  type Signed,
  signAgain,
  signDelegateCreation,
  signSweepBatch,
  signTransfer,
  type Transfer,
} from './sign.ts'

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
  const { raw, txid } = signTransfer(ether, KEY)
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
  const { raw } = signTransfer({ ...ether, asset: 'USDC', contract: USDC, atoms: 5n }, KEY)
  const read = parseTransaction(raw as `0x02${string}`)
  assert.equal(read.to?.toLowerCase(), USDC.toLowerCase())
  assert.equal(read.value ?? 0n, 0n)
  assert.deepEqual(decodeFunctionData({ abi: erc20Abi, data: read.data ?? '0x' }), {
    functionName: 'transfer',
    args: [TO, 5n],
  })
})

test('a token without its contract, and ether with one, are refused', async () => {
  assert.throws(() => signTransfer({ ...ether, contract: USDC }, KEY), RangeError)
  assert.throws(() => signTransfer({ ...ether, asset: 'USDT' }, KEY), RangeError)
})

test('an address whose checksum does not hold is sent nothing', () => {
  const wrong = TO.replace('C5', 'c5')
  assert.throws(() => signTransfer({ ...ether, to: wrong }, KEY), /checksum/)
  const token = { ...ether, asset: 'USDC', contract: USDC, atoms: 5n } as const
  assert.throws(() => signTransfer({ ...token, to: wrong }, KEY), /checksum/)
  assert.throws(() => signTransfer({ ...token, contract: USDC.replace('A0b', 'a0b') }, KEY), /checksum/)
  assert.deepEqual(signTransfer({ ...ether, to: TO.toLowerCase() }, KEY), signTransfer(ether, KEY))
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
  const { raw } = signSweepBatch(batch, KEY)
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
  for (const { raw } of [signSweepBatch(batch, KEY), signTransfer(ether, KEY)]) {
    const again = signAgain(raw, price, KEY)
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

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const address = bytes(20).map((each) => bytesToHex(each))
const privateKey = bytes(32).filter((key) => key[0] !== 0xff && key.some((byte) => byte !== 0))
const envelope = fc.record({
  chainId: fc.integer({ min: 1, max: 2 ** 32 }),
  nonce: fc.bigInt(0n, 2n ** 32n),
  gasLimit: fc.bigInt(21_000n, 2n ** 32n),
  maxFeeWei: fc.bigInt(2n ** 32n, 2n ** 48n),
  priorityFeeWei: fc.bigInt(0n, 2n ** 32n),
})

/** Signs what is expected with the other library, and holds our bytes and hash against it. */
async function signedByBoth(
  key: Uint8Array,
  signed: Signed,
  price: Pick<Envelope, 'maxFeeWei' | 'priorityFeeWei'>,
  expected: TransactionSerializableEIP1559 | TransactionSerializableEIP7702,
): Promise<Signed> {
  const raw = await privateKeyToAccount(bytesToHex(key)).signTransaction({
    ...expected,
    maxFeePerGas: price.maxFeeWei,
    maxPriorityFeePerGas: price.priorityFeeWei,
  })
  assert.deepEqual(signed, { raw, txid: keccak256(raw) })
  return signed
}

const SWEEP_ABI = parseAbi(['function sweepAll((address account, address token)[] sweeps)'])

test('another library signs the same bytes, whatever is sent, with whichever key', async () => {
  await fc.assert(
    fc.asyncProperty(
      envelope,
      privateKey,
      address,
      fc.option(address),
      fc.bigInt(0n, 2n ** 96n),
      fc.bigInt(2n ** 48n, 2n ** 49n),
      async (order, key, to, contract, atoms, maxFeeWei) => {
        const signed = signTransfer({ ...order, asset: contract ? 'USDC' : 'ETH', contract, to, atoms }, key)
        const { chainId, nonce, gasLimit } = order
        const expected = {
          type: 'eip1559',
          chainId,
          nonce: Number(nonce),
          gas: gasLimit,
          ...(contract
            ? {
                to: contract,
                data: encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, atoms] }),
              }
            : { to, value: atoms }),
        } as const
        const { raw } = await signedByBoth(key, signed, order, expected)
        const again = { maxFeeWei, priorityFeeWei: order.priorityFeeWei + 1n }
        await signedByBoth(key, signAgain(raw, again, key), again, expected)
      },
    ),
    { numRuns: 100 },
  )
})

test('another library signs the same batch, with the same authorisations', async () => {
  const part = fc.record({ key: privateKey, token: address, nonce: fc.option(fc.bigInt(0n, 2n ** 32n)) })
  await fc.assert(
    fc.asyncProperty(
      envelope,
      privateKey,
      fc.array(part, { minLength: 1, maxLength: 5 }),
      fc.bigInt(2n ** 48n, 2n ** 49n),
      async (order, key, parts, maxFeeWei) => {
        const account = privateKeyToAccount(bytesToHex(key))
        const sweeps = parts.map(({ key: swept, token }) => ({
          account: privateKeyToAddress(bytesToHex(swept)),
          token,
        }))
        const signed = signSweepBatch(
          {
            ...order,
            treasury: account.address,
            accounts: parts.map(({ key: swept, nonce }, at) => ({
              ...(sweeps[at] ?? assert.fail()),
              authorization: nonce === null ? null : { nonce, privateKey: swept },
            })),
          },
          key,
        )
        const { chainId, nonce, gasLimit } = order
        const delegate = delegateAddress(account.address)
        const authorizationList = []
        for (const { key: swept, nonce: granted } of parts)
          if (granted !== null)
            authorizationList.push(
              await privateKeyToAccount(bytesToHex(swept)).signAuthorization({
                chainId,
                address: delegate,
                nonce: Number(granted),
              }),
            )
        const expected = {
          chainId,
          nonce: Number(nonce),
          gas: gasLimit,
          to: delegate,
          data: encodeFunctionData({ abi: SWEEP_ABI, functionName: 'sweepAll', args: [sweeps] }),
          ...(authorizationList.length > 0
            ? ({ type: 'eip7702', authorizationList } as const)
            : ({ type: 'eip1559' } as const)),
        }
        const { raw } = await signedByBoth(key, signed, order, expected)
        const again = { maxFeeWei, priorityFeeWei: order.priorityFeeWei + 1n }
        await signedByBoth(key, signAgain(raw, again, key), again, expected)
      },
    ),
    { numRuns: 50 },
  )
})

test('another library signs the same deployment', async () => {
  await fc.assert(
    fc.asyncProperty(envelope, privateKey, async (order, key) => {
      const account = privateKeyToAccount(bytesToHex(key))
      const { chainId, nonce, gasLimit } = order
      await signedByBoth(key, signDelegateCreation({ ...order, treasury: account.address }, key), order, {
        type: 'eip1559',
        chainId,
        nonce: Number(nonce),
        gas: gasLimit,
        to: DEPLOYER,
        data: delegateCreation(account.address),
      })
    }),
    { numRuns: 25 },
  )
})
