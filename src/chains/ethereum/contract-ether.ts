/**
 * Ether that contracts send. It leaves no log and is no transaction's own value, so it shows only in the balance: what
 * an address holds after a block, less what it held before, less the top-level transfers to it, plus what it sent
 * itself. Validator withdrawals and block rewards are found the same way.
 */
import { SENT_BY_CONTRACT } from '../../core/ether-outputs.ts'
import { notBelowZero } from '../../core/money.ts'
import type { ChainTransaction } from '../chain.ts'
import { type ExecutedTransaction, movesEther, toLookup } from './transactions.ts'
import type { Hex, WireBlock } from './wire.ts'

/**
 * keccak256 of `Swept(uint256)`: the sweep delegate says how much ether it moved out of the address it runs at
 * (EIP-7702). A log of an account itself can only come from code that the account's key authorised.
 */
const SWEPT_TOPIC = '0x7f221332ee403570bf4d61630b58189ea566ff1635269001e9df6a890f413dd8'

/**
 * What contracts sent an account in a block. Never below zero: ether that our own delegate moved out without saying so
 * can hide a credit in the same block, it can not invent one.
 */
export function creditFromContracts(
  account: string,
  before: bigint,
  after: bigint,
  executed: readonly ExecutedTransaction[],
): bigint {
  let credit = after - before
  for (const one of executed) {
    if (movesEther(one) && one.transaction.to === account) credit -= one.transaction.wei
    if (one.transaction.from === account) {
      credit += one.receipt.feeWei
      if (movesEther(one)) credit += one.transaction.wei
    }
    for (const log of one.receipt.logs) {
      if (log.address === account && log.topics[0] === SWEPT_TOPIC && log.data.length === 66) {
        credit += BigInt(log.data)
      }
    }
  }
  return notBelowZero(credit)
}

export interface ContractCredit {
  readonly account: Hex
  readonly atoms: bigint
}

/** The credit as a transaction of its own: no single transaction's outputs name it. */
export function creditTransaction(
  block: Pick<WireBlock, 'hash'>,
  credit: ContractCredit,
  hash: string | null,
): ChainTransaction {
  return {
    key: `internal:${block.hash}:${credit.account}`,
    hash,
    outputs: [
      {
        lookup: toLookup(credit.account),
        index: SENT_BY_CONTRACT,
        asset: 'ETH',
        atoms: credit.atoms,
      },
    ],
    inputs: [],
  }
}

/** One movement of ether inside a transaction, from a trace. */
export interface TracedTransfer {
  readonly transactionHash: Hex
  readonly to: Hex
  readonly wei: bigint
}

/** The transaction that sent a credit: the only one whose trace pays the account, and exactly that much; else null. */
export function clearSource(credit: ContractCredit, traced: readonly TracedTransfer[]): string | null {
  const paying = traced.filter((transfer) => transfer.to === credit.account)
  const [first] = paying
  if (!first || paying.some((transfer) => transfer.transactionHash !== first.transactionHash)) return null
  const sum = paying.reduce((total, transfer) => total + transfer.wei, 0n)
  return sum === credit.atoms ? first.transactionHash : null
}
