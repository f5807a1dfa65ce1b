/**
 * Hints from the node that something is new, over the ZeroMQ sockets it says it has. They save the wait for the next
 * poll and nothing depends on them: a node without ZeroMQ, a lost message, a broken connection all pass unnoticed.
 */
import type { Subscriber } from 'zeromq'
import type { Log } from '../../core/log.ts'
import { SECOND_MS } from '../../core/time.ts'
import type { CoreRpc } from './rpc.ts'

/** How often the node is asked for its sockets: it may have restarted with others, or not run at first. */
const DISCOVERY_MS = 30 * SECOND_MS
/** The watcher is woken at most this often. */
const WAKE_EVERY_MS = 250
/** A busy mempool hints without end, and each look reads the names of all that wait: no oftener than without hints. */
const WAKE_FOR_TRANSACTIONS_EVERY_MS = 1 * SECOND_MS
const RECONNECT_MS = 1 * SECOND_MS
const RECONNECT_MS_MAX = 10 * SECOND_MS
/** `hashtx`, `rawblock` and so on say the same as these, at greater length. */
const TOPICS = ['hashblock', 'rawblock', 'hashtx', 'rawtx', 'sequence']

/** Calls `wake` soon after each hint. Returns the way to stop, which is immediate. */
export function listenForHints(rpc: CoreRpc, wake: () => void, log: Log): () => void {
  const sockets = new Map<string, Subscriber>()
  const ofBlock = throttled(wake, WAKE_EVERY_MS)
  const ofTransaction = throttled(wake, WAKE_FOR_TRANSACTIONS_EVERY_MS)
  let stopped = false
  let timer: NodeJS.Timeout | undefined

  const discover = async () => {
    const wanted = await publishers(rpc)
    if (stopped) return
    for (const [address, socket] of sockets) {
      if (wanted.has(address)) continue
      socket.close()
      sockets.delete(address)
    }
    for (const address of wanted) {
      if (sockets.has(address)) continue
      const socket = await subscribe(address)
      if (stopped) return socket.close()
      sockets.set(address, socket)
      log.debug({ endpoint: rpc.endpoint, address }, 'listening for hints of the node')
      void forward(socket, (isBlock) => (isBlock ? ofBlock : ofTransaction).call())
    }
  }
  const again = () => {
    discover()
      .catch((error: unknown) => log.debug({ endpoint: rpc.endpoint, err: error }, 'no hints from the node'))
      .finally(() => {
        if (!stopped) timer = setTimeout(again, DISCOVERY_MS).unref()
      })
  }
  again()

  return () => {
    stopped = true
    clearTimeout(timer)
    ofBlock.stop()
    ofTransaction.stop()
    for (const socket of sockets.values()) socket.close()
    sockets.clear()
  }
}

/** Addresses of the node's publishers of blocks and transactions, as reachable from here. */
async function publishers(rpc: CoreRpc): Promise<ReadonlySet<string>> {
  const answer = await rpc.call('getzmqnotifications')
  const addresses = new Set<string>()
  for (const entry of Array.isArray(answer) ? answer : []) {
    const type: unknown = entry?.type
    const address: unknown = entry?.address
    if (typeof address !== 'string' || typeof type !== 'string') continue
    if (TOPICS.some((topic) => type === `pub${topic}`)) addresses.add(reachable(address, rpc.host))
  }
  return addresses
}

/** The node names the interface it binds to; from here that is the host its RPC answers on. */
function reachable(address: string, host: string): string {
  const shown = host.includes(':') ? `[${host}]` : host
  return address.replace(/^tcp:\/\/(\*|0\.0\.0\.0|127\.0\.0\.1|localhost|\[::1?\]):/, `tcp://${shown}:`)
}

async function subscribe(address: string): Promise<Subscriber> {
  // Loaded when a node has sockets to listen to: the native part weighs megabytes, and Beck runs without it.
  const { Subscriber } = await import('zeromq')
  const socket = new Subscriber({
    linger: 0,
    ipv6: address.includes('['),
    reconnectInterval: RECONNECT_MS,
    reconnectMaxInterval: RECONNECT_MS_MAX,
    // Only that something came matters, not how much.
    receiveHighWaterMark: 10,
  })
  socket.connect(address)
  for (const topic of TOPICS) socket.subscribe(topic)
  return socket
}

async function forward(socket: Subscriber, hint: (isBlock: boolean) => void): Promise<void> {
  try {
    for await (const [topic, body] of socket) hint(tellsOfBlock(String(topic), body))
  } catch {
    // The socket was closed while it waited.
  }
}

/** `sequence` tells of everything: a hash, and `C` or `D` for a block that was connected or disconnected. */
const tellsOfBlock = (topic: string, body?: Uint8Array): boolean =>
  topic === 'sequence' ? body?.[32] === 0x43 || body?.[32] === 0x44 : topic.endsWith('block')

/** At once, and then at most once in a while, which grows as long as calls do not cease; the last call is never lost. */
function throttled(act: () => void, whileMsMax: number): { call(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined
  let again = false
  let whileMs = WAKE_EVERY_MS
  const call = () => {
    if (timer) {
      again = true
      return
    }
    act()
    timer = setTimeout(() => {
      timer = undefined
      whileMs = again ? Math.min(whileMs * 2, whileMsMax) : WAKE_EVERY_MS
      if (!again) return
      again = false
      call()
    }, whileMs).unref()
  }
  return {
    call,
    stop: () => {
      clearTimeout(timer)
      again = false
    },
  }
}
