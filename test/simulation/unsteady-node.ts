/** A node that loses calls, and answers to calls that it carried out. */
import type { ChainPort, FeeRates } from '../../src/chains/chain.ts'
import { OutsideFailure } from '../../src/core/errors.ts'
import type { Random } from './random.ts'

export interface Connection {
  /** How many of a hundred calls are lost. */
  percent: number
  /** What the network asks for, against what is usual. */
  feeTimes: bigint
  readonly random: Random
}

const dearer = (rates: FeeRates, times: bigint): FeeRates =>
  rates.kind === 'gas'
    ? { ...rates, baseFeeWei: rates.baseFeeWei * times, priorityFeeWei: rates.priorityFeeWei * times }
    : { ...rates, atomsPerKvb: rates.atomsPerKvb && rates.atomsPerKvb * times }

/** @param tick - Called before and after each call: the process that calls may end there. */
export function unsteadyNode(port: ChainPort, connection: Connection, tick: () => Promise<void>): ChainPort {
  const lose = () => {
    throw new OutsideFailure(`${port.chain}: the connection to the node broke`, { retryable: true })
  }
  const through = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    await tick()
    if (connection.percent > 0 && connection.random.percent(connection.percent)) {
      // Lost on the way there, or on the way back.
      if (connection.random.below(2) === 1) await call()
      lose()
    }
    const result = await call()
    await tick()
    return result
  }
  const { nextNonce, batchSweeping } = port
  return {
    ...port,
    identity: () => through(() => port.identity()),
    tip: () => through(() => port.tip()),
    blockHash: (height) => through(() => port.blockHash(height)),
    readBlock: (hash, options) => through(() => port.readBlock(hash, options)),
    lookAtMempool: (epoch) => through(() => port.lookAtMempool(epoch)),
    broadcast: (raw) => through(() => port.broadcast(raw)),
    findTransaction: (txid, since) => through(() => port.findTransaction(txid, since)),
    holdings: (query) => through(() => port.holdings(query)),
    feeRates: () => through(async () => dearer(await port.feeRates(), connection.feeTimes)),
    ...(nextNonce ? { nextNonce: (address: string) => through(() => nextNonce(address)) } : {}),
    ...(batchSweeping
      ? {
          batchSweeping: (treasury: string, addresses: readonly string[]) =>
            through(() => batchSweeping(treasury, addresses)),
        }
      : {}),
  }
}
