/**
 * Where a withdrawal may go. An address is taken only when it is written for the coin's network and for the network
 * mode this gateway runs on, so that nothing is sent to a wallet that cannot exist there.
 */
import { ADDRESS_FORMS, NETWORK_MODES, type NetworkMode, readAddress } from '../core/address.ts'
import { type Asset, networkOf } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'

export interface Destination {
  /** As it was given; EVM addresses are compared by their bytes. */
  readonly address: string
  /** The scriptPubKey, or the 20 bytes of an EVM address. */
  readonly lookup: Uint8Array
}

/**
 * Reads a destination.
 *
 * @param mode - Null where nobody knows it yet: then what any mode can read is taken.
 * @throws {InvalidAddress}
 */
export function readDestination(asset: Asset, mode: NetworkMode | null, address: string): Destination {
  const network = networkOf(asset)
  const lookup = (mode === null ? NETWORK_MODES : [mode])
    .map((each) => readAddress(network, each, address))
    .find((each) => each !== null)
  if (!lookup)
    throw new InvalidAddress(
      `${shown(address)} is no ${network}${mode === null ? '' : ` ${mode}`} address; ${hint(asset, mode)}`,
    )
  if (network === 'ethereum' && isNobodys(lookup))
    throw new LostAddress(
      `nobody holds the key of ${address}; what is sent there is lost. Give the wallet's own address`,
    )
  return { address, lookup }
}

/** `invalid`, reason `invalid_address`, on the field `destination_address`. */
export class InvalidAddress extends Refusal {
  constructor(message: string) {
    super('invalid', 'invalid_address', message, [{ field: 'destination_address', message }])
  }
}

/** It is an address of the network, but of no receiver: nothing would come back from there. */
export class LostAddress extends InvalidAddress {}

function hint(asset: Asset, mode: NetworkMode | null): string {
  const network = networkOf(asset)
  if (network === 'ethereum') return 'expected 0x and 40 hexadecimal digits with a valid EIP-55 checksum'
  if (mode === null) return 'expected one in bech32 or base58, with a valid checksum'
  return `expected one that starts with ${ADDRESS_FORMS[network][mode].hrp}1, or a base58 address of that network`
}

const shown = (address: string): string =>
  JSON.stringify(address.length > 100 ? `${address.slice(0, 100)}…` : address)

/** The zero address, the precompiled contracts, and 0x…dEaD, where coins are burned: all below 0x10000. */
const isNobodys = (bytes: Uint8Array): boolean => bytes.subarray(0, 18).every((byte) => byte === 0)
