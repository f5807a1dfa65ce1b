import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SigHash, Transaction } from '@scure/btc-signer'
import { hash160, pubECDSA } from '@scure/btc-signer/utils.js'
import fc from 'fast-check'
import { WholeTransaction } from './whole-transaction.ts'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })

const inputs = fc.array(
  fc.record({
    txid: bytes(32),
    index: fc.integer({ min: 0, max: 0xffffffff }),
    atoms: fc.bigInt(1_000_000n, 21n * 10n ** 14n),
    sequence: fc.constantFrom(0xfffffffd, 0xffffffff, 0),
    // 32 of 255 are above the order of the curve.
    key: fc.integer({ min: 1, max: 254 }),
  }),
  { minLength: 1, maxLength: 4 },
)
const outputs = fc.array(
  fc.record({ script: fc.constantFrom(22, 34).map(scriptOf), atoms: fc.bigInt(0n, 1_000n) }),
  { minLength: 1, maxLength: 300 },
)

/** Of P2WPKH, or P2WSH. */
function scriptOf(length: number): Uint8Array {
  return Uint8Array.of(0, length - 2, ...new Uint8Array(length - 2).fill(7))
}

type Sends = Parameters<typeof sign>[1]

function sign(
  transaction: Transaction,
  spends: readonly { txid: Uint8Array; index: number; atoms: bigint; sequence: number; key: number }[],
  pays: readonly { script: Uint8Array; atoms: bigint }[],
  hashType: SigHash,
): string {
  const keys = spends.map(({ key }) => new Uint8Array(32).fill(key))
  for (const [at, { txid, index, atoms, sequence }] of spends.entries()) {
    const script = Uint8Array.of(0, 20, ...hash160(pubECDSA(keys[at] ?? new Uint8Array())))
    transaction.addInput({
      txid,
      index,
      sequence,
      sighashType: hashType,
      witnessUtxo: { script, amount: atoms },
    })
  }
  for (const { script, atoms } of pays) transaction.addOutput({ script, amount: atoms })
  for (const [at, key] of keys.entries()) transaction.signIdx(key, at, [hashType])
  transaction.finalize()
  return transaction.hex
}

const distinct = (spends: Sends) => new Set(spends.map(({ txid }) => txid.join())).size === spends.length

test('what is signed is byte for byte what the library signs by itself', () => {
  const options = { allowUnknownOutputs: true, lowR: true }
  fc.assert(
    fc.property(
      inputs.filter(distinct),
      outputs,
      fc.constantFrom(SigHash.ALL, SigHash.ALL, SigHash.NONE, SigHash.ALL_ANYONECANPAY),
      (spends, pays, hashType) => {
        const ours = sign(new WholeTransaction(options), spends, pays, hashType)
        assert.equal(ours, sign(new Transaction(options), spends, pays, hashType))
      },
    ),
    { numRuns: 60 },
  )
})

test('nothing is added to it once an input is signed', () => {
  const transaction = new WholeTransaction({ allowUnknownOutputs: true })
  sign(
    transaction,
    [{ txid: new Uint8Array(32), index: 0, atoms: 10_000n, sequence: 0, key: 1 }],
    [{ script: scriptOf(22), atoms: 1_000n }],
    SigHash.ALL,
  )
  assert.throws(() => transaction.addOutput({ script: scriptOf(22), amount: 1n }))
  assert.throws(() => transaction.addInput({ txid: new Uint8Array(32).fill(1), index: 0 }))
  assert.throws(() => transaction.updateOutput(0, { amount: 1n }))
})
