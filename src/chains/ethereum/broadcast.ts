/** Sending signed bytes, and understanding what the many Ethereum clients answer to it. */
import { keccak256 } from 'viem/utils'
import { OutsideFailure } from '../../core/errors.ts'
import type { BroadcastOutcome } from '../chain.ts'
import { isUnsupported, type Rpc, type RpcError } from './rpc.ts'
import { hex } from './wire.ts'

/** Geth and Erigon "already known", Nethermind "AlreadyKnown", Besu "Known transaction", Parity and Anvil "already imported". */
const ALREADY_KNOWN = /already[ _]?known|already[ _]?(imported|exists)|known[ _]transaction/i

/**
 * Words of an answer that is about the transaction, whatever its code. Codes are of no use: clients answer refusals
 * with -32000, -32003, -32010 and even -32603, "internal error".
 */
const REFUSAL =
  /nonce|underpriced|insufficient|gas|fee|balance|intrinsic|oversized|exceeds|invalid|not (allowed|supported)|chain ?id|signature|sender|rejected|revert|blacklist|txpool|pool|queue|rlp|decode|type/i

export async function broadcastRaw(rpc: Rpc, rawTransaction: string): Promise<BroadcastOutcome> {
  const raw = hex(rawTransaction, 'raw transaction')
  const [answer] = await rpc.ask([{ method: 'eth_sendRawTransaction', params: [raw] }])
  if (!answer || 'result' in answer) return { kind: 'accepted' }
  if (ALREADY_KNOWN.test(answer.error.message)) return { kind: 'already_known' }

  // "Nonce too low" is also the answer when a block already holds exactly these bytes: the hash tells.
  const known = await rpc.get('eth_getTransactionByHash', [keccak256(raw)])
  if (known !== null) return { kind: 'already_known' }
  if (isAboutTheTransaction(answer.error)) {
    return { kind: 'refused', reason: `${answer.error.message} (${answer.error.code})` }
  }
  throw new OutsideFailure(
    `the ethereum node could not take a transaction: ${answer.error.message} (${answer.error.code}); nobody knows whether it did`,
    { retryable: true },
  )
}

const isAboutTheTransaction = (error: RpcError): boolean =>
  !isUnsupported(error) && (error.code !== -32603 || REFUSAL.test(error.message))
