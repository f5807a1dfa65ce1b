/** What a transfer calls: its receiver with ether, or the contract of a token. */
import { encodeFunctionData, parseAbi } from 'viem/utils'
import type { Hex } from './wire.ts'

const ERC20 = parseAbi(['function transfer(address to, uint256 value) returns (bool)'])

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
        data: encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [prefixed(to), atoms] }),
      }

/** With `0x` before it, whether or not it stood there. */
export const prefixed = (text: string): Hex => `0x${text.replace(/^0x/, '')}`
