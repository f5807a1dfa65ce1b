/** A simulated transaction as JSON, for the database. */
import { isAsset } from '../../core/assets.ts'
import { invariant } from '../../core/errors.ts'
import type { Outpoint } from '../chain.ts'
import type { Call, Holding, SimulatedTransaction } from './chain-store.ts'

interface HoldingBody {
  lookup: string
  asset: string
  atoms: string
}
interface Body {
  txid: string
  claims: Outpoint[]
  outputs: (HoldingBody & { index: number })[]
  debits: HoldingBody[]
  bid: string
  call?: Call
}

export function writeBody({ txid, claims, outputs, debits, bid, call }: SimulatedTransaction): string {
  const write = ({ lookup, asset, atoms }: Holding): HoldingBody => ({
    lookup: Buffer.from(lookup).toString('hex'),
    asset,
    atoms: String(atoms),
  })
  const body: Body = {
    txid,
    claims: [...claims],
    outputs: outputs.map((output) => ({ ...write(output), index: output.index })),
    debits: debits.map(write),
    bid: String(bid),
    ...(call ? { call } : {}),
  }
  return JSON.stringify(body)
}

/** @param body - What the driver makes of the `jsonb` that {@link writeBody} wrote. */
export function readBody(body: unknown): SimulatedTransaction {
  const { txid, claims, outputs, debits, bid, call } = body as Body
  const read = ({ lookup, asset, atoms }: HoldingBody): Holding => {
    invariant(isAsset(asset), `a simulated transaction moves ${asset}, which is no asset`)
    return { lookup: new Uint8Array(Buffer.from(lookup, 'hex')), asset, atoms: BigInt(atoms) }
  }
  return {
    txid,
    claims,
    outputs: outputs.map((output) => ({ ...read(output), index: output.index })),
    debits: debits.map(read),
    bid: BigInt(bid),
    ...(call ? { call } : {}),
  }
}
