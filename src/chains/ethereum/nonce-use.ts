/** Which transaction used a nonce: by halves through the blocks in which the account's count passed it. */
import type { NonceUse } from '../chain.ts'
import { type Rpc, type RpcCall, take } from '../json-rpc.ts'
import { authorityOf } from './signed-transaction.ts'
import { isStateGone } from './state-gone.ts'
import { type Hex, hex, isAbsent, list, quantity, readBlockRef, record, toQuantity } from './wire.ts'

/** Most full nodes keep the state of the last 128 blocks, and the height asked up to lies deep among them; some keep 64. */
const BLOCKS_LOOKED_BACK = 60

/** By a transaction of the account's, or by an authorisation of its (EIP-7702), which uses one in somebody else's. */
export async function findNonceUse(
  rpc: Rpc,
  sender: string,
  nonce: bigint,
  upToHeight: number,
): Promise<NonceUse> {
  const account = hex(sender, 'address', 20)
  const countAt = (at: string): RpcCall => ({ method: 'eth_getTransactionCount', params: [account, at] })
  /** Null when the node has that state no longer. */
  const isUsedAt = async (height: number): Promise<boolean | null> => {
    const [answer] = await rpc.batch([countAt(toQuantity(height))])
    if (answer?.error && (await isStateGone(rpc, height, answer.error, countAt('latest')))) return null
    return quantity(take(answer), 'nonce') > nonce
  }
  const isUsedNow = async (): Promise<boolean> =>
    quantity(await rpc.call('eth_getTransactionCount', [account, 'latest']), 'nonce') > nonce

  const isUsed = upToHeight >= 0 && (await isUsedAt(upToHeight))
  // Without that state: whether it is used at all, which every node knows.
  if (isUsed === null) return { kind: (await isUsedNow()) ? 'unclear' : 'unused' }
  if (!isUsed) return { kind: 'unused' }
  let since = upToHeight
  let before = upToHeight
  // Ever further back, as far as the node remembers: an archive tells of all there was.
  for (let blocks = BLOCKS_LOOKED_BACK, isUsedThere: boolean | null = true; isUsedThere; blocks *= 2) {
    since = before
    before = Math.max(-1, before - blocks)
    isUsedThere = before >= 0 && (await isUsedAt(before))
    if (isUsedThere === null) return { kind: 'unclear' }
  }
  while (since - before > 1) {
    const middle = (before + since) >> 1
    const isUsedThere = await isUsedAt(middle)
    if (isUsedThere === null) return { kind: 'unclear' }
    if (isUsedThere) since = middle
    else before = middle
  }
  const found = await rpc.call('eth_getBlockByNumber', [toQuantity(since), true])
  const transactions = list(record(found, 'block').transactions, 'block.transactions').map((transaction) =>
    record(transaction, 'transaction'),
  )
  const user =
    transactions.find(
      ({ from, nonce: used }) =>
        hex(from, 'transaction.from', 20) === account && quantity(used, 'transaction.nonce') === nonce,
    ) ?? findAuthorised(transactions, account, nonce)
  if (!user) return { kind: 'unclear' }
  return { kind: 'used', txid: hex(user.hash, 'transaction.hash', 32), block: readBlockRef(found) }
}

/**
 * The transaction that carries an authorisation which an account signed for a nonce.
 *
 * @see https://eips.ethereum.org/EIPS/eip-7702
 */
function findAuthorised(
  transactions: readonly Record<string, unknown>[],
  account: string,
  nonce: bigint,
): Record<string, unknown> | undefined {
  for (const transaction of transactions) {
    const { authorizationList } = transaction
    if (isAbsent(authorizationList)) continue
    for (const one of list(authorizationList, 'transaction.authorizationList')) {
      if (authorityForNonce(one, nonce) === account) return transaction
    }
  }
  return undefined
}

/** Who signed an authorisation of this nonce; null for another one, and for what nobody signed. */
function authorityForNonce(value: unknown, nonce: bigint): Hex | null {
  try {
    const { address, chainId, r, s, yParity, ...of } = record(value, 'authorization')
    if (quantity(of.nonce, 'authorization.nonce') !== nonce) return null
    return authorityOf({
      address: hex(address, 'authorization.address', 20),
      chainId: Number(quantity(chainId, 'authorization.chainId')),
      nonce,
      r: quantity(r, 'authorization.r'),
      s: quantity(s, 'authorization.s'),
      yParity: Number(quantity(yParity, 'authorization.yParity')),
    })
  } catch {
    // Blocks may hold anything in place of an authorisation, of any length: what is none authorises nothing.
    return null
  }
}
