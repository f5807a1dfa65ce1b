/** What booking a spend has to say to the operator, and its entry: what left us and no withdrawal asked for. */
import { type Asset, type ChainName, hasAccounts } from '../../core/assets.ts'
import { conflict, notFound, type Refusal } from '../../core/errors.ts'
import { GATEWAY } from '../../core/gateway-account.ts'
import type { WithdrawalId } from '../../core/ids.ts'
import { formatCoins } from '../../core/money.ts'
import type { Tx } from '../../db/database.ts'
import { post } from '../../ledger/post.sql.ts'

export interface BookedSpend {
  readonly asset: Asset
  /** Withdrawals that it paid; they complete once the worker has followed it. */
  readonly paid: readonly WithdrawalId[]
  readonly feeAtoms: bigint
  readonly lossAtoms: bigint
  /** Chains with accounts: what it moved to another address of the gateway's own. */
  readonly movedAtoms: bigint
  /** Chains with accounts: ether that it brought to the address of a payment. */
  readonly gasAtoms: bigint
}

interface Spend {
  readonly chain: ChainName
  readonly txid: string
  readonly replacementSet: string
  readonly asset: Asset
}

/** @throws {Refusal} `spend_not_asked_for` unless the operator takes it as the gateway's loss. */
export async function bookLoss(tx: Tx, spend: Spend, atoms: bigint, isAllowed: boolean): Promise<void> {
  if (!isAllowed)
    throw conflict(
      'spend_not_asked_for',
      `transaction ${spend.txid} paid ${formatCoins(atoms, spend.asset)} that no open withdrawal asked for: it was requested after the backup, or is none of Beck's. Look at where it went; --loss takes it as the gateway's loss`,
    )
  await bookFrom(tx, 'loss', spend, atoms)
}

/**
 * What it took, out of the gateway's own.
 *
 * @param account - `capital` where it came back to us, as capital.
 * @throws {Refusal} `spend_known` when that was booked before.
 */
export async function bookFrom(
  tx: Tx,
  account: 'loss' | 'capital',
  { chain, txid, replacementSet, asset }: Spend,
  atoms: bigint,
): Promise<void> {
  const isNew = await post(tx, {
    accountId: GATEWAY,
    chain,
    cause: { kind: 'spend', subjectId: replacementSet, number: 1 },
    transfers: [{ asset, debit: account, credit: 'wallet', atoms }],
  })
  if (!isNew) throw known(txid)
}

export const known = (txid: string): Refusal =>
  conflict('spend_known', `transaction ${txid} is in the books already, to the atom`)

export const tooFresh = (txid: string, depth: number, depthMin: number): Refusal =>
  conflict(
    'spend_too_fresh',
    `transaction ${txid} is ${depth} blocks deep; book it once it is ${depthMin} deep and Beck has settled it`,
  )

export const unknown = (chain: ChainName, txid: string): Refusal =>
  notFound(
    'spend_not_found',
    hasAccounts(chain)
      ? `no block of ${chain} that Beck has read holds a transaction ${txid}`
      : `no block of ${chain} that Beck has read holds a transaction ${txid} that spends coins of ours`,
  )
