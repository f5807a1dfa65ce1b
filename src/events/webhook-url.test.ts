import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../core/errors.ts'
import { isPublicAddress } from './public-address.ts'
import { parseWebhookUrl } from './webhook-url.ts'

const open = { allowPrivate: false }
const closedNetwork = { allowPrivate: true }

const reasonOf = (text: string, policy = open): string | null => {
  try {
    assert.equal(parseWebhookUrl(text, policy), text)
    return null
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error))
    assert.equal(error.details[0]?.field, 'url')
    return error.reason
  }
}

test('a public https URL is taken as it was given', () => {
  for (const url of [
    'https://shop.example/hook',
    'https://Shop.Example',
    'https://shop.example:8443/hook?a=b#c',
    'https://8.8.8.8/hook',
    'https://[2606:4700::1111]/hook',
    `https://shop.example/${'x'.repeat(2_048 - 21)}`,
  ]) {
    assert.equal(reasonOf(url), null, url)
  }
})

test('what is not an https URL is refused with its reason', () => {
  for (const [url, reason] of [
    ['', 'invalid_url'],
    ['shop.example/hook', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https:/shop.example/hook', 'invalid_url'],
    ['https:shop.example', 'invalid_url'],
    ['https:\\shop.example', 'invalid_url'],
    ['https:// shop.example', 'invalid_url'],
    ['https://shop.example/\nhook', 'invalid_url'],
    ['https://shop.example/\u0000', 'invalid_url'],
    ['https://256.1.1.1/', 'invalid_url'],
    ['https://[::zz]/', 'invalid_url'],
    [`https://shop.example/${'x'.repeat(2_048)}`, 'invalid_url'],
    ['http://shop.example/hook', 'url_not_https'],
    ['ftp://shop.example/hook', 'url_not_https'],
    ['file:///etc/passwd', 'url_not_https'],
    ['javascript:alert(1)', 'url_not_https'],
    ['https://user@shop.example/', 'url_with_credentials'],
    ['https://user:pass@shop.example/', 'url_with_credentials'],
  ] as const) {
    assert.equal(reasonOf(url), reason, url)
  }
})

test('a literal address that is not public is refused in every notation', () => {
  for (const host of [
    'localhost',
    'LOCALHOST.',
    'shop.localhost',
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '169.254.169.254',
    '172.31.255.255',
    '192.168.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    '[::]',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:8.8.8.8]',
    '[::7f00:1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::1]',
    '[2002:7f00:1::]',
    '[2001::1]',
    '[2001:db8::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '[fec0::1]',
    '[ff02::1]',
    '[100::1]',
    '[5f00::1]',
  ]) {
    assert.equal(reasonOf(`https://${host}/`), 'url_not_public', host)
  }
})

test('a closed network may use http and private addresses, still without credentials', () => {
  assert.equal(reasonOf('http://127.0.0.1:3000/hook', closedNetwork), null)
  assert.equal(reasonOf('http://hooks.internal/hook', closedNetwork), null)
  assert.equal(reasonOf('http://user@127.0.0.1:3000/hook', closedNetwork), 'url_with_credentials')
  assert.equal(reasonOf('ftp://127.0.0.1/hook', closedNetwork), 'url_not_https')
})

test('no address that carries an IPv4 address inside IPv6 is public, whatever it carries', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
      const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
      for (const carrier of [
        `::ffff:${address}`,
        `::${hex}`,
        `64:ff9b::${hex}`,
        `2002:${hex}::1`,
        `2001::${hex}`,
      ]) {
        assert.equal(isPublicAddress(carrier), false, carrier)
      }
    }),
  )
  assert.equal(isPublicAddress('shop.example'), false)
  assert.equal(isPublicAddress('2606:4700::1111%eth0'), false)
})
