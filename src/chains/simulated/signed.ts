/** Reads signed bytes: P2WPKH transactions of Bitcoin and Litecoin, EIP-1559 and EIP-7702 transactions of Ethereum. */
import { Transaction } from '@scure/btc-signer'
import type { ListSigned } from 'ox/Authorization'
import { keccak256 } from 'ox/Hash'
import { nativeAsset } from '../../core/assets.ts'
import { messageOf } from '../../core/errors.ts'
import { SENT_TOP_LEVEL } from '../../core/ether-outputs.ts'
import { smaller } from '../../core/money.ts'
import type { Outpoint, Output } from '../chain.ts'
import { isCallOf, readCall } from '../ethereum/call-data.ts'
import { DEPLOYER, delegateAddress, delegateCreation } from '../ethereum/delegate.ts'
import {
  authorityOf,
  type EthereumTransaction,
  isOfKnownType,
  readSignedTransaction,
  senderOf,
} from '../ethereum/signed-transaction.ts'
import { readSweepCall } from '../ethereum/sweep.ts'
import { TRANSFER } from '../ethereum/transfer-call.ts'
import type { Hex } from '../ethereum/wire.ts'
import { lookupOfAccount } from './calls.ts'
import type { Authorization, Call, Holding, SimulatedTransaction } from './chain-store.ts'
import {
  assetOfToken,
  SIMULATED_ETHEREUM_CHAIN_ID,
  SIMULATED_FEE_RATES,
  SIMULATED_GAS,
  type SimulatedChainName,
} from './network.ts'
import { judgeOfInputs } from './signature.ts'

export interface SignedOutputs {
  readonly kind: 'outputs'
  readonly transaction: Omit<SimulatedTransaction, 'bid'>
  readonly vbytes: bigint
  /** Whether the owner of an output signed for the input that spends it. */
  isSignedBy(input: number, spent: Output): boolean
}

export interface SignedTransfer {
  readonly kind: 'transfer'
  readonly transaction: SimulatedTransaction
  readonly nonce: Outpoint
  /** Ether the sender must have: the value and the most that the gas may cost. */
  readonly reserve: Holding
}

/** What bytes say, or in words why a node would not take them whatever the chain holds. */
export type Reading =
  | SignedOutputs
  | SignedTransfer
  | { readonly kind: 'unreadable'; readonly reason: string }

const unreadable = (reason: string): Reading => ({ kind: 'unreadable', reason })

/** @param raw - Hex, with or without `0x`. */
export function readSigned(chain: SimulatedChainName, raw: string): Reading {
  try {
    return chain === 'sim-ethereum'
      ? readTransfer(`0x${raw.replace(/^0x/, '')}`)
      : readOutputs(chain, Buffer.from(raw, 'hex'))
  } catch (error) {
    return unreadable(`TX decode failed: ${messageOf(error)}`)
  }
}

function readOutputs(chain: 'sim-bitcoin' | 'sim-litecoin', raw: Uint8Array): Reading {
  const signed = Transaction.fromRaw(raw, { allowUnknownOutputs: true, disableScriptCheck: true })
  const claims: Outpoint[] = []
  for (let index = 0; index < signed.inputsLength; index++) {
    const input = signed.getInput(index)
    if (!input.txid || input.index === undefined) return unreadable('bad-txns-prevout-null')
    claims.push({ txid: Buffer.from(input.txid).toString('hex'), index: input.index })
  }
  if (new Set(claims.map((claim) => `${claim.txid}:${claim.index}`)).size < claims.length) {
    return unreadable('bad-txns-inputs-duplicate')
  }
  const outputs: Output[] = []
  for (let index = 0; index < signed.outputsLength; index++) {
    const { script, amount } = signed.getOutput(index)
    if (!script || amount === undefined) return unreadable('bad-txns-vout-empty')
    outputs.push({ lookup: script, index, asset: nativeAsset(chain), atoms: amount })
  }
  if (claims.length === 0 || outputs.length === 0)
    return unreadable('bad-txns-vin-empty or bad-txns-vout-empty')
  return {
    kind: 'outputs',
    transaction: { txid: signed.id, claims, outputs, debits: [] },
    vbytes: BigInt(signed.vsize),
    isSignedBy: judgeOfInputs(signed),
  }
}

function readTransfer(raw: Hex): Reading {
  // The wallets that pay here are ours and send these.
  if (!isOfKnownType(raw))
    return unreadable('transaction type not supported: expected an EIP-1559 or an EIP-7702 one')
  const parsed = readSignedTransaction(raw)
  const { chainId, to, nonce = 0n, value = 0n, gas = 0n } = parsed
  if (chainId !== SIMULATED_ETHEREUM_CHAIN_ID) {
    return unreadable(`invalid chain id: expected ${SIMULATED_ETHEREUM_CHAIN_ID}, got ${chainId}`)
  }
  if (!to) return unreadable('contracts are created by the deployment proxy only')
  if (nonce > BigInt(Number.MAX_SAFE_INTEGER)) return unreadable('nonce too high')

  const sender = senderOf(parsed)
  const lookup = lookupOfAccount(sender)
  const done = readAct(parsed, sender)
  if (typeof done === 'string') return unreadable(done)
  const { gasUsed, credit, call } = done
  if (gas < gasUsed) return unreadable(`intrinsic gas too low: expected ${gasUsed} or more, got ${gas}`)
  const { baseFeeWei } = SIMULATED_FEE_RATES['sim-ethereum']
  const feeMax = parsed.maxFeePerGas ?? 0n
  if (feeMax < baseFeeWei) {
    return unreadable(
      `max fee per gas less than block base fee: expected ${baseFeeWei} or more, got ${feeMax}`,
    )
  }
  const offered = baseFeeWei + (parsed.maxPriorityFeePerGas ?? 0n)
  const gasCost = gasUsed * smaller(offered, feeMax)

  const ether: Holding = { lookup, asset: 'ETH', atoms: value + gasCost }
  const claim = { txid: sender, index: Number(nonce) }
  return {
    kind: 'transfer',
    transaction: {
      txid: keccak256(raw),
      claims: [claim],
      outputs: credit && credit.atoms > 0n ? [credit] : [],
      debits: credit && credit.asset !== 'ETH' ? [ether, { ...credit, lookup }] : [ether],
      bid: feeMax,
      ...(call ? { call } : {}),
    },
    nonce: claim,
    reserve: { lookup, asset: 'ETH', atoms: value + gas * feeMax },
  }
}

interface Act {
  readonly gasUsed: bigint
  /** Null for what moves nothing of its sender. */
  readonly credit: Output | null
  readonly call: Call | null
}

/** What a transaction does, or in words why a node would not take it. */
function readAct(transaction: EthereumTransaction, sender: string): Act | string {
  const { to, value = 0n, data = '0x' } = transaction
  const authorizationList = transaction.type === 'eip7702' ? transaction.authorizationList : []
  const receiver = (to ?? '').toLowerCase()
  const token = assetOfToken(receiver)
  const isCall =
    data !== '0x' && (receiver === DEPLOYER || receiver === delegateAddress(sender).toLowerCase())
  if (!isCall && authorizationList.length > 0) return 'only what sweeps carries authorizations here'
  if ((token || isCall) && value > 0n) return 'execution reverted: contracts take no ether here'
  if (receiver === DEPLOYER) {
    // The last word of a deployment is whose delegate it is.
    if (data.toLowerCase() !== delegateCreation(sender))
      return 'execution reverted: no delegate of its sender'
    const call = { kind: 'deploy', treasury: sender, authorizations: [], sweeps: [] } as const
    return { gasUsed: SIMULATED_GAS.deployment, credit: null, call }
  }
  if (isCall) return readBatch(sender, data, authorizationList)
  if (!token) {
    const credit = {
      lookup: lookupOfAccount(receiver),
      index: SENT_TOP_LEVEL,
      asset: 'ETH',
      atoms: value,
    } as const
    return { gasUsed: SIMULATED_GAS.ether, credit, call: null }
  }
  if (!isCallOf(TRANSFER, data))
    return 'the tokens of the simulated chain know transfer(address,uint256) only'
  const [payee, atoms] = readCall(TRANSFER, data)
  const credit = { lookup: lookupOfAccount(payee), index: 0, asset: token, atoms }
  return { gasUsed: SIMULATED_GAS.token, credit, call: null }
}

function readBatch(sender: string, data: Hex, authorizationList: ListSigned): Act | string {
  const authorizations: Authorization[] = []
  for (const authorization of authorizationList) {
    const isOurs = authorization.address.toLowerCase() === delegateAddress(sender).toLowerCase()
    if (!isOurs || authorization.chainId !== SIMULATED_ETHEREUM_CHAIN_ID) continue
    // Nobody's nonce ever.
    if (authorization.nonce > BigInt(Number.MAX_SAFE_INTEGER)) continue
    authorizations.push({ account: authorityOf(authorization), nonce: Number(authorization.nonce) })
  }
  const sweeps: Call['sweeps'][number][] = []
  for (const { account, token } of readSweepCall(data)) {
    const asset = token === null ? null : assetOfToken(token)
    if (!asset) return 'the delegate of the simulated chain sweeps its tokens only'
    sweeps.push({ account, asset })
  }
  const gasUsed =
    SIMULATED_GAS.batch +
    SIMULATED_GAS.authorization * BigInt(authorizationList.length) +
    SIMULATED_GAS.sweep * BigInt(sweeps.length)
  return { gasUsed, credit: null, call: { kind: 'sweep', treasury: sender, authorizations, sweeps } }
}
