/**
 * What many addresses hold after a block, in one `eth_call` for hundreds of them.
 *
 * One `eth_getBalance` per address would be two calls per watched address and block; providers count and limit calls.
 * `contracts/Balances.sol` is run as a constructor instead and never deployed. A thousand addresses with two tokens
 * are 4 calls in one batch instead of 3,000. It answers by its revert, which costs no gas for code; ENS needs the same of nodes
 * (EIP-3668).
 */
import { encode } from 'ox/AbiConstructor'
import { OutsideFailure } from '../../core/errors.ts'
import { type Rpc, type RpcAnswer, type RpcCall, take } from '../json-rpc.ts'
import artifacts from './contracts/artifacts.json' with { type: 'json' }
import { isReverted } from './rpc.ts'
import { type Hex, hex } from './wire.ts'

const BALANCES = {
  type: 'constructor',
  stateMutability: 'nonpayable',
  inputs: [
    { name: 'accounts', type: 'address[]' },
    { name: 'tokens', type: 'address[]' },
    { name: 'reverts', type: 'bool' },
  ],
} as const

/** An answer that is returned has to stay below 24,576 bytes, deployed code's bound. */
const WORDS_MAX = 750
const WORD_DIGITS = 64

/** Whose errors come without what a call reverted with: they are asked for returned answers, for more gas. */
const withoutData = new WeakSet<Rpc>()

type BalancesAt = { readonly blockHash: string } | 'latest'

/** The calls that read ether and the tokens of every account, at a block hash (EIP-1898) or the latest block. */
export function balanceCalls(
  rpc: Rpc,
  accounts: readonly string[],
  tokens: readonly Hex[],
  at: BalancesAt,
): RpcCall[] {
  const perCall = Math.floor(WORDS_MAX / (tokens.length + 1))
  const calls: RpcCall[] = []
  for (let start = 0; start < accounts.length; start += perCall) {
    const data = encode(BALANCES, {
      bytecode: hex(artifacts.contracts.Balances.bytecode, 'bytecode'),
      args: [accounts.slice(start, start + perCall).map(toAddress), [...tokens], !withoutData.has(rpc)],
    })
    calls.push({ method: 'eth_call', params: [{ data }, at] })
  }
  return calls
}

/**
 * The answers to {@link balanceCalls}, be they reverted with or returned. A node that drops them is asked otherwise the next time.
 *
 * @returns Errors where the reading failed.
 */
export const balanceAnswers = (rpc: Rpc, answers: readonly RpcAnswer[]): RpcAnswer[] =>
  answers.map((answer) => {
    if (!answer.error) return answer
    const [data] = /0x[0-9a-f]+$/i.exec(String(answer.error.data)) ?? []
    if (data === undefined && isReverted(answer.error)) withoutData.add(rpc)
    // What Solidity itself reverts with has four bytes more than words.
    const isAnswer = data !== undefined && (data.length - 2) % WORD_DIGITS === 0
    return isAnswer ? { result: data } : answer
  })

/**
 * Asks for balances in one exchange. A node that turns out to drop what the calls revert with is asked again at once, otherwise.
 *
 * @returns For each of `asked` what {@link balanceAnswers} gives.
 */
export async function askBalances(
  rpc: Rpc,
  tokens: readonly Hex[],
  asked: readonly { readonly accounts: readonly string[]; readonly at: BalancesAt }[],
): Promise<RpcAnswer[][]> {
  const ask = async () => {
    const calls = asked.map(({ accounts, at }) => balanceCalls(rpc, accounts, tokens, at))
    const answers = balanceAnswers(rpc, await rpc.batch(calls.flat()))
    return calls.map(({ length }) => answers.splice(0, length))
  }
  const wasKnown = withoutData.has(rpc)
  const answers = await ask()
  return wasKnown || !withoutData.has(rpc) ? answers : ask()
}

/**
 * The balances that {@link balanceAnswers} hold: for each account ether, then its tokens.
 *
 * @throws {OutsideFailure} when an answer is an error or not as long as asked.
 */
export function readBalances(
  answers: readonly RpcAnswer[],
  accountCount: number,
  tokenCount: number,
): bigint[][] {
  const words = answers.flatMap((answer) => {
    const digits = hex(take(answer), 'balances').slice(2)
    return Array.from({ length: digits.length / WORD_DIGITS }, (_, word) =>
      BigInt(`0x${digits.slice(word * WORD_DIGITS, (word + 1) * WORD_DIGITS)}`),
    )
  })
  const width = tokenCount + 1
  if (words.length !== accountCount * width) {
    throw new OutsideFailure(
      `the ethereum node gave ${words.length} balances, expected ${accountCount * width}`,
      {
        retryable: true,
      },
    )
  }
  return Array.from({ length: accountCount }, (_, account) =>
    words.slice(account * width, (account + 1) * width),
  )
}

const toAddress = (address: string): Hex => hex(address, 'address', 20)
