import assert from 'node:assert/strict'
import test from 'node:test'
import { MAINNET_TOKENS } from '../../core/assets.ts'
import { appLinks, coinNetwork, explorerUrl, usualMinutes } from './networks.ts'

test('a coin is said to be on the network that its buyer looks for in a wallet or at an exchange', () => {
  const options = { networks: { bitcoin: 'testnet4', ethereum: 'sepolia' } } as const
  assert.equal(coinNetwork(options, 'BTC', true), 'Bitcoin testnet4')
  assert.equal(coinNetwork({}, 'LTC', true), 'Litecoin mainnet')
  assert.equal(coinNetwork(options, 'ETH', true), 'Ethereum Sepolia')
  assert.equal(coinNetwork({}, 'USDT', true), 'Ethereum (ERC-20) mainnet')
  assert.equal(coinNetwork(options, 'USDC', false), 'Ethereum (ERC-20) simulated')
})

test('each coin has an estimate of its own, and simulated ones have none', () => {
  assert.equal(usualMinutes('bitcoin', true, 2), 20)
  assert.equal(usualMinutes('litecoin', true, 6), 15)
  assert.equal(usualMinutes('ethereum', true, 12), 3)
  assert.equal(usualMinutes('ethereum', true, 0), null)
  assert.equal(usualMinutes('bitcoin', false, 2), null)
})

test('a transaction leads to the explorer of its own network, and nowhere where nobody can look', () => {
  const hash = 'ab'.repeat(32)
  assert.equal(explorerUrl({}, 'bitcoin', true, hash), `https://mempool.space/tx/${hash}`)
  assert.equal(
    explorerUrl({ networks: { litecoin: 'testnet' } }, 'litecoin', true, hash),
    `https://litecoinspace.org/testnet/tx/${hash}`,
  )
  assert.equal(explorerUrl({ networks: { bitcoin: 'regtest' } }, 'bitcoin', true, hash), null)
  assert.equal(explorerUrl({}, 'ethereum', false, `0x${hash}`), null)
  assert.equal(explorerUrl({}, 'ethereum', true, 'javascript:alert(1)'), null)
})

test("wallets' apps are led to on the networks of real money alone", () => {
  const place = { evmChainId: 1, tokens: MAINNET_TOKENS }
  const bitcoin = { asset: 'BTC', address: 'bc1q', amount: '0.5' } as const
  assert.deepEqual(appLinks(bitcoin, place, 'bitcoin:bc1q?amount=0.5', true), [
    { name: 'Trust Wallet', url: 'https://link.trustwallet.com/send?asset=c0&address=bc1q&amount=0.5' },
  ])
  assert.deepEqual(appLinks(bitcoin, place, 'bitcoin:bc1q?amount=0.5', false), [])
  const ether = { asset: 'ETH', address: '0x11', amount: '1' } as const
  assert.deepEqual(appLinks(ether, { ...place, evmChainId: 11155111 }, 'ethereum:0x11@11155111', true), [])
})
