/**
 * Signing for Ethereum, pure: ether and ERC-20 tokens in EIP-1559 transactions, and sweeps of many addresses at once in
 * EIP-7702 ones.
 */
import type { TransactionSerializableEIP1559, TransactionSerializableEIP7702 } from 'viem'
import { sign } from 'viem/accounts'
import { hashAuthorization, keccak256, parseTransaction, serializeTransaction } from 'viem/utils'
import type { Asset } from '../../core/assets.ts'
import { DEPLOYER, delegateAddress, delegateCreation } from './delegate.ts'
import { sweepCall } from './sweep.ts'
import { prefixed, transferCall } from './transfer-call.ts'

export { delegateAddress } from './delegate.ts'

/** What every transaction says besides what it does. */
export interface Envelope {
  readonly chainId: number
  readonly nonce: bigint
  readonly gasLimit: bigint
  readonly maxFeeWei: bigint
  readonly priorityFeeWei: bigint
}

export interface Transfer extends Envelope {
  readonly asset: Asset
  /** The token's contract; null for ether. */
  readonly contract: string | null
  readonly to: string
  readonly atoms: bigint
}

/** Hex with 0x, and the transaction's hash. */
export interface Signed {
  readonly raw: string
  readonly txid: string
}

export interface SweptAccount {
  readonly account: string
  readonly token: string
  /** What makes the account delegate to our contract; null when it does already. */
  readonly authorization: { readonly nonce: bigint; readonly privateKey: Uint8Array } | null
}

export async function signTransfer(transfer: Transfer, privateKey: Uint8Array): Promise<Signed> {
  const { to, contract, atoms } = transfer
  if ((transfer.asset === 'ETH') !== (contract === null))
    throw new RangeError(`a transfer of ${transfer.asset} names its contract, and only a token's does`)
  return signed(
    { ...envelope(transfer), type: 'eip1559', ...transferCall(contract, { to, atoms }) },
    privateKey,
  )
}

/** Deploys the delegate of a treasury (sweep.ts), at the address that follows from both. */
export const signDelegateCreation = (
  order: Envelope & { readonly treasury: string },
  privateKey: Uint8Array,
): Promise<Signed> =>
  signed(
    { ...envelope(order), type: 'eip1559', to: DEPLOYER, value: 0n, data: delegateCreation(order.treasury) },
    privateKey,
  )

/**
 * Sweeps tokens of many accounts to the treasury, which pays for it.
 *
 * @param privateKey - The treasury's.
 * @see https://eips.ethereum.org/EIPS/eip-7702
 */
export async function signSweepBatch(
  order: Envelope & { readonly treasury: string; readonly accounts: readonly SweptAccount[] },
  privateKey: Uint8Array,
): Promise<Signed> {
  const delegate = delegateAddress(order.treasury)
  const call = { ...envelope(order), to: delegate, value: 0n, data: sweepCall(order.accounts) }
  const authorizationList = []
  for (const { authorization } of order.accounts) {
    if (!authorization) continue
    // For this chain alone: chain id 0 would hold on all of them.
    const grant = { chainId: order.chainId, address: delegate, nonce: Number(authorization.nonce) }
    const signature = await sign({
      hash: hashAuthorization(grant),
      privateKey: keyOf(authorization.privateKey),
    })
    authorizationList.push({ ...grant, ...signature })
  }
  return authorizationList.length === 0
    ? signed({ ...call, type: 'eip1559' }, privateKey)
    : signed({ ...call, type: 'eip7702', authorizationList }, privateKey)
}

/** The same transaction at another price of gas, under the same nonce. */
export function signAgain(
  raw: string,
  price: Pick<Envelope, 'maxFeeWei' | 'priorityFeeWei'>,
  privateKey: Uint8Array,
): Promise<Signed> {
  const { r: _r, s: _s, v: _v, yParity: _yParity, ...transaction } = parseTransaction(prefixed(raw))
  if (transaction.type !== 'eip1559' && transaction.type !== 'eip7702')
    throw new RangeError(`a transaction of type ${transaction.type} is none of ours`)
  const fees = { maxFeePerGas: price.maxFeeWei, maxPriorityFeePerGas: price.priorityFeeWei }
  return transaction.type === 'eip7702'
    ? signed({ ...transaction, type: 'eip7702', ...fees }, privateKey)
    : signed({ ...transaction, type: 'eip1559', ...fees }, privateKey)
}

const envelope = ({ chainId, nonce, gasLimit, maxFeeWei, priorityFeeWei }: Envelope) => ({
  chainId,
  nonce: Number(nonce),
  gas: gasLimit,
  maxFeePerGas: maxFeeWei,
  maxPriorityFeePerGas: priorityFeeWei,
})

type Unsigned = TransactionSerializableEIP1559 | TransactionSerializableEIP7702

async function signed(transaction: Unsigned, privateKey: Uint8Array): Promise<Signed> {
  const hash = keccak256(serializeTransaction(transaction))
  const raw = serializeTransaction(transaction, await sign({ hash, privateKey: keyOf(privateKey) }))
  return { raw, txid: keccak256(raw) }
}

const keyOf = (privateKey: Uint8Array): `0x${string}` => prefixed(Buffer.from(privateKey).toString('hex'))
