/**
 * Addresses from an account's extended public key: BIP-32 public derivation, BIP-84 (P2WPKH) for Bitcoin and
 * Litecoin, BIP-44 with EIP-55 for Ethereum. No private key is ever needed, or accepted, here.
 */
import { createHash, hash } from 'node:crypto'
import { bech32, createBase58check } from '@scure/base'
import { HDKey } from '@scure/bip32'
import { checksum } from 'ox/Address'
import { keccak256 } from 'ox/Hash'
import { ADDRESS_FORMS, NETWORK_MODES, type NetworkMode } from '../core/address.ts'
import type { ChainName, Network } from '../core/assets.ts'
import { hasAccounts, networkOfChain } from '../core/assets.ts'
import { invariant } from '../core/errors.ts'
import { type ChildKey, deriveChildren, readKey } from './public-children.ts'

export type { NetworkMode }

/** The operator's words that mean another word here: all public test networks write addresses alike. */
const SYNONYMS = new Map([
  ['testnet4', 'testnet'],
  ['signet', 'testnet'],
  ['sepolia', 'testnet'],
  ['dev', 'regtest'],
])

/** Of a network that the settings name. */
export function networkModeOf(network: string): NetworkMode {
  const word = SYNONYMS.get(network) ?? network
  const mode = NETWORK_MODES.find((each) => each === word)
  invariant(mode, `${network} is no network`)
  return mode
}

/** The mode of a simulated chain: its addresses are those of the test networks. */
export const SIMULATED_MODE: NetworkMode = 'testnet'

/** SLIP-44: one coin type of its own per main network, 1 for every test network. */
const COIN_TYPES: Readonly<Record<Network, number>> = { bitcoin: 0, litecoin: 2, ethereum: 60 }

/** Where the account key stands under the seed: `m/84'/coin'/0'`, or `m/44'/coin'/0'` for Ethereum. */
export function accountPath(network: Network, mode: NetworkMode): string {
  const coinType = mode === 'mainnet' ? COIN_TYPES[network] : 1
  return `m/${network === 'ethereum' ? 44 : 84}'/${coinType}'/0'`
}

/** BIP-44: branch 0 (external) takes deposits, branch 1 (internal) what is ours: position 0 is the hot wallet, the others are change. */
export const DEPOSIT_BRANCH = 0
export const INTERNAL_BRANCH = 1
export type Branch = typeof DEPOSIT_BRANCH | typeof INTERNAL_BRANCH
export const HOT_WALLET_POSITION = 0n

export interface DerivedAddress {
  readonly address: string
  /** What outputs are matched by: the scriptPubKey, or the 20 bytes of an EVM address. */
  readonly lookup: Uint8Array
}

export interface AccountKey {
  /** The BIP-32 fingerprint of the account key, eight hex digits: names the series of its addresses. */
  readonly fingerprint: string
  /** @param position - Below 2^31: hardened children cannot be derived from a public key. */
  derive(branch: Branch, position: bigint): DerivedAddress
  /** The same of `count` positions in a row, much faster for many. */
  deriveMany(branch: Branch, from: bigint, count: number): DerivedAddress[]
}

/** Version bytes of the public keys that wallets export: xpub, ypub, zpub, tpub, upub, vpub, Ltub, Mtub. */
const PUBLIC_VERSIONS = new Set([
  0x0488b21e, 0x049d7cb2, 0x04b24746, 0x043587cf, 0x044a5262, 0x045f1cf6, 0x019da462, 0x01b26ef6,
])
const XPUB_VERSION = 0x0488b21e
const base58check = createBase58check((bytes: Uint8Array) => createHash('sha256').update(bytes).digest())

/** Reading one takes as long as deriving twenty of its addresses: those of the wallets that are worked with are kept. */
const known = new Map<string, AccountKey>()
const KNOWN_MAX = 32

/**
 * Reads an account's extended public key, whatever version bytes the exporting wallet put on it.
 *
 * @throws {RangeError} when it is not an extended public key, or not at account depth (3).
 */
export function readAccountKey(chain: ChainName, mode: NetworkMode, xpub: string): AccountKey {
  const name = `${chain} ${mode} ${xpub}`
  const kept = known.get(name)
  if (kept) return kept
  const key = readAnew(chain, mode, xpub)
  if (known.size >= KNOWN_MAX) known.clear()
  known.set(name, key)
  return key
}

function readAnew(chain: ChainName, mode: NetworkMode, xpub: string): AccountKey {
  const account = HDKey.fromExtendedKey(asXpub(xpub))
  if (account.depth !== 3)
    throw new RangeError(`an account key stands at depth 3 (purpose, coin, account), got ${account.depth}`)
  const network = networkOfChain(chain)
  const branches = [account.deriveChild(DEPOSIT_BRANCH), account.deriveChild(INTERNAL_BRANCH)] as const
  const addressOf = (key: ChildKey): DerivedAddress =>
    network === 'ethereum'
      ? addressOfCoordinates(key.coordinates())
      : addressOfKeyHash(network, mode, hash160(key.compressed()))
  const derive = (branch: Branch, position: bigint): DerivedAddress => {
    const child = branches[branch].deriveChild(Number(position))
    invariant(child.publicKey, 'a public child key has a public key')
    return addressOf(readKey(child.publicKey))
  }
  return {
    fingerprint: account.fingerprint.toString(16).padStart(8, '0'),
    derive,
    deriveMany(branch, from, count) {
      if (count <= 0) return []
      const { publicKey, chainCode } = branches[branch]
      invariant(publicKey && chainCode, 'an account branch has a public key and a chain code')
      const indexes = Array.from({ length: count }, (_, place) => Number(from) + place)
      const derived = deriveChildren({ publicKey, chainCode }, indexes).map(addressOf)
      const sample = derive(branch, from + BigInt(count - 1))
      invariant(
        sample.address === derived.at(-1)?.address,
        'two ways to derive an address disagree: none of the batch is used',
      )
      return derived
    },
  }
}

const hash160 = (publicKey: Uint8Array): Buffer =>
  hash('ripemd160', hash('sha256', publicKey, 'buffer'), 'buffer')

/** BIP-84: version 0 witness program of the key's HASH160, written in bech32 (BIP-173). */
function addressOfKeyHash(
  network: 'bitcoin' | 'litecoin',
  mode: NetworkMode,
  keyHash: Uint8Array,
): DerivedAddress {
  invariant(keyHash.length === 20, `a P2WPKH key hash has 20 bytes, got ${keyHash.length}`)
  return {
    address: bech32.encode(ADDRESS_FORMS[network][mode].hrp, [0, ...bech32.toWords(keyHash)]),
    lookup: Uint8Array.of(0x00, 0x14, ...keyHash),
  }
}

/** Whether outputs to an address of ours, as it is derived here, are matched by this lookup and no other. */
export function isLookupOf(chain: ChainName, address: string, lookup: Uint8Array): boolean {
  if (hasAccounts(chain)) return address.toLowerCase() === `0x${Buffer.from(lookup).toString('hex')}`
  const [version, size, ...keyHash] = lookup
  const prefix = address.slice(0, address.lastIndexOf('1'))
  if (version !== 0x00 || size !== 0x14 || keyHash.length !== 20 || prefix === '') return false
  return address === bech32.encode(prefix, [0, ...bech32.toWords(Uint8Array.from(keyHash))])
}

/** The last 20 bytes of the Keccak-256 of the uncompressed key, written with the EIP-55 checksum. */
function addressOfCoordinates(coordinates: Uint8Array): DerivedAddress {
  invariant(coordinates.length === 64, 'two coordinates have 64 bytes')
  const lookup = keccak256(coordinates).slice(12)
  return { address: checksum(`0x${Buffer.from(lookup).toString('hex')}`), lookup }
}

function asXpub(text: string): string {
  let bytes: Uint8Array
  try {
    bytes = base58check.decode(text)
  } catch (cause) {
    throw new RangeError('an account key is a base58 extended public key (xpub…)', { cause })
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (bytes.length !== 78 || !PUBLIC_VERSIONS.has(view.getUint32(0)))
    throw new RangeError('an account key is an extended public key (xpub, zpub, tpub, vpub, Ltub)')
  view.setUint32(0, XPUB_VERSION)
  return base58check.encode(bytes)
}
