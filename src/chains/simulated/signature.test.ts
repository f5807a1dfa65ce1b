/** BIP-143's own example of a native P2WPKH input, and what is not a signature of it. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Transaction } from '@scure/btc-signer'
import type { Output } from '../chain.ts'
import { judgeOfInputs } from './signature.ts'

/** Its first input is of an older kind; the second spends 6 BTC of the key's. */
const RAW =
  '01000000000102fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f00000000494830450221008b9d1dc26ba6a9cb62127b02742fa9d754cd3bebf337f7a55d114c8e5cdd30be022040529b194ba3f9281a99f2b1c0a19c0489bc22ede944ccf4ecbab4cc618ef3ed01eeffffffef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb206000000001976a9148280b37df378db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac000247304402203609e17b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7f01cc44a0220573a954c4518331561406f90300e8f3358f51928d43c212a8caed02de67eebee0121025476c2e83188368da1ff3e292e7acafcdb3566bb0ad253f62fc70f07aeee635711000000'
const SPENT: Output = {
  lookup: Buffer.from('00141d0f172a0ecb48aee1be1f2687d2963ae33f71a1', 'hex'),
  index: 1,
  asset: 'BTC',
  atoms: 600_000_000n,
}

const judge = (raw: string, spent: Output = SPENT): boolean =>
  judgeOfInputs(Transaction.fromRaw(Buffer.from(raw, 'hex'), { disableScriptCheck: true }))(1, spent)
/** One of its bytes is another one. */
const changed = (part: string, to: string): string => {
  assert.equal(RAW.split(part).length, 2, `${part} is there once`)
  return RAW.replace(part, to)
}

test('BIP-143, native P2WPKH: the signature holds', () => {
  assert.equal(judge(RAW), true)
})

for (const [what, raw] of [
  ['another output', changed('202cb20600000000', '212cb20600000000')],
  ['another script of an output', changed('3bde42dbee7e', '3bde42dbee7f')],
  ['another outpoint', changed('8a01000000', '8a00000000')],
  ['another outpoint of the other input', changed('969f00000000', '969f01000000')],
  ['another sequence', changed('00ffffffff02', '00fdffffff02')],
  ['another sequence of the other input', changed('eeffffffef', 'edffffffef')],
  ['another lock time', changed('635711000000', '635712000000')],
  ['another version', `02${RAW.slice(2)}`],
  ['another kind of signature', changed('eebee0121', 'eebee0221')],
  ['another number', changed('3609e17b', '3609e17c')],
  ['numbers that are none', changed('4730440220', '4730450220')],
] as const)
  test(`a signature does not hold for ${what}`, () => {
    assert.equal(judge(raw), false)
  })

test('a signature does not hold for another amount, nor another owner', () => {
  assert.equal(judge(RAW, { ...SPENT, atoms: SPENT.atoms + 1n }), false)
  const lookup = Buffer.from(SPENT.lookup)
  lookup[21] = 0
  assert.equal(judge(RAW, { ...SPENT, lookup }), false)
})
