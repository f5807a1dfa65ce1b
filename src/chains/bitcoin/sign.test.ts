import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Transaction } from '@scure/btc-signer'
import fc from 'fast-check'
import { testAccountKey } from '../../../test/wallet.ts'
import { vbytesOf } from '../../core/vbytes.ts'
import { signOutputs } from './sign.ts'

const branch = testAccountKey('bitcoin').deriveChild(0)

function utxo(position: number, atoms: bigint) {
  const { privateKey, pubKeyHash } = branch.deriveChild(position)
  assert.ok(privateKey && pubKeyHash)
  const script = Uint8Array.of(0x00, 0x14, ...pubKeyHash)
  return { txid: position.toString(16).padStart(64, 'a'), index: position, atoms, script, privateKey }
}

const scripts = fc.constantFrom(
  Uint8Array.of(0x00, 0x14, ...new Uint8Array(20).fill(3)),
  Uint8Array.of(0x00, 0x20, ...new Uint8Array(32).fill(4)),
  // A taproot output (BIP-341): any x coordinate.
  Uint8Array.of(
    0x51,
    0x20,
    ...Buffer.from('79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798', 'hex'),
  ),
  Uint8Array.of(0x76, 0xa9, 0x14, ...new Uint8Array(20).fill(5), 0x88, 0xac),
  Uint8Array.of(0xa9, 0x14, ...new Uint8Array(20).fill(6), 0x87),
)

test('what is signed spends and pays exactly what was asked for, in no more bytes than estimated', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.record({ script: scripts, atoms: fc.bigInt(546n, 1_000_000n) }), {
        minLength: 1,
        maxLength: 6,
      }),
      (inputCount, outputs) => {
        const inputs = Array.from({ length: inputCount }, (_, position) => utxo(position, 10_000_000n))
        const signed = signOutputs(inputs, outputs)
        const estimate = vbytesOf(
          inputCount,
          outputs.map(({ script }) => script.length),
        )
        assert.ok(
          signed.vbytes <= estimate && estimate - signed.vbytes <= inputCount,
          `${estimate} ${signed.vbytes}`,
        )
        const read = Transaction.fromRaw(Buffer.from(signed.raw, 'hex'), {
          allowUnknownOutputs: true,
          disableScriptCheck: true,
        })
        assert.equal(read.id, signed.txid)
        assert.equal(read.inputsLength, inputCount)
        assert.equal(read.getInput(0).sequence, 0xfffffffd)
        for (const [index, { script, atoms }] of outputs.entries()) {
          assert.deepEqual(read.getOutput(index).script, script)
          assert.equal(read.getOutput(index).amount, atoms)
        }
      },
    ),
    { numRuns: 25 },
  )
})

test('nothing is signed for a coin of somebody else, or beyond what the inputs hold', () => {
  const out = { script: utxo(9, 1n).script, atoms: 1_000n }
  const foreign = { ...utxo(1, 5_000n), privateKey: utxo(2, 1n).privateKey }
  assert.throws(() => signOutputs([foreign], [out]))
  assert.throws(() => signOutputs([utxo(1, 1_000n)], [out]), RangeError)
  assert.throws(() => signOutputs([], [out]), RangeError)
})

test('BIP-143: the published P2WPKH example has the published digest', () => {
  // The example's second input; its first one is legacy P2PK, which is never ours.
  const transaction = Transaction.fromRaw(
    Buffer.from(
      '0100000002fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f0000000000eeffffffef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb206000000001976a9148280b37df378db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac11000000',
      'hex',
    ),
    { allowUnknownInputs: true },
  )
  const code = Buffer.from('76a9141d0f172a0ecb48aee1be1f2687d2963ae33f71a188ac', 'hex')
  const digest = transaction.preimageWitnessV0(1, code, 1, 600_000_000n)
  assert.equal(
    Buffer.from(digest).toString('hex'),
    'c37af31116d1b27caf68aae9e3ac82f1477929014d5b917657d0eb49478cb670',
  )
})
