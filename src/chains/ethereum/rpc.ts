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

/** Codes of a node without time: -32005 (EIP-1474), 429 of providers. */
const judge = (code: number, answer: string): 'busy' | 'passing' =>
  code === -32005 || code === 429 || /rate limit|too many requests/i.test(answer) ? 'busy' : 'passing'

/** Whether an error says that the node has no such method, or does not offer it to us. */
export const isUnsupported = ({ code, answer }: NodeError): boolean =>
  code === -32601 ||
  code === -32004 ||
  /method.*(not (found|supported|available|allowed|exist)|disabled|unsupported)|does not exist|unsupported method/i.test(
    answer,
  )
