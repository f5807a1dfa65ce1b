/** Whether transfers would succeed if they entered the next block, asked before anything is signed: a call that reverts costs its gas. */
import type { Asset } from '../../core/assets.ts'
import { messageOf } from '../../core/errors.ts'
import type { Rehearsal, RehearsedTransfer } from '../chain.ts'
import { type NodeError, type Rpc, type RpcAnswer, type RpcCall, take } from '../json-rpc.ts'
import { balanceAnswers, balanceCalls, readBalances } from './balances.ts'
import { isLimited, isReverted } from './rpc.ts'
import type { TokenContracts } from './transactions.ts'
import { transferCall } from './transfer-call.ts'
import { quantity, readBlockRef, toQuantity } from './wire.ts'

/** Words of an answer that the call needs more gas than it may use, or fails otherwise than by a revert. */
const FAILS =
  /gas required exceeds|out of ?gas|invalid ?opcode|(vm execution|evm) error|intrinsic gas|stack (under|over)flow/i
/** Words of an answer that is about the sender's ether, whatever else it says; in a revert's reason they are a stranger's. */
const SENDER_IS_SHORT = /insufficient funds/i

export async function rehearse(
  rpc: Rpc,
  tokens: TokenContracts,
  transfers: readonly RehearsedTransfer[],
): Promise<Rehearsal[]> {
  if (transfers.length === 0) return []
  const assets: readonly Asset[] = ['ETH', ...tokens.values()]
  const contracts = new Map<Asset, string>([...tokens].map(([address, asset]) => [asset, address]))
  // All at one block: what a sender held before its last payout says nothing about the next one.
  const { height, hash } = readBlockRef(await rpc.call('eth_getBlockByNumber', ['latest', false]))
  const senders = [...new Set(transfers.map(({ from }) => from))]
  const holdings = balanceCalls(rpc, senders, [...tokens.keys()], { blockHash: hash })
  const answers = await rpc.batch([
    ...holdings,
    ...transfers.map((transfer): RpcCall => {
      const { to, value, data } = transferCall(contracts.get(transfer.asset) ?? null, transfer)
      const call = {
        from: transfer.from,
        to,
        value: toQuantity(value),
        data,
        gas: toQuantity(transfer.gasMax),
      }
      return { method: 'eth_estimateGas', params: [call, toQuantity(height)] }
    }),
    { method: 'eth_getBlockByNumber', params: [toQuantity(height), false] },
  ])
  // By its height a call is asked on whatever block stands there: one that reverts there only is no reason to refuse it.
  const there = take(answers.at(-1))
  if (there === null || readBlockRef(there).hash !== hash) {
    const reason = `block ${height} was another one a moment later, or another node answered`
    return transfers.map(() => ({ kind: 'unclear', reason }))
  }
  const held = readBalances(
    balanceAnswers(rpc, answers.slice(0, holdings.length)),
    senders.length,
    tokens.size,
  )
  return transfers.map(({ from, asset, atoms, gasMax }, position) => {
    const has = held[senders.indexOf(from)]?.[assets.indexOf(asset)] ?? 0n
    if (has < atoms) return { kind: 'short' }
    return judgeEstimate(answers[holdings.length + position], gasMax)
  })
}

/** What an answer to `eth_estimateGas` says about the call that may use so much gas. */
export function judgeEstimate(answer: RpcAnswer | undefined, gasMax: bigint): Rehearsal {
  if (!answer) return { kind: 'unclear', reason: 'the node left an answer out' }
  if (answer.error) return judgeError(answer.error)
  let gas: bigint
  try {
    gas = quantity(answer.result, 'estimate of gas')
  } catch (error) {
    return { kind: 'unclear', reason: messageOf(error) }
  }
  // Some clients estimate beyond the gas that the call may use.
  return gas > gasMax ? { kind: 'reverts', reason: `it needs ${gas} gas of ${gasMax}` } : { kind: 'succeeds' }
}

const judgeError = (error: NodeError): Rehearsal => {
  const { answer, code } = error
  const reason = `${answer} (${code})`
  const isItsOwn =
    isReverted(error) || (FAILS.test(answer) && !isLimited(error) && !SENDER_IS_SHORT.test(answer))
  return isItsOwn ? { kind: 'reverts', reason } : { kind: 'unclear', reason }
}
