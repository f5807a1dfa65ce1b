/** What a transfer calls: its receiver with ether, or the contract of a token. */
import { encodeData } from 'ox/AbiFunction'
import type { Hex } from './wire.ts'

/** Of ERC-20. */
export const TRANSFER = {
  type: 'function',
  name: 'transfer',
  stateMutability: 'nonpayable',
  inputs: [
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
  ],
  outputs: [{ type: 'bool' }],
} as const

export interface TransferCall {
  readonly to: Hex
  readonly value: bigint
  readonly data: Hex
}

/** @param contract - The token's; null for ether. */
export const transferCall = (
  contract: string | null,
  { to, atoms }: { readonly to: string; readonly atoms: bigint },
): TransferCall =>
  contract === null
    ? { to: prefixed(to), value: atoms, data: '0x' }
    : {
        to: prefixed(contract),
        value: 0n,
        data: encodeData(TRANSFER, [prefixed(to), atoms]),
      }

/** With `0x` before it, whether or not it stood there. */
export const prefixed = (text: string): Hex => `0x${text.replace(/^0x/, '')}`
