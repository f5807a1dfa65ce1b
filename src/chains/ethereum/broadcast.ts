/** Sending signed bytes, and understanding what the many Ethereum clients answer to it. */
import { keccak256 } from 'ox/Hash'
import { OutsideFailure } from '../../core/errors.ts'
import type { BroadcastOutcome } from '../chain.ts'
import type { NodeError, Rpc } from '../json-rpc.ts'
import { isLimited, isReverted, isUnsupported } from './rpc.ts'
import { hex } from './wire.ts'

/** Geth and Erigon "already known", Nethermind "AlreadyKnown", Besu "Known transaction", Parity and Anvil "already imported". */
const ALREADY_KNOWN = /already[ _]?known|already[ _]?(imported|exists)|\bknown[ _]transaction\b/i
/** Besu's -32008: the node cannot judge any transaction yet. */
const SYNCHRONISES = /\bsync/i
/** Such as "unknown transaction type", or account: it may say of what. */
const UNKNOWN = /\bunknown/i

/**
 * Words of an answer that is about the transaction, whatever its code. Codes are of no use: clients answer refusals
 * with -32000, -32003, -32010 and even -32603, "internal error".
 */
const REFUSAL =
  /nonce|underpriced|insufficient|gas|fee|balance|intrinsic|oversized|exceeds|invalid|not (allowed|supported)|chain ?id|signature|sender|rejected|revert|blacklist|txpool|pool|queue|rlp|decode|type/i

export async function broadcastRaw(rpc: Rpc, rawTransaction: string): Promise<BroadcastOutcome> {
  const raw = hex(rawTransaction, 'raw transaction')
  const [answered] = await rpc.batch([{ method: 'eth_sendRawTransaction', params: [raw] }])
  if (!answered?.error) return { kind: 'accepted' }
  const { code, answer } = answered.error
  const isKnown = ALREADY_KNOWN.test(answer) && !UNKNOWN.test(answer)
  if (isKnown && !isReverted(answered.error)) return { kind: 'already_known' }

  // "Nonce too low" is also the answer when a block already holds exactly these bytes: the hash tells.
  const known = await rpc.call('eth_getTransactionByHash', [keccak256(raw)])
  if (known !== null) return { kind: 'already_known' }
  if (isAboutTheTransaction(answered.error)) return { kind: 'refused', reason: `${answer} (${code})` }
  throw new OutsideFailure(
    `the ethereum node could not take a transaction: ${answer} (${code}); nobody knows whether it did`,
    { retryable: true },
  )
}

const isAboutTheTransaction = (error: NodeError): boolean =>
  isReverted(error) ||
  (!isUnsupported(error) &&
    !isLimited(error) &&
    !SYNCHRONISES.test(error.answer) &&
    (error.code !== -32603 || REFUSAL.test(error.answer)))
