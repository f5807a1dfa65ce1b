/** https://github.com/bitcoin/bips/blob/master/bip-0032.mediawiki#test-vectors, the public side. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { readAccountKey } from './derivation.ts'

// Test vector 1: m/0'/1/2' is at account depth, m/0'/1/2'/2 is its child.
const ACCOUNT =
  'xpub6D4BDPcP2GT577Vvch3R8wDkScZWzQzMMUm3PWbmWvVJrZwQY4VUNgqFJPMM3No2dFDFGTsxxpG5uJh7n7epu4trkrX7x7DogT5Uv6fcLW5'
const CHILD_2 =
  'xpub6FHa3pjLCk84BayeJxFW2SP4XRrFd1JYnxeLeU8EqN3vDfZmbqBqaGJAyiLjTAwm6ZLRQUMv1ZACTj37sR62cfN7fe5JnJ7dh8zL4fiyLHV'

test('BIP-32 test vector 1: the public child of the account key is the published one', () => {
  assert.equal(HDKey.fromExtendedKey(ACCOUNT).deriveChild(2).publicExtendedKey, CHILD_2)
  const fingerprint = readAccountKey('bitcoin', 'mainnet', ACCOUNT).fingerprint
  assert.equal(fingerprint, HDKey.fromExtendedKey(CHILD_2).parentFingerprint.toString(16).padStart(8, '0'))
})

test('a key that is not an account xpub is refused with the reason', () => {
  assert.throws(() => readAccountKey('bitcoin', 'mainnet', CHILD_2), /depth 3/)
  assert.throws(() => readAccountKey('bitcoin', 'mainnet', 'xpub'), /base58 extended public key/)
  assert.throws(() => readAccountKey('bitcoin', 'mainnet', `${ACCOUNT.slice(0, -1)}6`), /extended public key/)
  const secret =
    'xprvA2JDeKCSNNZky6uBCviVfJSKyQ1mDYahRjijr5idH2WwLsEd4Hsb2Tyh8RfQMuPh7f7RtyzTtdrbdqqsunu5Mm3wDvUAKRHSC34sJ7in334'
  assert.throws(() => readAccountKey('bitcoin', 'mainnet', secret), /extended public key/)
})
