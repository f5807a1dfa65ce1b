/** What an address says, in the forms that Bitcoin, Litecoin and Ethereum write it. */
import { createHash } from 'node:crypto'
import { bech32, bech32m, createBase58check } from '@scure/base'
import { validate } from 'ox/Address'
import type { Network } from './assets.ts'

/** Which of a network's chains: the real one, a public test network, or a private one. */
export const NETWORK_MODES = ['mainnet', 'testnet', 'regtest'] as const
export type NetworkMode = (typeof NETWORK_MODES)[number]

interface AddressForms {
  /** BIP-173 human-readable part. */
  readonly hrp: string
  /** Version byte of P2PKH, and of P2SH as written today. */
  readonly pubKeyHash: number
  readonly scriptHash: number
}

/** Bitcoin Core and Litecoin Core, src/chainparams.cpp. Litecoin's old P2SH versions read as Bitcoin's: not taken. */
export const ADDRESS_FORMS: Readonly<Record<'bitcoin' | 'litecoin', Record<NetworkMode, AddressForms>>> = {
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

/**
 * What outputs to an address are matched by: the scriptPubKey, or the 20 bytes of an EVM address.
 *
 * An EVM address in capitals and lower case carries the EIP-55 checksum; all lower case carries none.
 *
 * @returns Null when the text is no address of this network, or of a form that is not known here.
 */
export function readAddress(network: Network, mode: NetworkMode, address: string): Uint8Array | null {
  if (network === 'ethereum')
    return validate(address) ? new Uint8Array(Buffer.from(address.slice(2), 'hex')) : null
  const forms = ADDRESS_FORMS[network][mode]
  return segwitScript(forms.hrp, address) ?? base58Script(forms, address)
}

/** Longer than any address in base58, whose capitals count; those in bech32 are. */
export const BECH32_LENGTH_MIN = 42

/** The one spelling that all of an address fold into: those of EVM addresses and of bech32 differ in nothing but case. */
export const foldedAddress = (network: Network, address: string): string =>
  network === 'ethereum' || address.length >= BECH32_LENGTH_MIN ? address.toLowerCase() : address

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
