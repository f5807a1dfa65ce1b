/**
 * A WebSocket to an Ethereum node: carries calls where the node is given as ws(s)://, and tells of new heads.
 * It connects when it is needed, and again after a loss; what was under way then fails and is asked again by polling.
 */
import { OutsideFailure } from '../../core/errors.ts'
import { member, parseJson } from '../../core/json.ts'
import { SECOND_MS } from '../../core/time.ts'
import { type Carrier, RPC_TIMEOUT_MS, type RpcNode, type RpcRequest } from '../json-rpc.ts'

const RECONNECT_MS = 5 * SECOND_MS
/**
 * Keeps proxies from closing a quiet connection. One on which nothing came since the last ping is given up: a proxy may keep it open
 * though its node is gone, and the kernel one that was cut for a quarter of an hour.
 */
const PING_MS = 10 * SECOND_MS
const HEADS_ID = 'heads'

export interface NodeSocket extends Carrier {
  /** Calls back at every new head, from now until the returned function is called. Hints may be lost. */
  onHead(wake: () => void): () => void
}

interface Waiting {
  readonly answers: unknown[]
  readonly expected: number
  resolve(answers: readonly unknown[]): void
  reject(error: Error): void
}

export function openSocket(node: RpcNode): NodeSocket {
  return new ReconnectingSocket(node)
}

class ReconnectingSocket implements NodeSocket {
  readonly #node: RpcNode
  readonly #wakers = new Set<() => void>()
  readonly #waiting = new Map<unknown, Waiting>()
  #connection: Promise<WebSocket> | undefined
  #socket: WebSocket | undefined
  #heardAtMs = 0
  #reconnect: NodeJS.Timeout | undefined
  #isSubscribed = false
  #isClosed = false

  constructor(node: RpcNode) {
    this.#node = node
  }

  async carry(asked: RpcRequest | readonly RpcRequest[], timeoutMs: number): Promise<unknown> {
    if (this.#isClosed) throw this.#failure('is closed')
    const requests = [asked].flat()
    const socket = await this.#connect()
    const { promise, resolve, reject } = Promise.withResolvers<readonly unknown[]>()
    const call: Waiting = { answers: [], expected: requests.length, resolve, reject }
    for (const { id } of requests) this.#waiting.set(id, call)
    const late = `did not answer within ${timeoutMs / SECOND_MS} s`
    const timer = setTimeout(() => reject(this.#failure(late)), timeoutMs)
    try {
      for (const request of requests) socket.send(JSON.stringify(request))
      const answers = await promise
      return Array.isArray(asked) ? answers : answers[0]
    } finally {
      clearTimeout(timer)
      for (const { id } of requests) this.#waiting.delete(id)
    }
  }

  onHead(wake: () => void): () => void {
    this.#wakers.add(wake)
    this.#connect().then(
      (socket) => this.#subscribe(socket),
      () => this.#reconnectLater(),
    )
    return () => {
      this.#wakers.delete(wake)
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#reconnect)
    this.#connection?.then((socket) => socket.close()).catch(() => {})
  }

  #connect(): Promise<WebSocket> {
    this.#connection ??= new Promise<WebSocket>((resolve, reject) => {
      const socket = new WebSocket(this.#node.url, { headers: this.#node.headers })
      const timer = setTimeout(() => socket.close(), RPC_TIMEOUT_MS)
      this.#socket = socket
      let pingedAtMs = Number.NEGATIVE_INFINITY
      const ping = setInterval(() => {
        if (this.#socket !== socket) clearInterval(ping)
        else if (this.#heardAtMs < pingedAtMs) this.#drop(socket)
        else {
          pingedAtMs = performance.now()
          send(socket, { id: 'ping', method: 'net_version' })
        }
      }, PING_MS)
      ping.unref()
      socket.addEventListener('open', () => {
        clearTimeout(timer)
        this.#subscribe(socket)
        resolve(socket)
      })
      socket.addEventListener('message', (event) => this.#receive(String(event.data)))
      socket.addEventListener('error', () => socket.close())
      socket.addEventListener('close', () => {
        clearTimeout(timer)
        clearInterval(ping)
        reject(this.#failure('did not accept the WebSocket connection'))
        this.#lose(socket)
      })
    })
    return this.#connection
  }

  /** Does not wait for the other side to agree: it may never. */
  #drop(socket: WebSocket): void {
    this.#lose(socket)
    socket.close()
  }

  /** Once for each: another one may have taken its place. */
  #lose(socket: WebSocket): void {
    if (this.#socket !== socket) return
    this.#socket = undefined
    this.#connection = undefined
    this.#isSubscribed = false
    for (const call of this.#waiting.values()) call.reject(this.#failure('closed the WebSocket connection'))
    this.#waiting.clear()
    this.#reconnectLater()
  }

  #reconnectLater(): void {
    if (this.#isClosed || this.#wakers.size === 0 || this.#reconnect) return
    this.#reconnect = setTimeout(() => {
      this.#reconnect = undefined
      this.#connect().catch(() => {})
    }, RECONNECT_MS)
    this.#reconnect.unref()
  }

  #subscribe(socket: WebSocket): void {
    if (this.#isSubscribed || this.#wakers.size === 0) return
    this.#isSubscribed = true
    send(socket, { id: HEADS_ID, method: 'eth_subscribe', params: ['newHeads'] })
  }

  #receive(text: string): void {
    this.#heardAtMs = performance.now()
    for (const answer of [parseJson(text)].flat()) {
      if (member(answer, 'method') === 'eth_subscription') for (const wake of this.#wakers) wake()
      const id = member(answer, 'id')
      const call = this.#waiting.get(id)
      if (!call) continue
      this.#waiting.delete(id)
      call.answers.push(answer)
      if (call.answers.length === call.expected) call.resolve(call.answers)
    }
  }

  #failure(what: string): OutsideFailure {
    return new OutsideFailure(`${this.#node.name} ${this.#node.redact(what)}`, { retryable: true })
  }
}

function send(socket: WebSocket, request: object) {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ jsonrpc: '2.0', ...request }))
}
