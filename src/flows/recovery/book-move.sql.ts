/** Chains with accounts: what the database knows of a transaction of one of our addresses that it did not sign. */
import type { Asset, ChainName } from '../../core/assets.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { anyRow, firstRow } from '../../db/rows.ts'
import type { SignedStatus } from '../../treasury/signed-transaction.ts'
import type { FoundPayout } from './book-spend.sql.ts'

export interface OwnAddress {
  readonly address: string
  /** Branch 1, of the current wallet or of a retired one; otherwise an address for deposits. */
  readonly isHotWallet: boolean
}

export const findOwnAddress = (
  db: Queryable,
  chain: ChainName,
  lookup: Uint8Array,
): Promise<OwnAddress | null> =>
  firstRow(
    db,
    `select address, branch = 1 as "isHotWallet" from addresses where chain = $1 and lookup = $2`,
    [chain, Buffer.from(lookup)],
  )

/** A replacement set that the signer gave the same nonce: only one of the two can have entered the chain. */
export interface Rival {
  readonly replacementSet: string
  readonly status: SignedStatus
}

export const findRival = (
  db: Queryable,
  chain: ChainName,
  { sender, nonce }: Pick<FoundMove, 'sender' | 'nonce'>,
): Promise<Rival | null> =>
  firstRow(
    db,
    `select replacement_set as "replacementSet", status from signed_transactions
     where chain = $1 and sender = $2 and nonce = $3 and txid = replacement_set`,
    [chain, sender, nonce],
  )

/** Of what can never enter the chain: another transaction used its nonce, and is known now. */
export async function freeNonce(tx: Tx, chain: ChainName, { replacementSet }: Rival): Promise<void> {
  await tx.query(
    `update signed_transactions set sender = null, nonce = null where chain = $1 and txid = $2 and status = 'impossible'`,
    [chain, replacementSet],
  )
}

/** Whether it is written down as capital that came to an address of ours, in that block. Locks it. */
export const lockArrival = (
  tx: Tx,
  chain: ChainName,
  of: {
    readonly txid: string
    readonly index: number
    readonly asset: Asset
    readonly atoms: bigint
    readonly height: number
  },
): Promise<boolean> =>
  anyRow(
    tx,
    `select from unexpected_deposits where chain = $1 and tx_key = $2 and output_index = $3 and asset = $4 and atoms = $5
       and block_height = $6 for update`,
    [chain, of.txid, of.index, of.asset, of.atoms, of.height],
  )

export interface FoundMove extends Omit<FoundPayout, 'height'> {
  readonly sender: string
  readonly nonce: bigint
  readonly reverted: boolean
  readonly block: { readonly height: number; readonly hash: string }
}

/**
 * Writes it down as if the signer had signed it and the worker had found it in its block. What it brought to addresses of ours
 * stays what the watcher took it for: the worker looks at that again only when it finds it in another block. Of gas it does
 * look, for the worker is to find that itself.
 */
export async function insertMove(tx: Tx, move: FoundMove, what: 'payout' | 'gas'): Promise<void> {
  const { block } = move
  await tx.query(
    `insert into signed_transactions (chain, txid, replacement_set, kind, status, asset, value_atoms, sender, nonce, fee_atoms,
       fee_rate, created_at, since_height, block_height, block_hash, paid_fee_atoms)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, greatest($10::numeric, 1), 1, clock_timestamp(), $11, $12, $13, $14)`,
    [
      move.chain,
      move.txid,
      move.replacementSet,
      move.replacementSet === move.txid ? what : 'replacement',
      what === 'gas' ? 'recovered' : move.reverted ? 'mined_reverted' : 'mined',
      move.asset,
      move.valueAtoms,
      move.sender,
      move.nonce,
      move.feeAtoms,
      block.height,
      ...(what === 'gas' ? [null, null, null] : [block.height, block.hash, move.feeAtoms]),
    ],
  )
}
