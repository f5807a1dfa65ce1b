/** What an Ethereum node answers, read strictly: a block that cannot be read whole is not read at all. */
import { OutsideFailure } from '../../core/errors.ts'

/** Lower-case hexadecimal with 0x. Addresses and hashes are compared in this form. */
export type Hex = `0x${string}`

export interface WireBlock {
  readonly hash: Hex
  readonly parentHash: Hex
  readonly height: number
  readonly timeMs: number
  readonly transactions: readonly WireTransaction[]
}

export interface WireTransaction {
  readonly hash: Hex
  readonly from: Hex
  readonly nonce: bigint
  /** Null when it creates a contract. */
  readonly to: Hex | null
  readonly wei: bigint
}

export interface WireReceipt {
  readonly transactionHash: Hex
  readonly blockHash: Hex
  readonly height: number
  readonly succeeded: boolean
  /** What the sender paid for gas and blobs. */
  readonly feeWei: bigint
  /** In the order the transaction emitted them. */
  readonly logs: readonly WireLog[]
}

export interface WireLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly removed: boolean
}

const HEX = /^0x[0-9a-f]*$/

export function readWireBlock(value: unknown): WireBlock {
  const block = record(value, 'block')
  return {
    hash: hex(block.hash, 'block.hash', 32),
    parentHash: hex(block.parentHash, 'block.parentHash', 32),
    height: Number(quantity(block.number, 'block.number')),
    timeMs: Number(quantity(block.timestamp, 'block.timestamp')) * 1_000,
    transactions: list(block.transactions, 'block.transactions').map(readTransaction),
  }
}

/** The place of a block, of whatever form its transactions are. */
export function readBlockRef(value: unknown): { height: number; hash: Hex } {
  const block = record(value, 'block')
  return {
    height: Number(quantity(block.number, 'block.number')),
    hash: hex(block.hash, 'block.hash', 32),
  }
}

function readTransaction(value: unknown): WireTransaction {
  const transaction = record(value, 'transaction')
  return {
    hash: hex(transaction.hash, 'transaction.hash', 32),
    from: hex(transaction.from, 'transaction.from', 20),
    nonce: quantity(transaction.nonce, 'transaction.nonce'),
    to: isAbsent(transaction.to) ? null : hex(transaction.to, 'transaction.to', 20),
    wei: quantity(transaction.value, 'transaction.value'),
  }
}

export function readReceipt(value: unknown): WireReceipt {
  const receipt = record(value, 'receipt')
  const gasWei =
    quantity(receipt.gasUsed, 'receipt.gasUsed') *
    quantity(receipt.effectiveGasPrice, 'receipt.effectiveGasPrice')
  const blobWei =
    isAbsent(receipt.blobGasUsed) || isAbsent(receipt.blobGasPrice)
      ? 0n
      : quantity(receipt.blobGasUsed, 'receipt.blobGasUsed') *
        quantity(receipt.blobGasPrice, 'receipt.blobGasPrice')
  return {
    transactionHash: hex(receipt.transactionHash, 'receipt.transactionHash', 32),
    blockHash: hex(receipt.blockHash, 'receipt.blockHash', 32),
    height: Number(quantity(receipt.blockNumber, 'receipt.blockNumber')),
    succeeded: quantity(receipt.status, 'receipt.status') === 1n,
    feeWei: gasWei + blobWei,
    logs: list(receipt.logs, 'receipt.logs').map(readLog),
  }
}

function readLog(value: unknown): WireLog {
  const log = record(value, 'log')
  return {
    address: hex(log.address, 'log.address', 20),
    topics: list(log.topics, 'log.topics').map((topic) => hex(topic, 'log.topics', 32)),
    data: hex(log.data, 'log.data'),
    removed: log.removed === true,
  }
}

export function record(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw unreadable(what, value)
}

export function list(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw unreadable(what, value)
}

/** Hexadecimal bytes in lower case, of a fixed length where one is given. */
export function hex(value: unknown, what: string, bytes?: number): Hex {
  const text = typeof value === 'string' ? value.toLowerCase() : ''
  if (!HEX.test(text) || text.length % 2 !== 0) throw unreadable(what, value)
  if (bytes !== undefined && text.length !== 2 + 2 * bytes) throw unreadable(what, value)
  return text as Hex
}

/** An unsigned number as nodes write it: `0x1b4`. */
export function quantity(value: unknown, what: string): bigint {
  if (typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value)) return BigInt(value)
  throw unreadable(what, value)
}

export const toQuantity = (value: number | bigint): Hex => `0x${value.toString(16)}`

export const isAbsent = (value: unknown): boolean => value === null || value === undefined

function unreadable(what: string, value: unknown): OutsideFailure {
  const got = value === undefined ? 'nothing' : (JSON.stringify(value) ?? typeof value).slice(0, 80)
  return new OutsideFailure(`the ethereum node gave a ${what} that can not be read: ${got}`, {
    retryable: true,
  })
}
