import assert from 'node:assert/strict'
import { ECDH } from 'node:crypto'
import { test } from 'node:test'
import { HDKey } from '@scure/bip32'
import fc from 'fast-check'
import { deriveChildren } from './public-children.ts'

const parentOf = (key: HDKey) => {
  const { publicKey, chainCode } = HDKey.fromExtendedKey(key.publicExtendedKey)
  assert.ok(publicKey && chainCode)
  return { publicKey, chainCode }
}

/** By OpenSSL. */
const lifted = (compressed: Buffer) => {
  const uncompressed = ECDH.convertKey(compressed, 'secp256k1', undefined, undefined, 'uncompressed')
  assert.ok(typeof uncompressed !== 'string')
  return uncompressed.subarray(1)
}

test('BIP-32 test vector 2: M/0 of its master key', () => {
  const seed =
    'fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a29f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542'
  const master = HDKey.fromMasterSeed(Buffer.from(seed, 'hex'))
  const child = HDKey.fromExtendedKey(
    'xpub69H7F5d8KSRgmmdJg2KhpAK8SR3DjMwAdkxj3ZuxV27CprR9LgpeyGmXUbC6wb7ERfvrnKZjXoUmmDznezpbZb7ap6r1D3tgFxHmwMkQTPH',
  )
  const [derived] = deriveChildren(parentOf(master), [0])
  assert.deepEqual(derived?.compressed(), Buffer.from(child.publicKey ?? []))
})

test('every child is the one that the library derives, whatever the parent, the index and the size of the batch', () => {
  const index = fc.oneof(fc.integer({ min: 0, max: 2 ** 31 - 1 }), fc.constantFrom(0, 1, 2 ** 31 - 1))
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.uniqueArray(index, { minLength: 1, maxLength: 12 }),
      (seed, indexes) => {
        const key = HDKey.fromMasterSeed(seed)
        const expected = indexes.map((each) => Buffer.from(key.deriveChild(each).publicKey ?? []))
        const derived = deriveChildren(parentOf(key), indexes)
        assert.deepEqual(
          derived.map((each) => each.compressed()),
          expected,
        )
        for (const each of derived) assert.deepEqual(each.coordinates(), lifted(each.compressed()))
      },
    ),
    { numRuns: 60 },
  )
})

test('an index that has no public child is refused', () => {
  const parent = parentOf(HDKey.fromMasterSeed(new Uint8Array(32).fill(9)))
  for (const index of [-1, 0.5, 2 ** 31]) assert.throws(() => deriveChildren(parent, [index]), RangeError)
})
