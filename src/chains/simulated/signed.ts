/** Reads signed bytes: P2WPKH transactions of Bitcoin and Litecoin, EIP-1559 transactions of Ethereum. */
import { OutScript, Transaction } from '@scure/btc-signer'
import { hash160 } from '@scure/btc-signer/utils.js'
import {
  bytesToHex,
  decodeFunctionData,
  erc20Abi,
  hexToBytes,
  keccak256,
  parseTransaction,
  recoverPublicKey,
  recoverTransactionAddress,
} from 'viem'
import { nativeAsset } from '../../core/assets.ts'
import type { Outpoint, Output } from '../chain.ts'
import type { Holding, SimulatedTransaction } from './ledger.ts'
import {
  assetOfToken,
  SIMULATED_ETHEREUM_CHAIN_ID,
  SIMULATED_FEE_RATES,
  SIMULATED_GAS,
  type SimulatedChainName,
} from './network.ts'

export interface SignedOutputs {
  readonly kind: 'outputs'
  readonly transaction: Omit<SimulatedTransaction, 'bid'>
  readonly vbytes: bigint
  /** Whether the owner of an output signed for the input that spends it (BIP-143, BIP-141). */
  isSignedBy(input: number, spent: Output): Promise<boolean>
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
export async function readSigned(chain: SimulatedChainName, raw: string): Promise<Reading> {
  try {
    return chain === 'sim-ethereum'
      ? await readTransfer(`0x${raw.replace(/^0x/, '')}`)
      : readOutputs(chain, Buffer.from(raw, 'hex'))
  } catch (error) {
    return unreadable(`TX decode failed: ${error instanceof Error ? error.message : String(error)}`)
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
    isSignedBy: (input, spent) => isSignedBy(signed, input, spent),
  }
}

async function isSignedBy(signed: Transaction, input: number, spent: Output): Promise<boolean> {
  const [signature, publicKey, ...rest] = signed.getInput(input).finalScriptWitness ?? []
  const hashType = signature?.at(-1)
  if (!signature || !publicKey || hashType === undefined || rest.length > 0) return false
  const owner = OutScript.decode(spent.lookup)
  const hash = hash160(publicKey)
  if (owner.type !== 'wpkh' || !Buffer.from(hash).equals(owner.hash)) return false
  // BIP-143: the script code of P2WPKH is that of P2PKH.
  const scriptCode = OutScript.encode({ type: 'pkh', hash })
  const digest = bytesToHex(signed.preimageWitnessV0(input, scriptCode, hashType, spent.atoms))
  const { r, s } = readDer(signature.subarray(0, -1))
  for (const yParity of [0, 1]) {
    const signer = hexToBytes(await recoverPublicKey({ hash: digest, signature: { r, s, yParity } }))
    if (Buffer.from(compressed(signer)).equals(publicKey)) return true
  }
  return false
}

/** A DER signature (BIP-66): 30 length, 02 length r, 02 length s. */
function readDer(der: Uint8Array): { r: `0x${string}`; s: `0x${string}` } {
  const rEnd = 4 + (der[3] ?? 0)
  const number = (bytes: Uint8Array): `0x${string}` =>
    `0x${Buffer.from(bytes)
      .toString('hex')
      .replace(/^(00)+/, '')
      .padStart(64, '0')}`
  return { r: number(der.subarray(4, rEnd)), s: number(der.subarray(rEnd + 2)) }
}

const compressed = (publicKey: Uint8Array): Uint8Array =>
  new Uint8Array([2 + ((publicKey[64] ?? 0) & 1), ...publicKey.subarray(1, 33)])

async function readTransfer(raw: `0x${string}`): Promise<Reading> {
  // Any other type throws: the wallets that pay here are ours and send this one.
  if (!raw.startsWith('0x02')) return unreadable('transaction type not supported: expected an EIP-1559 one')
  const serialized = raw as `0x02${string}`
  const { chainId, to, nonce = 0, value = 0n, data, gas = 0n, ...fees } = parseTransaction(serialized)
  if (chainId !== SIMULATED_ETHEREUM_CHAIN_ID) {
    return unreadable(`invalid chain id: expected ${SIMULATED_ETHEREUM_CHAIN_ID}, got ${chainId}`)
  }
  if (!to) return unreadable('contracts cannot be created on the simulated chain')

  const sender = await recoverTransactionAddress({ serializedTransaction: serialized })
  const lookup = hexToBytes(sender)
  const token = assetOfToken(to.toLowerCase())
  if (token && value > 0n) return unreadable('execution reverted: tokens take no ether')
  const call = token ? decodeFunctionData({ abi: erc20Abi, data: data ?? '0x' }) : null
  if (call && call.functionName !== 'transfer') {
    return unreadable('the tokens of the simulated chain know transfer(address,uint256) only')
  }

  const gasUsed = token ? SIMULATED_GAS.token : SIMULATED_GAS.ether
  if (gas < gasUsed) return unreadable(`intrinsic gas too low: expected ${gasUsed} or more, got ${gas}`)
  const { baseFeeWei } = SIMULATED_FEE_RATES['sim-ethereum']
  const feeMax = fees.maxFeePerGas ?? 0n
  if (feeMax < baseFeeWei) {
    return unreadable(
      `max fee per gas less than block base fee: expected ${baseFeeWei} or more, got ${feeMax}`,
    )
  }
  const offered = baseFeeWei + (fees.maxPriorityFeePerGas ?? 0n)
  const gasCost = gasUsed * (offered < feeMax ? offered : feeMax)

  const ether: Holding = { lookup, asset: 'ETH', atoms: value + gasCost }
  const credit =
    token && call
      ? { lookup: hexToBytes(call.args[0]), index: 0, asset: token, atoms: call.args[1] }
      : { lookup: hexToBytes(to), index: -1, asset: 'ETH' as const, atoms: value }
  const claim = { txid: sender.toLowerCase(), index: nonce }
  return {
    kind: 'transfer',
    transaction: {
      txid: keccak256(raw),
      claims: [claim],
      outputs: credit.atoms > 0n ? [credit] : [],
      debits: token ? [ether, { ...credit, lookup }] : [ether],
      bid: feeMax,
    },
    nonce: claim,
    reserve: { lookup, asset: 'ETH', atoms: value + gas * feeMax },
  }
}
