/** Ether that our own transactions sent to addresses for deposits, as blocks show it: no deposit, but part of what they hold. */
import type { ChainName } from '../core/assets.ts'
import type { Tx } from '../db/database.ts'

export interface GasFunding {
  readonly chain: ChainName
  readonly txid: string
  readonly address: string
  readonly atoms: bigint
  readonly blockHeight: number
}

/** Recording again what a block showed changes nothing. */
export async function recordGasFunding(tx: Tx, funding: GasFunding): Promise<void> {
  await tx.query(
    `insert into gas_funding (chain, txid, address, atoms, block_height) values ($1, $2, $3, $4, $5)
     on conflict (chain, txid, address) do update set block_height = excluded.block_height`,
    [funding.chain, funding.txid, funding.address, funding.atoms, funding.blockHeight],
  )
}
