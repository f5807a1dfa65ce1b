import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { createKeystore, entropyOf, newEntropy, openKeystore, rootOf, wordsOf } from './keystore.ts'

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'beck-keystore-'))
})
after(() => rm(folder, { recursive: true, force: true }))

const PASSPHRASE = Buffer.from('correct horse battery')

test('a keystore opens with its passphrase, and its file says nothing without it', async () => {
  const path = join(folder, 'new', 'keystore.json')
  const entropy = newEntropy()
  await createKeystore(path, entropy, PASSPHRASE)
  assert.deepEqual(await openKeystore(path, PASSPHRASE), entropy)
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  const text = await readFile(path, 'utf8')
  assert.ok(!text.includes(entropy.toString('hex')) && !text.includes(entropy.toString('base64')))
  await assert.rejects(openKeystore(path, Buffer.from(`${PASSPHRASE}!`)), { reason: 'wrong_passphrase' })
  await assert.rejects(createKeystore(path, newEntropy(), PASSPHRASE), { reason: 'keystore_exists' })
  assert.deepEqual(await openKeystore(path, PASSPHRASE), entropy)
})

test('letters with accents open a keystore however they were written, as text or as bytes of either form', async () => {
  const path = join(folder, 'accents.json')
  const entropy = newEntropy()
  const composed = 'm\u00fcde Pferde \u00e9t\u00e9'
  await createKeystore(path, entropy, Buffer.from(composed))
  assert.deepEqual(await openKeystore(path, Buffer.from(composed.normalize('NFD'))), entropy)
})

test('a damaged keystore and a weak passphrase are refused; no keystore is null', async () => {
  const path = join(folder, 'damaged.json')
  await createKeystore(path, newEntropy(), PASSPHRASE)
  const file = JSON.parse(await readFile(path, 'utf8'))
  const sealed = Buffer.from(file.sealed, 'base64')
  sealed[3] = (sealed[3] ?? 0) ^ 1
  await writeFile(path, JSON.stringify({ ...file, sealed: sealed.toString('base64') }))
  await assert.rejects(openKeystore(path, PASSPHRASE), { reason: 'wrong_passphrase' })
  await writeFile(path, 'not json')
  await assert.rejects(openKeystore(path, PASSPHRASE), { reason: 'wrong_passphrase' })
  await assert.rejects(createKeystore(join(folder, 'weak.json'), newEntropy(), Buffer.from('short')), {
    reason: 'weak_passphrase',
  })
  assert.equal(await openKeystore(join(folder, 'none.json'), PASSPHRASE), null)
})

test('BIP-39: 256 zero bits are the published words, and these give the published seed', async () => {
  const words = wordsOf(Buffer.alloc(32))
  assert.equal(words, `${'abandon '.repeat(23)}art`)
  const seed =
    '408b285c123836004f4b8842c89324c1f01382450c0d439af345ba7fc49acf705489c6fc77dbd4e3dc1dd8cc6bc9f043db8ada1e243c4a0eafb290d399480840'
  const expected = HDKey.fromMasterSeed(Buffer.from(seed, 'hex'))
  assert.equal((await rootOf(Buffer.alloc(32))).publicExtendedKey, expected.publicExtendedKey)
})

test('words restore the entropy whatever their spacing and case; wrong words are refused unquoted', () => {
  const entropy = newEntropy()
  assert.deepEqual(entropyOf(`  ${wordsOf(entropy).toUpperCase().replaceAll(' ', '\n ')} `), entropy)
  for (const words of ['', 'abandon', `${'abandon '.repeat(24)}`, `${'abandon '.repeat(11)}about`]) {
    assert.throws(() => entropyOf(words), { reason: 'invalid_words', message: /^(?!.*abandon)/ })
  }
})
