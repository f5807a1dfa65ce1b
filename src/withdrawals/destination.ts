/**
 * Where a withdrawal may go. An address is taken only when it is written for the coin's network and for the network
 * mode this gateway runs on, so that nothing is sent to a wallet that cannot exist there.
 */
import { ADDRESS_FORMS, type NetworkMode, readAddress } from '../core/address.ts'
import { type Asset, networkOf } from '../core/assets.ts'
import { invalid, type Refusal } from '../core/errors.ts'

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
export function readDestination(asset: Asset, mode: NetworkMode, address: string): Destination {
  const network = networkOf(asset)
  const lookup = readAddress(network, mode, address)
  if (!lookup || (network === 'ethereum' && isPrecompiled(lookup)))
    throw invalidAddress(`${shown(address)} is no ${network} ${mode} address; ${hint(asset, mode)}`)
  return { address, lookup }
}

export const invalidAddress = (message: string): Refusal =>
  invalid('invalid_address', message, [{ field: 'destination_address', message }])

function hint(asset: Asset, mode: NetworkMode): string {
  const network = networkOf(asset)
  if (network === 'ethereum') return 'expected 0x and 40 hexadecimal digits with a valid EIP-55 checksum'
  return `expected one that starts with ${ADDRESS_FORMS[network][mode].hrp}1, or a base58 address of that network`
}

const shown = (address: string): string =>
  JSON.stringify(address.length > 100 ? `${address.slice(0, 100)}…` : address)

/** The zero address and the precompiled contracts (below 0x10000) give nothing back. */
const isPrecompiled = (bytes: Uint8Array): boolean => bytes.subarray(0, 18).every((byte) => byte === 0)
