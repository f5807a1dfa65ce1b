/** JSON-RPC to Bitcoin and Litecoin Core (0.21 and newer). */
import { authorizationOf, openRpcOverHttp, type RpcNode, type RpcOverHttp } from '../json-rpc.ts'

export interface CoreRpc extends RpcOverHttp {
  /** Scheme, host and port: fit for messages and log lines. */
  readonly endpoint: string
  readonly host: string
}

// Codes of Core's src/rpc/protocol.h.
export const RPC_INTERNAL_ERROR = -32_603
export const RPC_INVALID_ADDRESS_OR_KEY = -5
export const RPC_INVALID_PARAMETER = -8
/** Named `RPC_VERIFY_ALREADY_IN_CHAIN` before Core 28. */
export const RPC_VERIFY_ALREADY_IN_UTXO_SET = -27
const RPC_NOT_CONNECTED = -9
const RPC_IN_INITIAL_DOWNLOAD = -10
const RPC_IN_WARMUP = -28
const BUSY_CODES = new Set([RPC_NOT_CONNECTED, RPC_IN_INITIAL_DOWNLOAD, RPC_IN_WARMUP])

/** Core up to 28 works on four requests at a time and refuses more than sixteen waiting; 29 and newer on sixteen and 64. */
const CONNECTIONS_MAX = 4
/** The largest block is 8 MB of hex; a batch of transactions is bounded by its caller. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024

/**
 * @param url - `http://user:password@host:port`; characters of the password that a URL reserves are percent-encoded.
 * @throws {RangeError} when it is no such URL. The message does not repeat it.
 */
export function openCoreRpc(url: string, defaultPort: number): CoreRpc {
  const { host, endpoint, ...target } = readUrl(url, defaultPort)
  const node: RpcNode = {
    ...target,
    name: `the node at ${endpoint}`,
    answerBytesMax: ANSWER_BYTES_MAX,
    connectionsMax: CONNECTIONS_MAX,
    redact: (text) => text,
    judge: (code) => (BUSY_CODES.has(code) ? 'busy' : 'final'),
    explain,
  }
  return { ...openRpcOverHttp(node), host, endpoint }
}

interface Target extends Pick<RpcNode, 'url' | 'headers'> {
  readonly endpoint: string
  readonly host: string
}

function readUrl(text: string, defaultPort: number): Target {
  const url = URL.parse(text)
  const headers = url && authorizationOf(url)
  if (!headers || !/^https?:$/.test(url.protocol) || !url.hostname) {
    throw new RangeError(
      'a node URL is http://user:password@host:port with reserved characters of the password percent-encoded, got something else',
    )
  }
  const schemePort = url.protocol === 'https:' ? '443' : '80'
  const portGiven = /^https?:\/\/(?:[^@/]*@)?[^/?#]*:\d+(?:[/?#]|$)/i.test(text)
  const port = url.port || (portGiven || url.protocol === 'https:' ? schemePort : String(defaultPort))
  const endpoint = `${url.protocol}//${url.hostname}:${port}`
  return {
    endpoint,
    url: endpoint + url.pathname,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    headers,
  }
}

function explain(status: number, methods: string): string | null {
  if (status === 401)
    return 'refuses the user or password in its URL: compare them with rpcuser and rpcpassword, or rpcauth, of the node (what it writes to .cookie changes with every start)'
  // An address that rpcallowip leaves out, and a user whose rpcwhitelist leaves a method out, get the same bare answer.
  if (status === 403)
    return `does not allow ${methods} (HTTP 403): see to it that rpcallowip has this machine and rpcwhitelist, where it is used, these methods`
  return null
}
