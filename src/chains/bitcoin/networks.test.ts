import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address } from '@scure/btc-signer'
import { BITCOIN_NETWORKS, bitcoinNetwork } from './networks.ts'
import { doubleSha256Hex } from './transaction.ts'

const SATOSHI_MERKLE = '4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b'
const TESTNET4_MERKLE = '7aa0a7ae1e223414cb807e40cd57e667b718e42aaf9306db9102fe28912b7b4e'
const LITECOIN_MERKLE = '97ddfbbae6be97fd6cdf3e7ca13232a3afff2353e29badfab7f73011edd4ced9'

/** Headers of the genesis blocks, from chainparams.cpp of Bitcoin Core 28 and Litecoin Core 0.21. */
const geneses = [
  ['bitcoin', 'mainnet', SATOSHI_MERKLE, 1231006505, 0x1d00ffff, 2083236893],
  ['bitcoin', 'testnet', SATOSHI_MERKLE, 1296688602, 0x1d00ffff, 414098458],
  ['bitcoin', 'testnet4', TESTNET4_MERKLE, 1714777860, 0x1d00ffff, 393743547],
  ['bitcoin', 'signet', SATOSHI_MERKLE, 1598918400, 0x1e0377ae, 52613770],
  ['bitcoin', 'regtest', SATOSHI_MERKLE, 1296688602, 0x207fffff, 2],
  ['litecoin', 'mainnet', LITECOIN_MERKLE, 1317972665, 0x1e0ffff0, 2084524493],
  ['litecoin', 'testnet', LITECOIN_MERKLE, 1486949366, 0x1e0ffff0, 293345],
  ['litecoin', 'regtest', LITECOIN_MERKLE, 1296688602, 0x207fffff, 0],
] as const

for (const [chain, name, merkleRoot, time, bits, nonce] of geneses) {
  test(`the genesis hash of ${chain} ${name} is the hash of its header`, () => {
    const header = Buffer.alloc(80)
    header.writeUInt32LE(1, 0)
    Buffer.from(merkleRoot, 'hex').reverse().copy(header, 36)
    header.writeUInt32LE(time, 68)
    header.writeUInt32LE(bits, 72)
    header.writeUInt32LE(nonce, 76)
    assert.equal(bitcoinNetwork(chain, name).genesisHash, doubleSha256Hex(header))
  })
}

test('every network is checked above', () => {
  const all = Object.entries(BITCOIN_NETWORKS).flatMap(([chain, networks]) =>
    Object.keys(networks).map((name) => `${chain} ${name}`),
  )
  assert.deepEqual(
    all,
    geneses.map(([chain, name]) => `${chain} ${name}`),
  )
})

/** BIP-173's P2WPKH examples, Bitcoin's first address, and addresses that Litecoin Core itself made. */
const addresses = [
  [
    'bitcoin',
    'mainnet',
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
    '751e76e8199196d454941c45d1b3a323f1433bd6',
  ],
  [
    'bitcoin',
    'testnet',
    'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx',
    '751e76e8199196d454941c45d1b3a323f1433bd6',
  ],
  ['bitcoin', 'mainnet', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', '62e907b15cbf27d5425399ebf6f0fb50ebb88f18'],
  [
    'litecoin',
    'regtest',
    'rltc1qv9tp8fhpsfgmzvt908uezndsgveq947faclzgj',
    '615613a6e18251b1316579f9914db0433202d7c9',
  ],
] as const

for (const [chain, name, address, hash] of addresses) {
  test(`the prefixes of ${chain} ${name} read ${address}`, () => {
    const { bech32, pubKeyHash, scriptHashes } = bitcoinNetwork(chain, name)
    for (const scriptHash of scriptHashes) {
      const decoded = Address({ bech32, pubKeyHash, scriptHash, wif: 0 }).decode(address)
      assert.ok('hash' in decoded)
      assert.equal(Buffer.from(decoded.hash).toString('hex'), hash)
    }
  })
}

test('an unknown network is refused with the names there are', () => {
  assert.throws(() => bitcoinNetwork('litecoin', 'signet'), /mainnet, testnet, regtest/)
  assert.throws(() => bitcoinNetwork('litecoin', 'constructor'), RangeError)
})
