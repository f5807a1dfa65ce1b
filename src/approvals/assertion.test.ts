/** The verifier of passkeys' answers, on the WebAuthn specification's own vectors and on what is made of them. */
import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Assertion, type Credential, verifyAssertion } from './assertion.ts'
import { readCoseKey } from './cose-key.ts'
import published from './webauthn-vectors.json' with { type: 'json' }

const PAGES = { rpId: 'example.org', origin: 'https://example.org' }
const hex = (text: string): Buffer => Buffer.from(text, 'hex')

const vectors = published.vectors.map((vector) => ({
  section: vector.section.replace('sctn-test-vectors-', ''),
  credential: { ...PAGES, publicKey: hex(vector.publicKey) },
  challenge: hex(vector.challenge),
  assertion: {
    authenticatorData: hex(vector.authenticatorData),
    clientData: hex(vector.clientData),
    signature: hex(vector.signature),
  },
}))

/** What they say of themselves: who was not verified by the device has not approved, nor has who saw it in another page's frame. */
const EXPECTED: Readonly<Record<string, string>> = {
  'none-es256': 'not_verified',
  'packed-self-es256': 'not_verified',
  'none-es256-crossOrigin': 'other_origin',
  'none-es256-topOrigin': 'other_origin',
  'none-es256-long-credential-id': 'valid',
  'packed-es256': 'valid',
  // Algorithms that the dashboard does not ask for.
  'packed-es384': 'malformed',
  'packed-es512': 'malformed',
  'packed-rs256': 'not_verified',
  'packed-eddsa': 'not_verified',
  'packed-ed448': 'malformed',
  'tpm-es256': 'valid',
  'android-key-es256': 'not_verified',
  'apple-es256': 'not_verified',
  'fido-u2f-es256': 'not_verified',
}

const verdictOf = (
  credential: Credential,
  challenge: Uint8Array,
  assertion: Assertion,
  lastCounter = 0,
): string => {
  const verdict = verifyAssertion(credential, challenge, assertion, lastCounter)
  return verdict.kind === 'valid' ? 'valid' : verdict.reason
}

test("each of the specification's vectors is judged as what it is", () => {
  const found = vectors.map(({ section, credential, challenge, assertion }) => [
    section,
    verdictOf(credential, challenge, assertion),
  ])
  assert.deepEqual(Object.fromEntries(found), EXPECTED)
})

test('no bit of a vector can be turned: data, client data, signature, key, challenge', () => {
  for (const { section, credential, challenge, assertion } of vectors) {
    const before = EXPECTED[section]
    if (before === 'malformed') continue
    for (const field of ['authenticatorData', 'clientData', 'signature'] as const)
      for (const turned of turnings(assertion[field])) {
        const verdict = verdictOf(credential, challenge, { ...assertion, [field]: turned })
        assert.ok(verdict === 'bad_signature' || verdict === 'malformed', `${section} ${field} ${verdict}`)
      }
    for (const publicKey of turnings(credential.publicKey)) {
      const verdict = verdictOf({ ...credential, publicKey }, challenge, assertion)
      assert.ok(verdict === 'bad_signature' || verdict === 'malformed', `${section} key ${verdict}`)
    }
    for (const turned of turnings(challenge))
      assert.equal(verdictOf(credential, turned, assertion), 'other_challenge', section)
  }
})

/** The bytes with one bit turned, for each of them; of every eighth where there are many. */
function* turnings(bytes: Uint8Array): Generator<Buffer> {
  const step = bytes.length > 100 ? 8 : 1
  for (let bit = 0; bit < bytes.length * 8; bit += step) {
    const turned = Buffer.from(bytes)
    turned.writeUInt8(turned.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    yield turned
  }
}

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest()

/** A passkey whose answers say whatever a test wants, rightly signed. */
function passkey(kind: 'ES256' | 'RS256' | 'EdDSA') {
  const { publicKey, privateKey } =
    kind === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : kind === 'RS256'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : generateKeyPairSync('ed25519')
  const credential = { ...PAGES, publicKey: coseOf(kind, publicKey) }
  const answer = ({ flags = 0x05, counter = 0, rpId = PAGES.rpId, tail = '', client = {} }): Assertion => {
    const authenticatorData = Buffer.concat([sha256(rpId), Buffer.alloc(5), Buffer.from(tail, 'hex')])
    authenticatorData.writeUInt8(flags, 32)
    authenticatorData.writeUInt32BE(counter, 33)
    const told = {
      type: 'webauthn.get',
      challenge: CHALLENGE.toString('base64url'),
      origin: PAGES.origin,
      ...client,
    }
    const clientData = Buffer.from(JSON.stringify(told))
    const signed = Buffer.concat([authenticatorData, sha256(clientData)])
    return {
      authenticatorData,
      clientData,
      signature: sign(kind === 'EdDSA' ? null : 'sha256', signed, privateKey),
    }
  }
  return { credential, answer }
}

const CHALLENGE = sha256('a statement')

function coseOf(kind: 'ES256' | 'RS256' | 'EdDSA', key: KeyObject): Buffer {
  const jwk = key.export({ format: 'jwk' })
  const bytes = (text = '') => Buffer.from(text, 'base64url')
  if (kind === 'ES256')
    return Buffer.concat([hex('a5010203262001215820'), bytes(jwk.x), hex('225820'), bytes(jwk.y)])
  if (kind === 'EdDSA') return Buffer.concat([hex('a4010103272006215820'), bytes(jwk.x)])
  return Buffer.concat([hex('a401030339010020590100'), bytes(jwk.n), hex('2143'), bytes(jwk.e)])
}

const says = (answer: Assertion, of: Credential, lastCounter = 0) =>
  verdictOf(of, CHALLENGE, answer, lastCounter)

for (const kind of ['ES256', 'RS256', 'EdDSA'] as const)
  test(`${kind}: of all flags, only those of a person whom the device verified, and of no new passkey, count`, () => {
    const { credential, answer } = passkey(kind)
    for (let flags = 0; flags < 256; flags += 1) {
      const hasExtensions = (flags & 0x80) !== 0
      const isWhole = (flags & 0x40) === 0 && (flags & 0x18) !== 0x10
      const expected = !isWhole ? 'malformed' : (flags & 0x05) === 0x05 ? 'valid' : 'not_verified'
      assert.equal(says(answer({ flags, tail: hasExtensions ? 'a0' : '' }), credential), expected, `${flags}`)
      assert.equal(
        says(answer({ flags, tail: hasExtensions ? '' : 'a0' }), credential),
        'malformed',
        `${flags}`,
      )
    }
  })

test('what is rightly signed for something else does not count', () => {
  const { credential, answer } = passkey('ES256')
  const cases: [Parameters<typeof answer>[0], string][] = [
    [{ client: { type: 'webauthn.create' } }, 'not_an_assertion'],
    [{ client: { type: 'payment.get' } }, 'not_an_assertion'],
    [{ client: { challenge: sha256('another').toString('base64url') } }, 'other_challenge'],
    [{ client: { challenge: CHALLENGE.toString('base64') } }, 'other_challenge'],
    [{ client: { challenge: null } }, 'other_challenge'],
    [{ client: { origin: 'http://example.org' } }, 'other_origin'],
    [{ client: { origin: 'https://example.org:8443' } }, 'other_origin'],
    [{ client: { origin: 'https://example.org.attacker.example' } }, 'other_origin'],
    [{ client: { crossOrigin: true } }, 'other_origin'],
    [{ client: { topOrigin: PAGES.origin } }, 'other_origin'],
    [{ rpId: 'example.com' }, 'other_relying_party'],
    [{ client: { crossOrigin: false, extra: 'more' } }, 'valid'],
  ]
  for (const [given, expected] of cases)
    assert.equal(says(answer(given), credential), expected, JSON.stringify(given))
  assert.equal(says(answer({}), passkey('ES256').credential), 'bad_signature')
})

test('a counter goes up; one that stays at nothing is none', () => {
  const { credential, answer } = passkey('EdDSA')
  for (const [counter, last, expected] of [
    [0, 0, 'valid'],
    [1, 0, 'valid'],
    [8, 7, 'valid'],
    [7, 7, 'counter_went_back'],
    [6, 7, 'counter_went_back'],
    [0, 7, 'counter_went_back'],
    [0xff_ff_ff_ff, 0xff_ff_ff_fe, 'valid'],
  ] as const)
    assert.equal(says(answer({ counter }), credential, last), expected, `${counter} after ${last}`)
})

test('whatever bytes come, nothing is thrown and nothing counts', () => {
  const { credential, answer } = passkey('ES256')
  const good = answer({})
  const bytes = fc.uint8Array({ maxLength: 80 })
  fc.assert(
    fc.property(bytes, bytes, bytes, bytes, (authenticatorData, clientData, signature, publicKey) => {
      assert.notEqual(says({ authenticatorData, clientData, signature }, credential), 'valid')
      assert.notEqual(says({ ...good, signature }, credential), 'valid')
      assert.notEqual(says({ ...good, clientData }, credential), 'valid')
      assert.notEqual(says({ ...good, authenticatorData }, credential), 'valid')
      assert.equal(says(good, { ...credential, publicKey }), 'malformed')
    }),
    { numRuns: 500 },
  )
})

test('a key is read only as authenticators must write it', () => {
  const { publicKey } = passkey('ES256').credential
  const whole = publicKey.toString('hex')
  const changed: Readonly<Record<string, string>> = {
    'something behind it': `${whole}00`,
    'cut off': whole.slice(0, -2),
    'a length that is longer than it must be': `b805${whole.slice(2)}`,
    'an indefinite map': `bf${whole.slice(2)}ff`,
    'another algorithm': whole.replace('a501020326', 'a50102033822'),
    'another curve': whole.replace('2001', '2002'),
    'another type': whole.replace('a50102', 'a50101'),
    'a label twice': whole.replace('a50102', 'a601020102'),
    'one parameter more': whole.replace('a50102', 'a601020241aa'),
    'x in 31 bytes': whole.replace(/215820../, '21581f'),
    'a point off its curve': `${whole.slice(0, -2)}${whole.endsWith('00') ? '01' : '00'}`,
  }
  assert.ok(readCoseKey(publicKey))
  for (const [what, text] of Object.entries(changed)) assert.equal(readCoseKey(hex(text)), null, what)
  const { n = '' } = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  const weak = Buffer.concat([hex('a4010303390100205880'), Buffer.from(n, 'base64url'), hex('2143010001')])
  assert.equal(readCoseKey(weak), null, 'an RSA key of 1,024 bits')
})
