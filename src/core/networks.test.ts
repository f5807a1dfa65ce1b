import assert from 'node:assert/strict'
import test from 'node:test'
import { hostOf, networksAround, readNetworks, sharesOf, siteOf } from './networks.ts'

test('addresses, networks and names are read, and IPv4 is found in the clothes of IPv6', () => {
  const networks = readNetworks(['192.0.2.7', '10.0.0.0/8', '2001:db8::/32', 'loopback'])
  for (const inside of ['192.0.2.7', '::ffff:192.0.2.7', '10.255.0.1', '2001:db8:1::1', '127.0.0.9', '::1'])
    assert.equal(networks?.has(inside), true, inside)
  for (const outside of ['192.0.2.8', '11.0.0.1', '2001:db9::1', '::2', '', 'unknown', '10.0.0.1:80'])
    assert.equal(networks?.has(outside), false, outside)
})

test('what is no network is refused, not guessed', () => {
  for (const text of [
    '',
    'localhost',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0/8',
    ' 10.0.0.1',
  ])
    assert.equal(readNetworks([text]), null, text)
})

test('the addresses of one host are one name', () => {
  assert.equal(hostOf('192.0.2.1'), '192.0.2.1')
  assert.equal(hostOf('::ffff:192.0.2.1'), '192.0.2.1')
  assert.equal(hostOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  assert.equal(hostOf('2001:db8:1:2::6'), '2001:db8:1:2::/64')
  assert.equal(hostOf('2001:db8::6'), '2001:db8:0:0::/64')
  assert.equal(hostOf('::1'), '0:0:0:0::/64')
})

test('around an address of IPv6 are its host and the networks that one rents; an address of IPv4 is alone', () => {
  assert.deepEqual(networksAround('2001:db8:1:a2ff::6'), [
    '2001:db8:1:a2ff::/64',
    '2001:db8:1:a200::/56',
    '2001:db8:1::/48',
  ])
  assert.deepEqual(networksAround('2001:db8::6'), [
    '2001:db8:0:0::/64',
    '2001:db8:0:0::/56',
    '2001:db8:0::/48',
  ])
  for (const address of ['192.0.2.1', '::ffff:192.0.2.1'])
    assert.deepEqual(networksAround(address), ['192.0.2.1'])
  assert.equal(siteOf('2001:db8:1:2::6'), '2001:db8:1::/48')
  assert.equal(siteOf('192.0.2.1'), '192.0.2.1')
  assert.deepEqual(sharesOf(100), [100, 200, 400])
})
