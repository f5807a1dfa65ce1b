/** Names of networks, as statements carry them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkName } from './network-name.ts'

test('no two networks have one name, and a private chain is named by its id', () => {
  for (const [chain, mode, pinned, expected] of [
    ['bitcoin', 'mainnet', null, 'bitcoin mainnet'],
    ['litecoin', 'regtest', null, 'litecoin regtest'],
    ['ethereum', 'mainnet', 31_337, 'ethereum 1'],
    ['ethereum', 'testnet', null, 'ethereum 11155111'],
    ['ethereum', 'regtest', 31_337, 'ethereum 31337'],
    ['ethereum', 'regtest', null, null],
    ['sim-ethereum', 'testnet', null, 'sim-ethereum simulated'],
  ] as const)
    assert.equal(networkName(chain, mode, pinned), expected)
})
