/**
 * Who sent ether inside a block's transactions, where the node can trace: `trace_block` (Nethermind, Erigon, Reth,
 * Anvil) or `debug_traceBlockByHash` (Geth). Only used to name the transaction of a credit already found, so every
 * trouble here ends in "not known".
 */
import type { Log } from '../../core/log.ts'
import type { Rpc, RpcCall } from '../json-rpc.ts'
import type { TracedTransfer } from './contract-ether.ts'
import { isUnsupported } from './rpc.ts'
import { hex, list, quantity, record, toQuantity, type WireBlock } from './wire.ts'

interface Tracer {
  call(block: WireBlock): RpcCall
  read(result: unknown, block: WireBlock): TracedTransfer[]
}

const TRACERS: readonly Tracer[] = [
  {
    call: (block) => ({ method: 'trace_block', params: [toQuantity(block.height)] }),
    read: readFlatTraces,
  },
  {
    call: (block) => ({
      method: 'debug_traceBlockByHash',
      params: [block.hash, { tracer: 'callTracer' }],
    }),
    read: readCallTraces,
  },
]

/** Returns a function that lists the ether moved inside a block; null when the node can not or will not tell. */
export function createTracing(rpc: Rpc, log: Log): (block: WireBlock) => Promise<TracedTransfer[] | null> {
  const unsupported = new Set<Tracer>()
  return async (block) => {
    for (const tracer of TRACERS) {
      if (unsupported.has(tracer)) continue
      const call = tracer.call(block)
      try {
        const [answer] = await rpc.batch([call])
        if (!answer?.error) return tracer.read(answer?.result, block)
        if (isUnsupported(answer.error)) unsupported.add(tracer)
      } catch (error) {
        log.debug(
          { method: call.method, err: error },
          'a block could not be traced; the credit has no transaction hash',
        )
      }
    }
    return null
  }
}

/** Traces as a flat list; a failed call takes back everything below its place in the tree. */
export function readFlatTraces(result: unknown, block: Pick<WireBlock, 'hash'>): TracedTransfer[] {
  const traces = list(result, 'traces').map((item) => record(item, 'trace'))
  const failed = new Set(
    traces.filter((trace) => trace.error).map((trace) => placeOf(trace.transactionHash, trace.traceAddress)),
  )
  return traces.flatMap((trace): TracedTransfer[] => {
    const place = list(trace.traceAddress, 'traceAddress')
    if (typeof trace.transactionHash !== 'string' || place.length === 0) return []
    // The height may hold another block by now.
    if (hex(trace.blockHash, 'trace.blockHash', 32) !== block.hash) return []
    const undone = [...place.keys(), place.length].some((depth) =>
      failed.has(placeOf(trace.transactionHash, place.slice(0, depth))),
    )
    if (undone) return []
    const action = record(trace.action, 'trace.action')
    const isCall = trace.type === 'call' && action.callType === 'call'
    if (!isCall && trace.type !== 'suicide') return []
    return [
      {
        transactionHash: hex(trace.transactionHash, 'trace.transactionHash', 32),
        to: hex(isCall ? action.to : action.refundAddress, 'trace.to', 20),
        wei: quantity(isCall ? action.value : action.balance, 'trace.value'),
      },
    ].filter((transfer) => transfer.wei > 0n)
  })
}

const placeOf = (transactionHash: unknown, place: unknown): string => JSON.stringify([transactionHash, place])

/** Traces as one tree of calls per transaction. */
export function readCallTraces(result: unknown): TracedTransfer[] {
  return list(result, 'traces').flatMap((item) => {
    const trace = record(item, 'trace')
    const transactionHash = hex(trace.txHash, 'trace.txHash', 32)
    const transfers: TracedTransfer[] = []
    const visit = (value: unknown, isTop: boolean) => {
      const frame = record(value, 'frame')
      if (frame.error) return
      const moves = frame.type === 'CALL' || frame.type === 'SELFDESTRUCT'
      if (!isTop && moves && typeof frame.value === 'string' && frame.to) {
        const wei = quantity(frame.value, 'frame.value')
        if (wei > 0n) transfers.push({ transactionHash, to: hex(frame.to, 'frame.to', 20), wei })
      }
      for (const call of Array.isArray(frame.calls) ? frame.calls : []) visit(call, false)
    }
    visit(trace.result, true)
    return transfers
  })
}
