/** Which transaction used a nonce: by halves through the blocks in which the account's count passed it. */
import type { NonceUse } from '../chain.ts'
import type { Rpc } from '../json-rpc.ts'
import { hex, list, quantity, readBlockRef, record, toQuantity } from './wire.ts'

/** A full node keeps the state of the last 128 blocks, and the height asked up to lies deep among them. */
const BLOCKS_LOOKED_BACK = 60

export async function findNonceUse(
  rpc: Rpc,
  sender: string,
  nonce: bigint,
  upToHeight: number,
): Promise<NonceUse> {
  const account = hex(sender, 'address', 20)
  /** Null when the node answers with an error: it has that state no longer, in whatever words. */
  const isUsedAt = async (height: number): Promise<boolean | null> => {
    const params = [account, toQuantity(height)]
    const [answer] = await rpc.batch([{ method: 'eth_getTransactionCount', params }])
    return answer && !answer.error ? quantity(answer.result, 'nonce') > nonce : null
  }

  if (upToHeight < 0 || !(await isUsedAt(upToHeight))) return { kind: 'unused' }
  let before = Math.max(-1, upToHeight - BLOCKS_LOOKED_BACK)
  let since = upToHeight
  if (before >= 0 && (await isUsedAt(before)) !== false) return { kind: 'unclear' }
  while (since - before > 1) {
    const middle = (before + since) >> 1
    const isUsedThere = await isUsedAt(middle)
    if (isUsedThere === null) return { kind: 'unclear' }
    if (isUsedThere) since = middle
    else before = middle
  }
  const found = await rpc.call('eth_getBlockByNumber', [toQuantity(since), true])
  const user = list(record(found, 'block').transactions, 'block.transactions')
    .map((transaction) => record(transaction, 'transaction'))
    .find(
      ({ from, nonce: used }) =>
        hex(from, 'transaction.from', 20) === account && quantity(used, 'transaction.nonce') === nonce,
    )
  // An authorisation (EIP-7702) uses a nonce too, in somebody else's transaction.
  if (!user) return { kind: 'unclear' }
  return { kind: 'used', txid: hex(user.hash, 'transaction.hash', 32), block: readBlockRef(found) }
}
