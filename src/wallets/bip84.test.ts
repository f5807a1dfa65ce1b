/** https://github.com/bitcoin/bips/blob/master/bip-0084.mediawiki#test-vectors, and its like on Litecoin. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { mnemonicToSeedSync } from '@scure/bip39'
import { readDestination } from '../withdrawals/destination.ts'
import {
  accountPath,
  DEPOSIT_BRANCH,
  INTERNAL_BRANCH,
  type NetworkMode,
  readAccountKey,
} from './derivation.ts'

const ZPUB =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs'
const MNEMONIC = `${'abandon '.repeat(11)}about`

test('BIP-84: the published account key gives the published receiving and change addresses', () => {
  const key = readAccountKey('bitcoin', 'mainnet', ZPUB)
  assert.equal(key.derive(DEPOSIT_BRANCH, 0n).address, 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu')
  assert.equal(key.derive(DEPOSIT_BRANCH, 1n).address, 'bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g')
  assert.equal(key.derive(INTERNAL_BRANCH, 0n).address, 'bc1q8c6fshw2dlwun7ekn9qwf37cu2rn755upcp6el')
})

test('BIP-84: the account stands at the published path', () => {
  assert.equal(accountPath('bitcoin', 'mainnet'), "m/84'/0'/0'")
  assert.equal(accountPath('litecoin', 'mainnet'), "m/84'/2'/0'")
  assert.equal(accountPath('litecoin', 'testnet'), "m/84'/1'/0'")
  const account = HDKey.fromMasterSeed(mnemonicToSeedSync(MNEMONIC)).derive(accountPath('bitcoin', 'mainnet'))
  const key = readAccountKey('bitcoin', 'mainnet', account.publicExtendedKey)
  assert.equal(key.derive(DEPOSIT_BRANCH, 0n).address, 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu')
})

test('every network mode has its own human-readable part, and the script is the witness program', () => {
  const expected: [chain: 'bitcoin' | 'litecoin', mode: NetworkMode, start: string][] = [
    ['bitcoin', 'mainnet', 'bc1q'],
    ['bitcoin', 'testnet', 'tb1q'],
    ['bitcoin', 'regtest', 'bcrt1q'],
    ['litecoin', 'mainnet', 'ltc1q'],
    ['litecoin', 'testnet', 'tltc1q'],
    ['litecoin', 'regtest', 'rltc1q'],
  ]
  for (const [chain, mode, start] of expected) {
    const { address, lookup } = readAccountKey(chain, mode, ZPUB).derive(DEPOSIT_BRANCH, 7n)
    assert.ok(address.startsWith(start), address)
    assert.equal(lookup.length, 22)
    assert.deepEqual([...lookup.slice(0, 2)], [0x00, 0x14])
    const asset = chain === 'bitcoin' ? 'BTC' : 'LTC'
    assert.deepEqual(Buffer.from(readDestination(asset, mode, address).lookup), Buffer.from(lookup))
  }
})
