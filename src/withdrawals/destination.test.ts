import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Asset } from '../core/assets.ts'
import { LostAddress, readDestination } from './destination.ts'

type Mode = 'mainnet' | 'testnet' | 'regtest'
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const script = (asset: Asset, mode: Mode, address: string) =>
  hex(readDestination(asset, mode, address).lookup)
const refused = (asset: Asset, mode: Mode, address: string) =>
  assert.throws(
    () => readDestination(asset, mode, address),
    { kind: 'invalid', reason: 'invalid_address' },
    `${asset} ${mode} ${address}`,
  )

test('BIP-173 and BIP-350: published segwit addresses give their published scripts', () => {
  assert.equal(
    script('BTC', 'mainnet', 'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4'),
    '0014751e76e8199196d454941c45d1b3a323f1433bd6',
  )
  assert.equal(
    script('BTC', 'testnet', 'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7'),
    '00201863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262',
  )
  assert.equal(
    script('BTC', 'mainnet', 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0'),
    '512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
  )
})

test('BIP-173 and BIP-350: published invalid addresses are refused', () => {
  for (const address of [
    'tc1qw508d6qejxtdg4y5r3zarvary0c5xw7kg3g4ty',
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5',
    'BC13W508D6QEJXTDG4Y5R3ZARVARY0C5XW7KN40WF2',
    'bc1rw5uspcuh',
    'bc10w508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kw5rljs90',
    'BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P',
    'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd',
    'BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL',
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh',
    'bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4',
    'bc1gmk9yu',
    // Version 16 and version 2: anybody could spend them until a soft fork.
    'BC1SW50QGDZ25J',
    'bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs',
  ])
    refused('BTC', 'mainnet', address)
})

test('base58 addresses are taken on their own network only', () => {
  assert.equal(
    script('BTC', 'mainnet', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa'),
    '76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac',
  )
  assert.equal(
    script('BTC', 'mainnet', '3P14159f73E4gFr7JterCCQh9QjiTjiZrG'),
    'a914e9c3dd0c07aac76179ebc76a6c78d4d67c6c160a87',
  )
  for (const mode of ['testnet', 'regtest'] as const) {
    assert.match(script('BTC', mode, 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn'), /^76a914/)
    assert.match(script('LTC', mode, 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn'), /^76a914/)
    refused('BTC', mode, '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa')
  }
  refused('BTC', 'mainnet', 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn')
  refused('BTC', 'mainnet', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb')
  refused('LTC', 'mainnet', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa')
  // A Bitcoin script address, which Litecoin wrote alike before 2017.
  refused('LTC', 'mainnet', '3P14159f73E4gFr7JterCCQh9QjiTjiZrG')
})

test('an address of another network mode or coin is refused', () => {
  const segwit: [Asset, Mode, string][] = [
    ['BTC', 'mainnet', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'],
    ['BTC', 'testnet', 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx'],
  ]
  for (const [asset, mode, address] of segwit) {
    assert.ok(script(asset, mode, address))
    for (const other of ['mainnet', 'testnet', 'regtest'] as const) {
      if (other !== mode) refused(asset, other, address)
      refused('LTC', other, address)
      refused('ETH', other, address)
    }
  }
})

test('EIP-55: a mixed-case address needs its checksum; the zero address and precompiles are refused', () => {
  const good = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  assert.equal(script('ETH', 'mainnet', good), good.slice(2).toLowerCase())
  assert.equal(script('USDC', 'regtest', good.toLowerCase()), good.slice(2).toLowerCase())
  refused('ETH', 'mainnet', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD')
  refused('USDT', 'mainnet', good.slice(2))
  refused('ETH', 'mainnet', `0x${'0'.repeat(40)}`)
  refused('ETH', 'mainnet', `0x${'0'.repeat(39)}9`)
  refused('ETH', 'mainnet', `${good} `)
})

test('an address that nobody holds the key of is refused for that, and not for how it is written', () => {
  for (const end of ['0', '1', '9', 'dEaD', 'dead', 'ffff']) {
    const address = `0x${end.padStart(40, '0')}`
    assert.throws(
      () => readDestination('ETH', 'mainnet', address),
      (error) => error instanceof LostAddress && /nobody holds the key.*is lost/.test(error.message),
      address,
    )
  }
  assert.ok(readDestination('ETH', 'mainnet', `0x${'10000'.padStart(40, '0')}`))
})

test('while no mode is known, what one of them can read is taken, and nothing else', () => {
  for (const [asset, address] of [
    ['BTC', 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx'],
    ['BTC', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa'],
    ['USDC', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
  ] as const)
    assert.ok(readDestination(asset, null, address).lookup)
  for (const [asset, address] of [
    ['LTC', 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx'],
    ['BTC', 'nonsense'],
    ['ETH', `0x${'0'.repeat(40)}`],
  ] as const)
    assert.throws(() => readDestination(asset, null, address), { reason: 'invalid_address' })
})

test('any text is either an address or refused kindly', () => {
  fc.assert(
    fc.property(
      fc.constantFrom<Asset>('BTC', 'LTC', 'ETH', 'USDC'),
      fc.oneof(
        fc.string(),
        fc.string({ unit: 'binary' }),
        fc.base64String(),
        fc.constantFrom('bc1', '0x', 'bc1q'),
      ),
      (asset, text) => refused(asset, 'mainnet', text),
    ),
  )
})
