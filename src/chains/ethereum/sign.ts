/**
 * Signing for Ethereum, pure: ether and ERC-20 tokens in EIP-1559 transactions, and sweeps of many addresses at once in
 * EIP-7702 ones.
 */
import { assert } from 'ox/Address'
import { getSignPayload as authorizationPayload, type Signed as SignedAuthorization } from 'ox/Authorization'
import { keccak256 } from 'ox/Hash'
import { sign } from 'ox/Secp256k1'
import type { TxEnvelopeEip1559 } from 'ox/TxEnvelopeEip1559'
import type { TxEnvelopeEip7702 } from 'ox/TxEnvelopeEip7702'
import type { Asset } from '../../core/assets.ts'
import { DEPLOYER, delegateAddress, delegateCreation } from './delegate.ts'
import { payloadToSign, readSignedTransaction, writeTransaction } from './signed-transaction.ts'
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

export function signTransfer(transfer: Transfer, privateKey: Uint8Array): Signed {
  const { to, contract, atoms } = transfer
  if ((transfer.asset === 'ETH') !== (contract === null))
    throw new RangeError(`a transfer of ${transfer.asset} names its contract, and only a token's does`)
  // Letters of both cases are a checksum (EIP-55), of what somebody wrote.
  for (const address of contract === null ? [to] : [to, contract]) assert(prefixed(address))
  return signed(
    { ...envelope(transfer), type: 'eip1559', ...transferCall(contract, { to, atoms }) },
    privateKey,
  )
}

/** Deploys the delegate of a treasury (sweep.ts), at the address that follows from both. */
export const signDelegateCreation = (
  order: Envelope & { readonly treasury: string },
  privateKey: Uint8Array,
): Signed =>
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
export function signSweepBatch(
  order: Envelope & { readonly treasury: string; readonly accounts: readonly SweptAccount[] },
  privateKey: Uint8Array,
): Signed {
  const delegate = delegateAddress(order.treasury)
  const call = { ...envelope(order), to: delegate, value: 0n, data: sweepCall(order.accounts) }
  const authorizationList: SignedAuthorization[] = []
  for (const { authorization } of order.accounts) {
    if (!authorization) continue
    // For this chain alone: chain id 0 would hold on all of them.
    const grant = { chainId: order.chainId, address: delegate, nonce: authorization.nonce }
    const signature = sign({
      payload: authorizationPayload(grant),
      privateKey: authorization.privateKey,
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
): Signed {
  const { r: _r, s: _s, yParity: _yParity, ...transaction } = readSignedTransaction(prefixed(raw))
  const fees = { maxFeePerGas: price.maxFeeWei, maxPriorityFeePerGas: price.priorityFeeWei }
  return signed({ ...transaction, ...fees }, privateKey)
}

const envelope = ({ chainId, nonce, gasLimit, maxFeeWei, priorityFeeWei }: Envelope) => ({
  chainId,
  nonce,
  gas: gasLimit,
  maxFeePerGas: maxFeeWei,
  maxPriorityFeePerGas: priorityFeeWei,
})

type Unsigned = TxEnvelopeEip1559<false> | TxEnvelopeEip7702<false>

function signed(transaction: Unsigned, privateKey: Uint8Array): Signed {
  const signature = sign({ payload: payloadToSign(transaction), privateKey })
  const raw = writeTransaction({ ...transaction, ...signature })
  return { raw, txid: keccak256(raw) }
}
