import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import fc from 'fast-check'
import { InvariantBroken } from './errors.ts'
import { openSecrets, readSecretKey } from './secrets.ts'

const KEY = Buffer.alloc(32, 7)
const secrets = openSecrets(KEY)
const bytes = fc.uint8Array({ maxLength: 200 })
const parts = fc.array(fc.string(), { maxLength: 4 })

test('a sealed value opens for its purpose and its owner under its key, and for nothing else', () => {
  fc.assert(
    fc.property(bytes, (plaintext) => {
      const sealed = secrets.seal('webhook-secret', 'whk_1', plaintext)
      assert.deepEqual(new Uint8Array(secrets.open('webhook-secret', 'whk_1', sealed)), plaintext)
      assert.throws(() => secrets.open('answer', 'whk_1', sealed), InvariantBroken)
      assert.throws(() => secrets.open('webhook-secret', 'whk_2', sealed), InvariantBroken)
      assert.throws(
        () => openSecrets(randomBytes(32)).open('webhook-secret', 'whk_1', sealed),
        InvariantBroken,
      )
    }),
  )
})

test('a sealed value of which one bit was changed, or a part cut off, does not open', () => {
  const sealed = secrets.seal('answer', 'one', Buffer.from('a secret that is shown once'))
  fc.assert(
    fc.property(fc.nat(sealed.length - 1), fc.nat(7), (at, bit) => {
      const changed = Buffer.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ (1 << bit)
      assert.throws(() => secrets.open('answer', 'one', changed), InvariantBroken)
      assert.throws(() => secrets.open('answer', 'one', sealed.subarray(0, at)), InvariantBroken)
    }),
  )
})

test('a value that is sealed twice looks different, and shows nothing of what it holds', () => {
  const plaintext = Buffer.from('a secret that is shown once')
  const [one, other] = [secrets.seal('answer', 'one', plaintext), secrets.seal('answer', 'one', plaintext)]
  assert.ok(!one.equals(other))
  assert.ok(!one.includes(plaintext))
})

test('a MAC holds for its parts in their order and for its purpose, under its key', () => {
  fc.assert(
    fc.property(parts, parts, (given, other) => {
      const mac = secrets.mac('withdrawal', given)
      const isSame = JSON.stringify(given) === JSON.stringify(other)
      assert.equal(secrets.isMac(mac, 'withdrawal', other), isSame)
      assert.equal(secrets.isMac(mac, 'address', given), false)
      assert.equal(openSecrets(Buffer.alloc(32, 8)).isMac(mac, 'withdrawal', given), false)
      assert.equal(secrets.isMac(mac.subarray(1), 'withdrawal', given), false)
    }),
  )
})

test('no two lists of parts read alike, and text counts as its bytes', () => {
  const mac = (...of: (string | Uint8Array)[]) => secrets.mac('withdrawal', of).toString('hex')
  assert.equal(new Set([mac('ab', 'c'), mac('a', 'bc'), mac('abc'), mac('abc', ''), mac('', 'abc')]).size, 5)
  assert.equal(mac('ü'), mac(Buffer.from('ü')))
})

test('the operator’s key is 32 bytes in hexadecimal or base64, and anything else is refused', () => {
  assert.deepEqual(readSecretKey(KEY.toString('hex')), KEY)
  assert.deepEqual(readSecretKey(KEY.toString('hex').toUpperCase()), KEY)
  assert.deepEqual(readSecretKey(KEY.toString('base64')), KEY)
  for (const wrong of [
    '',
    'correct horse',
    '07'.repeat(31),
    '07'.repeat(33),
    Buffer.alloc(31).toString('base64'),
  ])
    assert.throws(() => readSecretKey(wrong), RangeError)
  assert.throws(() => openSecrets(Buffer.alloc(16)), RangeError)
})
