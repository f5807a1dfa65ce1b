/**
 * A WebSocket to an Ethereum node: carries calls where the node is given as ws(s)://, and tells of new heads.
 * It connects when it is needed, and again after a loss; what was under way then fails and is asked again by polling.
 */
import { OutsideFailure } from '../../core/errors.ts'
import { SECOND_MS } from '../../core/time.ts'
import { type Carrier, type NodeUrl, RPC_TIMEOUT_MS } from './rpc.ts'

const RECONNECT_MS = 5 * SECOND_MS
/** Keeps proxies from closing a quiet connection. */
const PING_MS = 30 * SECOND_MS
const HEADS_ID = 'heads'

export interface NodeSocket extends Carrier {
  /** Calls back at every new head, from now until the returned function is called. Hints may be lost. */
  onHead(wake: () => void): () => void
}

interface Waiting {
  readonly answers: unknown[]
  readonly expected: number
  resolve(answers: unknown): void
  reject(error: Error): void
}

export function openSocket(node: NodeUrl): NodeSocket {
  const wakers = new Set<() => void>()
  const waiting = new Map<unknown, Waiting>()
  let connection: Promise<WebSocket> | undefined
  let reconnect: NodeJS.Timeout | undefined
  let subscribed = false
  let closed = false

  const failure = (what: string) =>
    new OutsideFailure(`${node.name} ${node.redact(what)}`, { retryable: true })

  function connect(): Promise<WebSocket> {
    connection ??= new Promise<WebSocket>((resolve, reject) => {
      const socket = new WebSocket(node.bare, { headers: node.headers })
      const timer = setTimeout(() => socket.close(), RPC_TIMEOUT_MS)
      const ping = setInterval(() => send(socket, { id: 'ping', method: 'net_version' }), PING_MS)
      ping.unref()
      socket.addEventListener('open', () => {
        clearTimeout(timer)
        subscribe(socket)
        resolve(socket)
      })
      socket.addEventListener('message', (event) => receive(event.data))
      socket.addEventListener('error', () => socket.close())
      socket.addEventListener('close', () => {
        clearTimeout(timer)
        clearInterval(ping)
        connection = undefined
        subscribed = false
        reject(failure('did not accept the WebSocket connection'))
        for (const call of new Set(waiting.values())) call.reject(failure('closed the WebSocket connection'))
        waiting.clear()
        reconnectLater()
      })
    })
    return connection
  }

  function reconnectLater() {
    if (closed || wakers.size === 0 || reconnect) return
    reconnect = setTimeout(() => {
      reconnect = undefined
      connect().catch(() => {})
    }, RECONNECT_MS)
    reconnect.unref()
  }

  function subscribe(socket: WebSocket) {
    if (subscribed || wakers.size === 0) return
    subscribed = true
    send(socket, { id: HEADS_ID, method: 'eth_subscribe', params: ['newHeads'] })
  }

  function receive(data: unknown) {
    let message: unknown
    try {
      message = JSON.parse(String(data))
    } catch {
      return
    }
    for (const answer of Array.isArray(message) ? message : [message]) {
      if (answer?.method === 'eth_subscription') for (const wake of wakers) wake()
      const call = waiting.get(answer?.id)
      if (!call) continue
      waiting.delete(answer.id)
      call.answers.push(answer)
      if (call.answers.length === call.expected) call.resolve(call.answers)
    }
  }

  return {
    async carry(requests) {
      if (closed) throw failure('is closed')
      const socket = await connect()
      const ids = requests.map((request) => ('id' in request ? request.id : undefined))
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      const call: Waiting = { answers: [], expected: requests.length, resolve, reject }
      for (const id of ids) waiting.set(id, call)
      const timer = setTimeout(
        () => reject(failure(`did not answer within ${RPC_TIMEOUT_MS / SECOND_MS} s`)),
        RPC_TIMEOUT_MS,
      )
      try {
        for (const request of requests) socket.send(JSON.stringify(request))
        return await promise
      } finally {
        clearTimeout(timer)
        for (const id of ids) waiting.delete(id)
      }
    },
    onHead(wake) {
      wakers.add(wake)
      connect().then(subscribe, reconnectLater)
      return () => {
        wakers.delete(wake)
      }
    },
    close() {
      closed = true
      clearTimeout(reconnect)
      connection?.then((socket) => socket.close()).catch(() => {})
    },
  }
}

function send(socket: WebSocket, request: object) {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ jsonrpc: '2.0', ...request }))
}
