/**
 * JSON-RPC to a node. What a node answers and what keeps it from answering are told apart, and no secret of its URL
 * (user, password, the keys that providers put into paths) reaches a message.
 *
 * No library's transport: a timeout that ends with the headers, as in viem's, lets a node that stalls in the middle of a
 * body hold the watcher for ever, and errors that print URLs with their paths and whole request bodies tell secrets.
 */
import { OutsideFailure } from '../core/errors.ts'
import { exchange, NoAnswer, openConnections, textOf } from '../core/http.ts'
import { member, parseJson } from '../core/json.ts'
import { AT_ONCE, type SpareTime } from '../core/spare-time.ts'
import { SECOND_MS } from '../core/time.ts'
import { HexAnswer } from './hex-answer.ts'

export const RPC_TIMEOUT_MS = 5 * SECOND_MS
/** Before the node closes a kept connection; and one that is told to stop waits until its connections are closed. */
const IDLE_MS = 3 * SECOND_MS
/** So much of an answer a node sends and Beck takes in, in a millisecond of either; for how long the node looked for it is its own affair. */
const BYTES_PER_MS = 300_000
/** Behind so much of an answer comes a rest: less is rested from longer than it is worth. */
const PART_BYTES = 65_536

export interface RpcCall {
  readonly method: string
  readonly params?: readonly unknown[]
}

export interface RpcOptions {
  /** For the whole exchange; 5 s unless a large answer is expected. */
  readonly timeoutMs?: number
}

/** What the node answered to one call: a result, or its error. */
export type RpcAnswer =
  | { readonly result: unknown; readonly error?: undefined }
  | { readonly error: NodeError; readonly result?: undefined }

export interface Rpc {
  /**
   * The result of one call.
   *
   * @throws {NodeError} when the node answers with an error.
   * @throws {OutsideFailure} when it does not answer at all.
   */
  call(method: string, params?: readonly unknown[], options?: RpcOptions): Promise<unknown>
  /** Several calls in one exchange; each has a result or an error of its own, in the order of the calls. */
  batch(calls: readonly RpcCall[], options?: RpcOptions): Promise<readonly RpcAnswer[]>
  close(): void
}

export interface RpcOverHttp extends Rpc {
  /**
   * What the hexadecimal digits say that are the result of one call. They are taken in piece by piece, with rests between them.
   *
   * @param options.timeoutMs - For the whole exchange, rests included.
   * @throws As {@link Rpc.call}, and {OutsideFailure} when the result is anything else.
   */
  callForBytes(
    method: string,
    params: readonly unknown[],
    options: RpcOptions & { readonly spareTime?: SpareTime },
  ): Promise<Buffer>
}

/** A node, and how its kind speaks. */
export interface RpcNode {
  /** How messages call it: `the node at http://127.0.0.1:8332`. */
  readonly name: string
  /** Without user and password. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Named in every request, where the kind wants it. */
  readonly version?: '2.0'
  readonly answerBytesMax: number
  /** Connections to it at a time. */
  readonly connectionsMax?: number
  /** Larger batches are sent in parts. */
  readonly batchCallsMax?: number
  /** Text of the node or of the network, fit for a message. */
  redact(text: string): string
  /** What an error means: nothing about the call, for want of time; worth another try; or for good. */
  judge(code: number, answer: string): 'busy' | 'passing' | 'final'
  /** What is to be done about an answer of the HTTP server before it, where that is known. */
  explain?(status: number, methods: string): string | null
}

/** The node answered, and its answer was an error. */
export class NodeError extends OutsideFailure {
  override readonly name = 'NodeError'
  readonly code: number
  /** What the node said, alone. */
  readonly answer: string
  /** Not of the error's own fields: nobody prints it. */
  readonly #data: unknown

  constructor(
    node: string,
    method: string,
    code: number,
    answer: string,
    retryable: boolean,
    data: unknown = null,
  ) {
    super(`${node} answered ${method} with error ${code}: ${answer}`, { retryable })
    this.code = code
    this.answer = answer
    this.#data = data
  }

  /** What it gave with its error, such as what a call reverted with. */
  get data(): unknown {
    return this.#data
  }
}

export interface RpcRequest extends RpcCall {
  readonly jsonrpc?: '2.0'
  readonly id: number
}

/** Brings one request, or a batch of them, to the node and its parsed answer back, or throws an {@link OutsideFailure}. */
export interface Carrier {
  carry(asked: RpcRequest | readonly RpcRequest[], timeoutMs: number): Promise<unknown>
  close(): void
}

export function openRpc(node: RpcNode, carrier: Carrier = httpCarrier(node)): Rpc {
  let lastId = 0
  const requestOf = ({ method, params = [] }: RpcCall): RpcRequest => {
    lastId += 1
    return { ...(node.version && { jsonrpc: node.version }), id: lastId, method, params }
  }

  async function exchangeBatch(calls: readonly RpcCall[], timeoutMs: number): Promise<RpcAnswer[]> {
    const requests = calls.map(requestOf)
    const answers = await carrier.carry(requests, timeoutMs)
    // One answer to all of them is a refusal of the batch.
    if (!Array.isArray(answers)) take(readAnswer(node, methodsOf(calls), answers))
    const byId = new Map((Array.isArray(answers) ? answers : []).map((answer) => [answer?.id, answer]))
    return requests.map(({ id, method }) => readAnswer(node, method, byId.get(id)))
  }

  return {
    async call(method, params = [], { timeoutMs = RPC_TIMEOUT_MS } = {}) {
      return take(readAnswer(node, method, await carrier.carry(requestOf({ method, params }), timeoutMs)))
    },
    async batch(calls, { timeoutMs = RPC_TIMEOUT_MS } = {}) {
      const answers: RpcAnswer[] = []
      const { batchCallsMax = calls.length } = node
      for (let start = 0; start < calls.length; start += batchCallsMax)
        answers.push(...(await exchangeBatch(calls.slice(start, start + batchCallsMax), timeoutMs)))
      return answers
    },
    close: () => carrier.close(),
  }
}

export function openRpcOverHttp(node: RpcNode): RpcOverHttp {
  const carrier = httpCarrier(node)
  return {
    ...openRpc(node, carrier),
    async callForBytes(method, params, { timeoutMs = RPC_TIMEOUT_MS, spareTime = AT_ONCE }) {
      const asked = { ...(node.version && { jsonrpc: node.version }), id: 0, method, params }
      const { answer, bytes } = await carrier.carryBytes(asked, timeoutMs, spareTime)
      const result = take(readAnswer(node, method, answer))
      if (result === '' && bytes) return bytes
      throw new OutsideFailure(
        `${node.name} answered ${method} with something else than pairs of hexadecimal digits`,
        {
          retryable: true,
        },
      )
    },
  }
}

/** The result, or the error thrown. */
export function take(answer: RpcAnswer | undefined): unknown {
  if (!answer) throw new OutsideFailure('the node left an answer out', { retryable: true })
  if (answer.error) throw answer.error
  return answer.result
}

/** The header for the user and password of a node's URL, percent-decoded; null when that is not possible. */
export function authorizationOf(url: URL): Readonly<Record<string, string>> | null {
  try {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
    return credentials === ':'
      ? {}
      : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
  } catch {
    return null
  }
}

interface HttpCarrier extends Carrier {
  /** The answer with an empty text for result, and what the digits of its result say; null where it has anything else. */
  carryBytes(
    asked: RpcRequest,
    timeoutMs: number,
    spareTime: SpareTime,
  ): Promise<{ readonly answer: unknown; readonly bytes: Buffer | null }>
}

function httpCarrier(node: RpcNode): HttpCarrier {
  const { connectionsMax: perHostMax } = node
  const connections = openConnections({ idleMs: IDLE_MS, ...(perHostMax ? { perHostMax } : {}) })
  return {
    async carry(asked, timeoutMs) {
      const { status, text } = await post(asked, timeoutMs)
      return read(asked, status, text)
    },
    async carryBytes(asked, timeoutMs, { step }) {
      const hex = new HexAnswer()
      let unrested = 0
      const { status } = await post(asked, timeoutMs, async (piece) => {
        hex.add(piece)
        unrested += piece.length
        if (unrested < PART_BYTES) return
        const bytes = unrested
        unrested = 0
        await step(
          () => {},
          () => bytes / BYTES_PER_MS,
        )
      })
      return { answer: read(asked, status, hex.json), bytes: hex.bytes }
    },
    close: () => connections.close(),
  }

  function read(asked: RpcRequest | readonly RpcRequest[], status: number, text: string): unknown {
    const answer = parseJson(text)
    const isAnswer = Array.isArray(answer) || member(answer, 'error') || member(answer, 'result')
    if (answer !== undefined && (status === 200 || isAnswer)) return answer
    throw refusedByHttp(node, status, methodsOf([asked].flat()), text)
  }

  async function post(
    asked: object,
    timeoutMs: number,
    onPiece?: (piece: Buffer) => Promise<void>,
  ): Promise<{ status: number; text: string }> {
    try {
      const answer = await exchange({
        url: node.url,
        method: 'POST',
        headers: {
          ...node.headers,
          'content-type': 'application/json',
          'accept-encoding': onPiece ? 'identity' : 'gzip',
        },
        body: JSON.stringify(asked),
        timeoutMs,
        bytesMax: node.answerBytesMax,
        connections,
        ...(onPiece && { onPiece }),
      })
      return { status: answer.status, text: textOf(answer) }
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
      throw new OutsideFailure(`${node.name} ${node.redact(error.message)}`, { retryable: true })
    }
  }
}

/** Answers that carry no JSON come from the HTTP server in front of the RPC code. */
function refusedByHttp(node: RpcNode, status: number, methods: string, text: string): OutsideFailure {
  const known = node.explain?.(status, methods) ?? null
  if (known !== null) return new OutsideFailure(`${node.name} ${known}`, { retryable: false })
  const cause = status === 503 ? ' (its work queue is full, or it is stopping)' : ''
  const said = node.redact(text.slice(0, 200))
  return new OutsideFailure(
    `${node.name} answered ${methods} with HTTP ${status} and no JSON-RPC${cause}; is the URL right? It said: ${said}`,
    { retryable: true },
  )
}

function readAnswer(node: RpcNode, method: string, answer: unknown): RpcAnswer {
  const error = member(answer, 'error')
  if (typeof error === 'object' && error !== null) {
    const code = Number(member(error, 'code') ?? 0)
    const said = node.redact(String(member(error, 'message') ?? 'no message'))
    const kind = node.judge(code, said)
    const data = member(error, 'data')
    const failure = new NodeError(node.name, method, code, said, kind !== 'final', data)
    if (kind === 'busy') throw failure
    return { error: failure }
  }
  if (typeof answer === 'object' && answer !== null && 'result' in answer) return { result: answer.result }
  throw new OutsideFailure(`${node.name} left out its answer to ${method}`, { retryable: true })
}

const methodsOf = (calls: readonly RpcCall[]): string =>
  [...new Set(calls.map(({ method }) => method))].join(', ')
