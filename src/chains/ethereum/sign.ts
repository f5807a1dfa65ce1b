/** Signing of Ethereum transfers, pure: ether and ERC-20 tokens in EIP-1559 transactions. */
import { sign } from 'viem/accounts'
import { encodeFunctionData, keccak256, parseAbi, serializeTransaction } from 'viem/utils'
import type { Asset } from '../../core/assets.ts'

const ERC20 = parseAbi(['function transfer(address to, uint256 value) returns (bool)'])

export interface Transfer {
  readonly chainId: number
  readonly nonce: bigint
  readonly asset: Asset
  /** The token's contract; null for ether. */
  readonly contract: string | null
  readonly to: string
  readonly atoms: bigint
  readonly gasLimit: bigint
  readonly maxFeeWei: bigint
  readonly priorityFeeWei: bigint
}

/** @returns Hex with 0x, and the transaction's hash. */
export async function signTransfer(
  transfer: Transfer,
  privateKey: Uint8Array,
): Promise<{ readonly raw: string; readonly txid: string }> {
  const { to, contract, atoms } = transfer
  if ((transfer.asset === 'ETH') !== (contract === null))
    throw new RangeError(`a transfer of ${transfer.asset} names its contract, and only a token's does`)
  const transaction = {
    type: 'eip1559',
    chainId: transfer.chainId,
    nonce: Number(transfer.nonce),
    gas: transfer.gasLimit,
    maxFeePerGas: transfer.maxFeeWei,
    maxPriorityFeePerGas: transfer.priorityFeeWei,
    ...(contract === null
      ? { to: hex(to), value: atoms }
      : {
          to: hex(contract),
          value: 0n,
          data: encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [hex(to), atoms] }),
        }),
  } as const
  const signature = await sign({
    hash: keccak256(serializeTransaction(transaction)),
    privateKey: hex(Buffer.from(privateKey).toString('hex')),
  })
  const raw = serializeTransaction(transaction, signature)
  return { raw, txid: keccak256(raw) }
}

const hex = (text: string): `0x${string}` => `0x${text.replace(/^0x/, '')}`
