/** JSON-RPC to an Ethereum node. Users, passwords and the keys that providers put into paths are secrets. */
import { OutsideFailure } from '../../core/errors.ts'
import { authorizationOf, type NodeError, type RpcNode } from '../json-rpc.ts'

/** Providers refuse larger batches. */
const BATCH_CALLS_MAX = 100
/** A full block of receipts is a tenth of this. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** @throws {OutsideFailure} when the text is no URL of the given protocols; the text itself is never shown. */
export function readNode(text: string, protocols: readonly string[]): RpcNode {
  const url = URL.parse(text)
  const headers = url && authorizationOf(url)
  if (!headers || !protocols.includes(url.protocol)) {
    throw new OutsideFailure(
      `the URL of the ethereum node is not of the form ${protocols.join('// or ')}//host:port; correct it`,
      { retryable: false },
    )
  }
  const bare = new URL(url)
  bare.username = ''
  bare.password = ''
  const secrets = [text, bare.href, decodeURIComponent(url.username), decodeURIComponent(url.password)]
    .concat(url.pathname, url.search, url.pathname.split('/'), [...url.searchParams.values()])
    .filter((part) => part.length > 5)
    .sort((a, b) => b.length - a.length)
  return {
    name: `the ethereum node at ${url.host}`,
    url: bare.href,
    headers,
    version: '2.0',
    answerBytesMax: ANSWER_BYTES_MAX,
    batchCallsMax: BATCH_CALLS_MAX,
    redact: (message) =>
      secrets.reduce((clean, secret) => clean.replaceAll(secret, '***'), message).slice(0, 300),
    judge,
  }
}

type Said = Pick<NodeError, 'code' | 'answer'>

/**
 * Whether an error says that code which the node ran reverted. What such an answer says further is text that the author of that
 * code chose, a stranger: nothing the node says of itself. By words before codes: of reverts geth, Erigon and Anvil answer 3, Besu
 * -32000, and Nethermind -32015 with words of its own before it said what geth says.
 */
export const isReverted = ({ code, answer }: Said): boolean =>
  code === 3 || /revert|vm execution error/i.test(answer)

/**
 * Words of who limits how much is asked: Infura and Chainstack (-32005), Alchemy (429), QuickNode (-32007 and -32003), dRPC
 * (15), and others.
 */
const LIMITED =
  /rate.?limit|too many requests?\b|per.second|\brps\b|compute units|\bcredits?\b|\bquota\b|\brequests? (limit|count|rate)|exceeded .*(capacity|throughput)|(capacity|throughput) .*exceeded|limit .*\b(plan|upgrade)\b/i

/**
 * Whether an error says only that too much is asked. By words before codes: -32005 is a limit on requests in EIP-1474, and of Besu
 * also a transaction with more gas than a block has, a batch that is too long, or too many blocks.
 */
export const isLimited = (error: Said): boolean =>
  !isReverted(error) &&
  (LIMITED.test(error.answer) ||
    error.code === 429 ||
    (error.code === -32005 && !/\bgas\b|\bbatch|\brange\b/i.test(error.answer)))

/** By words alone no call fails the others of its batch: a client may give a revert's reason and not say that it is one. */
const judge = (code: number, answer: string): 'busy' | 'passing' =>
  (code === 429 || code === -32005) && isLimited({ code, answer }) ? 'busy' : 'passing'

/**
 * Whether an error says that the node has no such method, or does not offer it to us. Not by -32004 of EIP-1474, which is Besu's for
 * a sender who cannot pay.
 */
export const isUnsupported = (error: Said): boolean =>
  !isReverted(error) &&
  !isLimited(error) &&
  (error.code === -32601 ||
    /(method|\b(eth|debug|trace)_\w+)\b.*((not|n't) (found|supported|available|allowed|enabled|exist|implemented)|disabled|unsupported)|(unsupported|unknown) method/i.test(
      error.answer,
    ))
