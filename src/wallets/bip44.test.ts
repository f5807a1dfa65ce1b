/** BIP-44 for Ethereum, on the addresses that every wallet shows for two well-known mnemonics, and EIP-55's vectors. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { mnemonicToSeedSync } from '@scure/bip39'
import { getAddress } from 'viem/utils'
import { readDestination } from '../withdrawals/destination.ts'
import { accountPath, DEPOSIT_BRANCH, readAccountKey } from './derivation.ts'

const accountXpub = (mnemonic: string): string =>
  HDKey.fromMasterSeed(mnemonicToSeedSync(mnemonic)).derive(accountPath('ethereum', 'mainnet'))
    .publicExtendedKey

test('BIP-44: the mnemonic of Hardhat and Anvil gives their published accounts', () => {
  const key = readAccountKey('ethereum', 'mainnet', accountXpub(`${'test '.repeat(11)}junk`))
  assert.equal(key.derive(DEPOSIT_BRANCH, 0n).address, '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')
  assert.equal(key.derive(DEPOSIT_BRANCH, 1n).address, '0x70997970C51812dc3A010C7d01b50e0d17dc79C8')
  assert.equal(key.derive(DEPOSIT_BRANCH, 9n).address, '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720')
})

test('BIP-44: coin type 60 on the main network, 1 on every other', () => {
  assert.equal(accountPath('ethereum', 'mainnet'), "m/44'/60'/0'")
  assert.equal(accountPath('ethereum', 'testnet'), "m/44'/1'/0'")
  assert.equal(accountPath('ethereum', 'regtest'), "m/44'/1'/0'")
})

test('EIP-55: addresses carry the published checksums and are looked up by their 20 bytes', () => {
  for (const address of [
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  ] as const) {
    assert.equal(getAddress(address), address)
    assert.equal(
      Buffer.from(readDestination('ETH', 'mainnet', address).lookup).toString('hex'),
      address.slice(2).toLowerCase(),
    )
  }
  const derived = readAccountKey('ethereum', 'mainnet', accountXpub(`${'test '.repeat(11)}junk`)).derive(
    DEPOSIT_BRANCH,
    0n,
  )
  assert.equal(Buffer.from(derived.lookup).toString('hex'), 'f39fd6e51aad88f6f4ce6ab8827279cfffb92266')
})
