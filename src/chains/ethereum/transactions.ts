/** What the transactions of a block pay, read from the block and its receipts. Pure: asks no node. */
import { OutsideFailure } from '../../core/errors.ts'
import { SENT_TOP_LEVEL } from '../../core/ether-outputs.ts'
import { type ChainTransaction, nonceAsOutpoint, type Output } from '../chain.ts'
import type { Hex, WireBlock, WireLog, WireReceipt, WireTransaction } from './wire.ts'

/** keccak256 of `Transfer(address,address,uint256)` (ERC-20). */
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** An address in a topic: 12 zero bytes before it. */
const ADDRESS_TOPIC = /^0x0{24}([0-9a-f]{40})$/

/** The contracts whose `Transfer` logs count, by address in lower case. */
export type TokenContracts = ReadonlyMap<Hex, 'USDC' | 'USDT'>

export interface ExecutedTransaction {
  readonly transaction: WireTransaction
  readonly receipt: WireReceipt
}

/**
 * Joins a block's transactions with their receipts.
 *
 * @throws {OutsideFailure} when they do not belong together: the block was reorganised away between two answers, or
 *   one of several nodes behind the URL follows another chain.
 */
export function joinReceipts(block: WireBlock, receipts: readonly WireReceipt[]): ExecutedTransaction[] {
  const byHash = new Map(receipts.map((receipt) => [receipt.transactionHash, receipt]))
  return block.transactions.map((transaction) => {
    const receipt = byHash.get(transaction.hash)
    if (!receipt || receipt.blockHash !== block.hash) {
      throw new OutsideFailure(
        `the ethereum node shows block ${block.hash} without the receipt of its transaction ${transaction.hash}; it may have been reorganised away`,
        { retryable: true },
      )
    }
    return { transaction, receipt }
  })
}

/**
 * What one transaction pays: its own ether when it succeeded, and the tokens its logs move. An address that pays
 * itself gains nothing, so that is no output. What pays nothing that Beck takes still spends its sender's nonce, and so
 * ends every other transaction that would have.
 */
export function shownOf(executed: ExecutedTransaction, tokens: TokenContracts): ChainTransaction {
  const { transaction, receipt } = executed
  const outputs: Output[] = []
  const senders = [toLookup(transaction.from)]
  if (movesEther(executed) && transaction.to !== null) {
    outputs.push({
      lookup: toLookup(transaction.to),
      index: SENT_TOP_LEVEL,
      asset: 'ETH',
      atoms: transaction.wei,
    })
  }
  receipt.logs.forEach((log, index) => {
    const transfer = tokenTransferOf(log, tokens)
    if (!transfer || !receipt.succeeded) return
    const { lookup, asset, atoms } = transfer
    senders.push(toLookup(transfer.from))
    outputs.push({ lookup, index, asset, atoms })
  })
  const inputs = [nonceAsOutpoint(transaction.from, transaction.nonce)]
  return { key: transaction.hash, hash: transaction.hash, outputs, inputs, senders }
}

/** Whether the transaction's own value left its sender: a reverted call moves nothing. */
export function movesEther({ transaction, receipt }: ExecutedTransaction): boolean {
  return receipt.succeeded && transaction.wei > 0n && transaction.to !== transaction.from
}

/**
 * The credit that a log shows, when it is a `Transfer` of exactly one of the contracts: three topics, one word of
 * data, more than zero, to somebody else. Everything else is null: logs of other contracts, ERC-721's fourth topic,
 * zero values (anybody can emit those in our name with `transferFrom`), malformed and removed logs.
 */
export function tokenTransferOf(
  log: WireLog,
  tokens: TokenContracts,
): (Omit<Output, 'index'> & { readonly from: Hex }) | null {
  const asset = tokens.get(log.address)
  if (!asset || log.removed) return null
  const [topic, from, to] = log.topics
  if (topic !== TRANSFER_TOPIC || log.topics.length !== 3 || log.data.length !== 66) return null
  const sender = ADDRESS_TOPIC.exec(from ?? '')?.[1]
  const receiver = ADDRESS_TOPIC.exec(to ?? '')?.[1]
  const atoms = BigInt(log.data)
  if (!sender || !receiver || sender === receiver || atoms === 0n) return null
  return { from: `0x${sender}`, lookup: toLookup(receiver), asset, atoms }
}

/** The 20 bytes that `addresses.lookup` holds. */
export const toLookup = (address: string): Uint8Array => Buffer.from(address.replace(/^0x/, ''), 'hex')
