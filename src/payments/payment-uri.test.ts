/** Links as wallets read them: with the parsers that wallets are built with. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import test from 'node:test'
import { decode } from 'bip21'
import { MAINNET_TOKENS } from '../core/assets.ts'
import { amountUri, paymentUri } from './payment-uri.ts'

interface EthereumUri {
  readonly target_address: string
  readonly chain_id?: string
  readonly function_name?: string
  readonly parameters?: Readonly<Record<string, string>>
}
/** It brings no types. */
const require = createRequire(import.meta.url)
const { parse } = require('eth-url-parser') as { parse(uri: string): EthereumUri }

const ADDRESS = '0x1111111111111111111111111111111111111111'
const MAINNET = { evmChainId: 1, tokens: MAINNET_TOKENS }
const NOWHERE = { evmChainId: null, tokens: MAINNET_TOKENS }

for (const [asset, scheme] of [
  ['BTC', 'bitcoin'],
  ['LTC', 'litecoin'],
] as const) {
  test(`a link for ${asset} is BIP-21`, () => {
    const uri = paymentUri({ asset, address: 'bc1qexample', atoms: 162_000_001n }, NOWHERE)
    assert.deepEqual(decode(uri ?? '', scheme), {
      address: 'bc1qexample',
      options: Object.assign(Object.create(null), { amount: 1.62000001 }),
    })
  })
}

test('a link for ether names the chain, and wei to the last digit', () => {
  const atoms = 12_345_678_901_234_567_890n
  const uri = parse(paymentUri({ asset: 'ETH', address: ADDRESS, atoms }, MAINNET) ?? '')
  assert.deepEqual(
    [uri.target_address, uri.chain_id, uri.function_name, uri.parameters],
    [ADDRESS, '1', undefined, { value: '12345678901234567890' }],
  )
})

for (const asset of ['USDC', 'USDT'] as const) {
  test(`a link for ${asset} is a transfer of that token, and no ether`, () => {
    const uri = parse(paymentUri({ asset, address: ADDRESS, atoms: 25_000_000n }, MAINNET) ?? '')
    assert.deepEqual(
      [uri.target_address, uri.chain_id, uri.function_name, uri.parameters],
      [MAINNET_TOKENS[asset], '1', 'transfer', { address: ADDRESS, uint256: '25000000' }],
    )
  })

  test(`qr_data of ${asset} has the contract's form, and no wallet takes it for ether`, () => {
    const uri = amountUri(asset, ADDRESS, 25_025_026n)
    assert.equal(uri, `${asset.toLowerCase()}:${ADDRESS}?amount=25.025026`)
    assert.throws(() => parse(uri), /ethereum/i)
  })
}

test('where no wallet knows the Ethereum there is no link for it', () => {
  for (const asset of ['ETH', 'USDC', 'USDT'] as const)
    assert.equal(paymentUri({ asset, address: ADDRESS, atoms: 1n }, NOWHERE), null)
})
