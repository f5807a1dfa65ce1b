/**
 * Where a withdrawal may go. An address is taken only when it is written for the coin's network and for the network
 * mode this gateway runs on, so that nothing is sent to a wallet that cannot exist there.
 */
import { createHash } from 'node:crypto'
import { bech32, bech32m, createBase58check } from '@scure/base'
import { isAddress } from 'viem/utils'
import { type Asset, networkOf } from '../core/assets.ts'
import { invalid, type Refusal } from '../core/errors.ts'

type Mode = 'mainnet' | 'testnet' | 'regtest'

interface AddressForms {
  /** BIP-173 human-readable part. */
  readonly hrp: string
  /** Version byte of P2PKH, and of P2SH as written today. */
  readonly pubKeyHash: number
  readonly scriptHash: number
}

/** Bitcoin Core and Litecoin Core, src/chainparams.cpp. Litecoin's old P2SH versions read as Bitcoin's: not taken. */
const FORMS: Readonly<Record<'bitcoin' | 'litecoin', Record<Mode, AddressForms>>> = {
  bitcoin: {
    mainnet: { hrp: 'bc', pubKeyHash: 0x00, scriptHash: 0x05 },
    testnet: { hrp: 'tb', pubKeyHash: 0x6f, scriptHash: 0xc4 },
    regtest: { hrp: 'bcrt', pubKeyHash: 0x6f, scriptHash: 0xc4 },
  },
  litecoin: {
    mainnet: { hrp: 'ltc', pubKeyHash: 0x30, scriptHash: 0x32 },
    testnet: { hrp: 'tltc', pubKeyHash: 0x6f, scriptHash: 0x3a },
    regtest: { hrp: 'rltc', pubKeyHash: 0x6f, scriptHash: 0x3a },
  },
}

const base58check = createBase58check((bytes: Uint8Array) => createHash('sha256').update(bytes).digest())

export interface Destination {
  /** As it was given; EVM addresses are compared by their bytes. */
  readonly address: string
  /** The scriptPubKey, or the 20 bytes of an EVM address. */
  readonly lookup: Uint8Array
}

/**
 * Reads a destination.
 *
 * @throws {Refusal} `invalid`, reason `invalid_address`, on the field `destination_address`.
 */
export function readDestination(asset: Asset, mode: Mode, address: string): Destination {
  const network = networkOf(asset)
  const lookup = network === 'ethereum' ? evmLookup(address) : scriptOf(FORMS[network][mode], address)
  if (!lookup)
    throw invalidAddress(`${shown(address)} is no ${network} ${mode} address; ${hint(asset, mode)}`)
  return { address, lookup }
}

export const invalidAddress = (message: string): Refusal =>
  invalid('invalid_address', message, [{ field: 'destination_address', message }])

function hint(asset: Asset, mode: Mode): string {
  const network = networkOf(asset)
  if (network === 'ethereum') return 'expected 0x and 40 hexadecimal digits with a valid EIP-55 checksum'
  return `expected one that starts with ${FORMS[network][mode].hrp}1, or a base58 address of that network`
}

const shown = (address: string): string =>
  JSON.stringify(address.length > 100 ? `${address.slice(0, 100)}…` : address)

/** Addresses in capitals and lower case carry the EIP-55 checksum; all lower case carries none. */
function evmLookup(address: string): Uint8Array | null {
  if (!isAddress(address)) return null
  const bytes = Buffer.from(address.slice(2), 'hex')
  // The zero address and the precompiled contracts (below 0x10000) give nothing back.
  return bytes.subarray(0, 18).every((byte) => byte === 0) ? null : bytes
}

function scriptOf(forms: AddressForms, address: string): Uint8Array | null {
  return segwitScript(forms.hrp, address) ?? base58Script(forms, address)
}

/**
 * Version 0 in bech32 with 20 or 32 bytes (BIP-141, BIP-173), version 1 in bech32m with 32 (BIP-341, BIP-350).
 * Later versions are spendable by anybody until a soft fork says otherwise: not taken.
 */
function segwitScript(hrp: string, address: string): Uint8Array | null {
  const text = address as `${string}1${string}`
  for (const [coder, version, lengths] of [
    [bech32, 0, [20, 32]],
    [bech32m, 1, [32]],
  ] as const) {
    const decoded = coder.decodeUnsafe(text)
    if (!decoded || decoded.prefix !== hrp || decoded.words[0] !== version) continue
    const program = coder.fromWordsUnsafe(decoded.words.slice(1))
    if (program && (lengths as readonly number[]).includes(program.length))
      return Uint8Array.of(version === 0 ? 0x00 : 0x50 + version, program.length, ...program)
  }
  return null
}

function base58Script(forms: AddressForms, address: string): Uint8Array | null {
  if (address.length > 50) return null
  let bytes: Uint8Array
  try {
    bytes = base58check.decode(address)
  } catch {
    return null
  }
  if (bytes.length !== 21) return null
  const hash = bytes.subarray(1)
  // OP_DUP OP_HASH160 <20> OP_EQUALVERIFY OP_CHECKSIG; OP_HASH160 <20> OP_EQUAL.
  if (bytes[0] === forms.pubKeyHash) return Uint8Array.of(0x76, 0xa9, 0x14, ...hash, 0x88, 0xac)
  if (bytes[0] === forms.scriptHash) return Uint8Array.of(0xa9, 0x14, ...hash, 0x87)
  return null
}
