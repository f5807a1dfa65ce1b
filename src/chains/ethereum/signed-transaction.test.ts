import assert from 'node:assert/strict'
import { test } from 'node:test'
import { concatHex, fromRlp, type Hex, toRlp } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { readSignedTransaction, senderOf } from './signed-transaction.ts'

const account = privateKeyToAccount(`0x${'ab'.repeat(32)}`)
const other = privateKeyToAccount(`0x${'cd'.repeat(32)}`)
const said = {
  chainId: 1,
  nonce: 0,
  to: other.address,
  value: 5n,
  gas: 21_000n,
  maxFeePerGas: 10n,
  maxPriorityFeePerGas: 1n,
}
const transfer = await account.signTransaction({ ...said, type: 'eip1559' })
const batch = await account.signTransaction({
  ...said,
  type: 'eip7702',
  authorizationList: [await other.signAuthorization({ chainId: 1, address: account.address, nonce: 0 })],
})

type Fields = (Hex | Fields)[]

/** The same transaction with a field of its list written in another way. */
function rewritten(raw: Hex, field: number, write: (value: Fields[number]) => Fields[number]): Hex {
  const fields = fromRlp(`0x${raw.slice(4)}`) as Fields
  return concatHex([
    raw.slice(0, 4) as Hex,
    toRlp(fields.map((value, at) => (at === field ? write(value) : value))),
  ])
}

test('who signed it is told, in whichever case it is written', () => {
  for (const raw of [transfer, batch]) {
    assert.equal(senderOf(readSignedTransaction(raw)), account.address.toLowerCase())
    const upper = `0x${raw.slice(2).toUpperCase()}` as const
    assert.equal(senderOf(readSignedTransaction(upper)), account.address.toLowerCase())
  }
})

test('one signature has one hash: what says the same in other bytes is refused', () => {
  const [nonce, chainId] = [1, 0]
  for (const [raw, r] of [
    [transfer, 10],
    [batch, 11],
  ] as const) {
    assert.deepEqual(readSignedTransaction(rewritten(raw, r, (value) => value)), readSignedTransaction(raw))
    for (const twin of [
      concatHex([raw, '0x00']),
      rewritten(raw, r, (value) => concatHex(['0x00', value as Hex])),
      rewritten(raw, r, (value) => [value]),
      rewritten(raw, nonce, () => '0x00'),
      rewritten(raw, chainId, (value) => [value]),
      raw.slice(0, -2) as Hex,
    ])
      assert.throws(() => readSignedTransaction(twin), twin)
  }
  assert.throws(() => readSignedTransaction(rewritten(batch, 9, () => '0x')), RangeError)
})

test('a transaction of another type, and one that nobody signed, are told apart from ours', async () => {
  const { maxFeePerGas: gasPrice, maxPriorityFeePerGas: _, ...of } = said
  for (const type of ['legacy', 'eip2930'] as const) {
    const raw = await account.signTransaction({ ...of, gasPrice, type })
    assert.throws(() => readSignedTransaction(raw), /none of ours/)
  }
  const { r: _r, s: _s, yParity: _y, ...unsigned } = readSignedTransaction(transfer)
  assert.throws(() => senderOf(unsigned), /not signed/)
})
